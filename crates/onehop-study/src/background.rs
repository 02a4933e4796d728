//! Background work: the throughput of following the change feed, at rest and because of a traffic, for one process and for more; and
//! what a pass over all data is charged. Requests are not charged for any of it. Pure.

use std::time::Duration;

use serde::Serialize;

use super::discards::DiscardedChanges;
use super::provisioning::ContainerBackground;
use onehop_change_feed::{DEAD_LETTERS, LEASES, Settings, Sharing, idle_charge};
use onehop_store::ContainerName;
use onehop_store::charges::{Calibration, ReadConsistency, Replacement};

/// Processes that share the leases, for which it is worked out.
pub const PROCESSES: [u64; 3] = [1, 3, 10];
/// The checkpoint interval of shared leases.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(5);
/// The size of a lease item: an assumption.
const LEASE_BYTES: usize = 600;

/// What background work depends on.
#[derive(Debug, Clone)]
pub struct BackgroundInput<'a> {
    /// The data model.
    pub model: String,
    /// The containers whose change feed is followed.
    pub sources: &'a [ContainerName],
    /// Of each source container.
    pub physical_partitions: u32,
    /// Requests a second that write to a source container.
    pub writes: f64,
    /// A second.
    pub discarded: DiscardedChanges,
    pub passes: Vec<BackgroundPass>,
    /// The constants of the request charges.
    pub calibration: &'a Calibration,
}

/// The background work of a data model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundWork {
    pub model: String,
    /// Of all source containers together.
    pub feed_ranges: u64,
    /// The numbers of processes of each line's figures.
    pub processes: [u64; 3],
    pub lines: Vec<BackgroundLine>,
    pub passes: Vec<BackgroundPass>,
    #[serde(skip)]
    sources: Vec<ContainerName>,
}

/// One kind of background work.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundLine {
    pub kind: BackgroundKind,
    /// RU/s, for each number of processes.
    pub throughput: [f64; 3],
}

/// Kinds of background work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum BackgroundKind {
    /// Polls of each feed range, at the longest poll interval.
    Polls,
    /// Heartbeats of each process, at the renew interval.
    Heartbeats,
    /// Reads of the other processes' heartbeats, at the acquire interval.
    Observations,
    /// The three together.
    AtRest,
    /// Checkpoints because of the traffic, at most: one for each write, and one for each feed range in an interval.
    Checkpoints,
    /// Checkpoints while every feed range has changes all the time: no traffic causes more.
    CheckpointsMax,
    /// Changes that are charged and thrown away at the client.
    Discarded,
    /// Scrapes of the metrics by every process, at most.
    MetricsScrapes,
}

/// One pass over all data.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundPass {
    /// What it does, as a heading: `verification`.
    pub name: String,
    /// RU, once.
    pub request_charge: f64,
}

impl BackgroundWork {
    /// Works out the background work of a data model with a change feed processor.
    #[must_use]
    pub fn of(input: BackgroundInput<'_>) -> Self {
        let BackgroundInput { model, sources, physical_partitions, writes, discarded, passes, calibration } =
            input;
        let feed_ranges = sources.len() as u64 * u64::from(physical_partitions);
        let settings = Settings { sharing: Sharing::with_others(), ..Settings::new("background") };
        let rest = RestCharges { settings: &settings, feed_ranges, calibration };
        let ranges_a_second = feed_ranges as f64 / checkpoint_interval(&settings);
        let checkpoint = rest.checkpoint();
        let polls = rest.polls();
        // A poll that finds something is followed by one that finds nothing.
        let further_polls = discarded.changes.min(feed_ranges as f64 / settings.poll.longest.as_secs_f64())
            * calibration.change_feed(0, 0, ReadConsistency::Quorum).total().0;
        let line = |kind, throughput: &dyn Fn(u64) -> f64| BackgroundLine {
            kind,
            throughput: PROCESSES.map(throughput),
        };
        let lines = vec![
            line(BackgroundKind::Polls, &|_| polls),
            line(BackgroundKind::Heartbeats, &|processes| rest.heartbeats(processes)),
            line(BackgroundKind::Observations, &|processes| rest.observations(processes)),
            line(BackgroundKind::AtRest, &|processes| {
                idle_charge(&settings, feed_ranges, processes, calibration).0
            }),
            line(BackgroundKind::Checkpoints, &|_| writes.min(ranges_a_second) * checkpoint),
            line(BackgroundKind::CheckpointsMax, &|_| ranges_a_second * checkpoint),
            line(BackgroundKind::Discarded, &|_| discarded.charge(calibration).0 + further_polls),
            line(BackgroundKind::MetricsScrapes, &|processes| rest.scrapes(processes)),
        ];
        Self { model, feed_ranges, processes: PROCESSES, lines, passes, sources: sources.to_vec() }
    }

    /// RU/s of one kind, for each number of processes.
    #[must_use]
    pub fn throughput(&self, kind: BackgroundKind) -> [f64; 3] {
        let line = self.lines.iter().find(|line| line.kind == kind);
        line.map_or([0.0; 3], |line| line.throughput)
    }

    /// The load on each container, of the largest number of processes.
    #[must_use]
    pub fn by_container(&self) -> Vec<ContainerBackground> {
        let most = |kind| self.throughput(kind)[PROCESSES.len() - 1];
        let of_sources = most(BackgroundKind::Polls) + most(BackgroundKind::Discarded);
        let of_leases = [
            BackgroundKind::Heartbeats,
            BackgroundKind::Observations,
            BackgroundKind::Checkpoints,
            BackgroundKind::MetricsScrapes,
        ];
        let source = |container: &ContainerName| ContainerBackground {
            container: *container,
            throughput: of_sources / self.sources.len() as f64,
            is_dedicated: false,
        };
        let mut loads: Vec<ContainerBackground> = self.sources.iter().map(source).collect();
        let throughput = of_leases.into_iter().map(most).sum();
        loads.push(ContainerBackground { container: LEASES, throughput, is_dedicated: true });
        loads.push(ContainerBackground { container: DEAD_LETTERS, throughput: 0.0, is_dedicated: false });
        loads
    }
}

/// The parts of the idle charge.
struct RestCharges<'a> {
    settings: &'a Settings,
    feed_ranges: u64,
    calibration: &'a Calibration,
}

impl RestCharges<'_> {
    fn idle(&self, feed_ranges: u64, processes: u64) -> f64 {
        idle_charge(self.settings, feed_ranges, processes, self.calibration).0
    }

    /// A checkpoint replaces the lease, of which `id` alone is indexed.
    fn checkpoint(&self) -> f64 {
        let bytes = LEASE_BYTES;
        let replacement = Replacement { bytes_before: bytes, bytes_after: bytes, ..Replacement::default() };
        self.calibration.replace(replacement).total().0
    }

    fn polls(&self) -> f64 {
        self.idle(self.feed_ranges, 1) - self.idle(0, 1)
    }

    fn heartbeats(&self, processes: u64) -> f64 {
        processes as f64 * self.idle(0, 1)
    }

    fn observations(&self, processes: u64) -> f64 {
        self.idle(0, processes) - self.heartbeats(processes)
    }

    /// Each process reads the leases of the others again where they are older than an acquire interval. One that holds all reads none.
    fn scrapes(&self, processes: u64) -> f64 {
        let Sharing::WithOthers { acquire, .. } = self.settings.sharing else { return 0.0 };
        let of_others = self.feed_ranges as f64 * (processes - 1) as f64;
        of_others * self.calibration.point_read(LEASE_BYTES, ReadConsistency::Quorum).total().0
            / acquire.as_secs_f64()
    }
}

fn checkpoint_interval(settings: &Settings) -> f64 {
    settings.checkpoint_interval.unwrap_or(CHECKPOINT_INTERVAL).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES: [ContainerName; 2] = [ContainerName("users"), ContainerName("posts")];

    fn work(physical_partitions: u32, writes: f64, discarded: f64) -> BackgroundWork {
        BackgroundWork::of(BackgroundInput {
            model: "V3".to_owned(),
            sources: &SOURCES,
            physical_partitions,
            writes,
            discarded: DiscardedChanges { changes: discarded, bytes: discarded * 512.0 },
            passes: Vec::new(),
            calibration: &Calibration::current(),
        })
    }

    #[test]
    fn background_work_grows_with_feed_ranges_and_processes() {
        let [few, many] = [1, 70].map(|partitions| work(partitions, 0.0, 0.0));
        assert_eq!((few.feed_ranges, many.feed_ranges), (2, 140));
        let [few, many] = [few, many].map(|work| work.throughput(BackgroundKind::AtRest));
        assert!(few[0] < few[2] && few[0] < many[0]);
    }

    #[test]
    fn the_parts_at_rest_add_up() {
        let work = work(70, 1.0, 1.0);
        for number in 0..PROCESSES.len() {
            let parts = [BackgroundKind::Polls, BackgroundKind::Heartbeats, BackgroundKind::Observations];
            let sum: f64 = parts.into_iter().map(|kind| work.throughput(kind)[number]).sum();
            assert!((sum - work.throughput(BackgroundKind::AtRest)[number]).abs() < 1e-9);
        }
    }

    #[test]
    fn checkpoints_are_one_for_each_write_or_feed_range() {
        let [seldom, often] = [1.0, 1e6].map(|writes| work(70, writes, 0.0));
        let first = |work: &BackgroundWork, kind| work.throughput(kind)[0];
        assert!((first(&seldom, BackgroundKind::Checkpoints) - 72.0 / 7.0).abs() < 1e-9);
        assert_eq!(first(&often, BackgroundKind::Checkpoints), first(&often, BackgroundKind::CheckpointsMax));
    }

    #[test]
    fn discarded_changes_are_charged_with_a_further_poll_each_at_most() {
        let charge = |discarded| work(1, 0.0, discarded).throughput(BackgroundKind::Discarded)[0];
        assert_eq!(charge(0.0), 0.0);
        // Two replicas answer: a poll is 2 RU, and a change of 512 bytes 0.0408 RU.
        let change = 2.0 * (0.0115 + 0.5 * 0.0178);
        assert!((charge(0.1) - 0.1 * (2.0 + change)).abs() < 1e-9, "{}", charge(0.1));
        // Two feed ranges are polled twice in 5 s.
        assert!((charge(10.0) - (0.8 + 10.0 * change)).abs() < 1e-9, "{}", charge(10.0));
    }

    #[test]
    fn a_scrape_of_a_process_that_holds_all_leases_reads_nothing() {
        let scrapes = work(70, 0.0, 0.0).throughput(BackgroundKind::MetricsScrapes);
        assert_eq!(scrapes[0], 0.0);
        assert!(scrapes[1] > 0.0 && scrapes[1] < scrapes[2]);
    }

    #[test]
    fn the_load_by_container_is_all_of_it() {
        let work = work(70, 1.0, 1.0);
        let sum: f64 = work.by_container().iter().map(|load| load.throughput).sum();
        let of = |kind| work.throughput(kind)[2];
        let expected = of(BackgroundKind::AtRest)
            + of(BackgroundKind::Checkpoints)
            + of(BackgroundKind::Discarded)
            + of(BackgroundKind::MetricsScrapes);
        assert!((sum - expected).abs() < 1e-9);
    }
}
