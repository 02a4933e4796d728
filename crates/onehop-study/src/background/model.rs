//! Model of background work: its throughput by kind and container, for a number of physical partitions and a
//! rate of writes.

use std::sync::Arc;
use std::time::Duration;

use super::{BackgroundKind, BackgroundLine, BackgroundWork, ChangeFeedFollowing, PROCESSES, PageListing};
use crate::measurement::{Measurements, ModelVariant};
use crate::rates::{self, RequestRate};
use onehop_change_feed::{DEAD_LETTERS, IdleCharges, LEASES, Settings, Sharing};
use onehop_store::ContainerName;
use onehop_store::charges::{Calibration, ReadConsistency, Replacement};

/// The checkpoint interval of shared leases.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(5);
/// The age at which a listing that could be confirmed is read again (`read_cache` of the change feed).
const LISTING_AGE_MAX: Duration = Duration::from_mins(1);
/// The size of a lease item: an assumption.
const LEASE_BYTES: usize = 600;
/// Of the processor's containers: they index `id` alone.
pub(super) const PROCESSOR_CONTAINERS: [ContainerName; 2] = [LEASES, DEAD_LETTERS];

/// The background work of a data model under a traffic.
#[derive(Debug, Clone)]
pub(crate) struct BackgroundModel {
    model: String,
    sources: Vec<ContainerName>,
    /// Requests a second that write to a source container.
    writes: f64,
    listings: Vec<ListingLoad>,
    idle: IdleCharges,
    /// The charge of a checkpoint, in RU.
    checkpoint: f64,
    /// RU/s of a scrape's reads of the lease of one feed range that another process holds.
    scraped_lease: f64,
    settings: Settings,
}

/// A listing, and the requests a second that write to its source.
#[derive(Debug, Clone)]
struct ListingLoad {
    listing: PageListing,
    writes: f64,
    /// Requests a second that add entries to the list or remove them.
    changes_of_members: f64,
}

/// The assumptions of the throughput beside the traffic.
#[derive(Clone, Copy)]
pub(crate) struct BackgroundAssumptions<'a> {
    /// Of each container.
    pub physical_partitions: &'a dyn Fn(ContainerName) -> u32,
    /// The multiple of the traffic's writes.
    pub writes_factor: f64,
    pub processes: u64,
}

impl BackgroundModel {
    /// Of a plan under a traffic.
    pub fn of(
        plan: &ModelVariant,
        following: &ChangeFeedFollowing,
        measurements: &Measurements,
        rates: &[RequestRate],
        calibration: &Arc<Calibration>,
    ) -> Self {
        let ChangeFeedFollowing { sources, listings } = following;
        let plain = ModelVariant { batched: false, ..plan.clone() };
        let writes_to =
            |containers: &[ContainerName]| rates::writes_to(containers, measurements, rates, &plain);
        let listing = |listing: &PageListing| ListingLoad {
            writes: writes_to(&[listing.source]),
            changes_of_members: rates::changes_of_members(listing.container, measurements, rates, &plain),
            listing: listing.clone(),
        };
        let settings = Settings { sharing: Sharing::with_others(), ..Settings::new("background") };
        Self {
            model: plain.to_string(),
            sources: sources.clone(),
            writes: writes_to(sources),
            listings: listings.iter().map(listing).collect(),
            idle: IdleCharges::of(&settings, calibration),
            checkpoint: checkpoint(calibration),
            scraped_lease: scraped_lease(&settings, calibration),
            settings,
        }
    }

    /// The containers that background work touches, the processor's own at the end.
    pub fn containers(&self) -> Vec<ContainerName> {
        let mut containers = self.sources.clone();
        for ListingLoad { listing, .. } in &self.listings {
            if !containers.contains(&listing.container) {
                containers.push(listing.container);
            }
        }
        containers.extend(PROCESSOR_CONTAINERS);
        containers
    }

    /// RU/s of each kind of work in a container.
    pub fn in_container(
        &self,
        container: ContainerName,
        assumed: BackgroundAssumptions<'_>,
    ) -> [(BackgroundKind, f64); BackgroundKind::OF_TRAFFIC.len()] {
        BackgroundKind::OF_TRAFFIC.map(|kind| (kind, self.of_kind_in(kind, container, assumed)))
    }

    fn of_kind_in(
        &self,
        kind: BackgroundKind,
        container: ContainerName,
        assumed: BackgroundAssumptions<'_>,
    ) -> f64 {
        let is_source = self.sources.contains(&container);
        match kind {
            BackgroundKind::Polls if is_source => {
                self.polls(u64::from((assumed.physical_partitions)(container)))
            }
            BackgroundKind::Listings => self.listings_in(Some(container), assumed),
            BackgroundKind::Polls => 0.0,
            _ if container == LEASES => self.throughput(kind, assumed),
            _ => 0.0,
        }
    }

    /// RU/s of a kind of work in all containers.
    pub fn throughput(&self, kind: BackgroundKind, assumed: BackgroundAssumptions<'_>) -> f64 {
        let feed_ranges = self.feed_ranges(assumed);
        let ranges_a_second = feed_ranges as f64 / self.checkpoint_interval();
        let writes = self.writes * assumed.writes_factor;
        match kind {
            BackgroundKind::Polls => self.polls(feed_ranges),
            BackgroundKind::Heartbeats => self.heartbeats(assumed.processes),
            BackgroundKind::Observations => {
                self.idle(0, assumed.processes) - self.heartbeats(assumed.processes)
            }
            BackgroundKind::AtRest => self.idle(feed_ranges, assumed.processes),
            BackgroundKind::Checkpoints => writes.min(ranges_a_second) * self.checkpoint,
            BackgroundKind::CheckpointsMax => ranges_a_second * self.checkpoint,
            BackgroundKind::Listings => self.listings_in(None, assumed),
            BackgroundKind::MetricsScrapes => self.scrapes(feed_ranges, assumed.processes),
        }
    }

    /// The report: each kind for each number of processes.
    pub fn work(&self, physical_partitions: &dyn Fn(ContainerName) -> u32) -> BackgroundWork {
        let assumed =
            |processes| BackgroundAssumptions { physical_partitions, writes_factor: 1.0, processes };
        let line = |kind| BackgroundLine {
            kind,
            throughput: PROCESSES.map(|processes| self.throughput(kind, assumed(processes))),
        };
        let is_shown = |kind: &BackgroundKind| *kind != BackgroundKind::Listings || !self.listings.is_empty();
        BackgroundWork {
            model: self.model.clone(),
            feed_ranges: self.feed_ranges(assumed(1)),
            processes: PROCESSES,
            lines: BackgroundKind::ALL.into_iter().filter(is_shown).map(line).collect(),
        }
    }

    fn feed_ranges(&self, assumed: BackgroundAssumptions<'_>) -> u64 {
        self.sources.iter().map(|source| u64::from((assumed.physical_partitions)(*source))).sum()
    }

    fn idle(&self, feed_ranges: u64, processes: u64) -> f64 {
        self.idle.total(feed_ranges, processes).0
    }

    fn polls(&self, feed_ranges: u64) -> f64 {
        self.idle(feed_ranges, 0)
    }

    fn heartbeats(&self, processes: u64) -> f64 {
        processes as f64 * self.idle.heartbeat
    }

    fn checkpoint_interval(&self) -> f64 {
        self.settings.checkpoint_interval.unwrap_or(CHECKPOINT_INTERVAL).as_secs_f64()
    }

    /// Listings of one container, or of all. A feed range has at most a page in each rest between pages. A
    /// process that holds one of the ranges lists again after the additions and removals of the other
    /// holders.
    fn listings_in(&self, container: Option<ContainerName>, assumed: BackgroundAssumptions<'_>) -> f64 {
        let pages_of_range = 1.0 / self.settings.page_rest().as_secs_f64();
        let throughput = |load: &ListingLoad| {
            let ranges = f64::from((assumed.physical_partitions)(load.listing.source));
            let pages = (load.writes * assumed.writes_factor).min(ranges * pages_of_range);
            let holders = ranges.min(assumed.processes as f64);
            let by_others = load.changes_of_members * assumed.writes_factor * (holders - 1.0).max(0.0);
            let by_age = holders / LISTING_AGE_MAX.as_secs_f64();
            let again = (by_others + by_age).min(pages);
            pages * load.listing.confirmation_charge + again * load.listing.request_charge
        };
        let listings = self.listings.iter();
        let wanted =
            listings.filter(|load| container.is_none_or(|container| container == load.listing.container));
        wanted.map(throughput).fold(0.0, |sum, throughput| sum + throughput)
    }

    /// Each process reads the leases of the others again. A process that holds all reads nothing.
    fn scrapes(&self, feed_ranges: u64, processes: u64) -> f64 {
        feed_ranges as f64 * (processes - 1) as f64 * self.scraped_lease
    }
}

/// A checkpoint replaces the lease, of which `id` alone is indexed.
fn checkpoint(calibration: &Calibration) -> f64 {
    let bytes = LEASE_BYTES;
    let replacement = Replacement { bytes_before: bytes, bytes_after: bytes, ..Replacement::default() };
    calibration.replace(replacement).total().0
}

/// A lease is read again where it is older than an acquire interval.
fn scraped_lease(settings: &Settings, calibration: &Calibration) -> f64 {
    let Sharing::WithOthers { acquire, .. } = settings.sharing else { return 0.0 };
    calibration.point_read(LEASE_BYTES, ReadConsistency::Quorum).total().0 / acquire.as_secs_f64()
}
