//! Processor instance: its projections, its heartbeat, the readers of its owned leases, and the last known
//! state of all leases and of the other instances.

use parking_lot::Mutex;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::{join_all, try_join_all};
use tokio::sync::{Notify, Semaphore, watch};

use super::context::ProcessorContext;
use super::counters::{PendingCache, ProjectionCounters};
use super::dead_letters::DeadLetterQueue;
use super::heartbeat::{Beat, Heartbeat};
use super::lease::{LeaseItem, OwnedLease, StoredLease};
use super::observations::Observations;
use super::owned_leases::OwnedLeases;
use super::page_error::PageError;
use super::projection::Projection;
use super::read_cache::ReadCache;
use super::reader::{PageOutcome, RangeReader};
use super::recent_changes::RecentChanges;
use super::runner::Runner;
use super::settings::milliseconds;
use super::source::FeedSource;
use super::stalls::Stalls;

use onehop_store::{Fault, Ledger};

pub(super) struct Instance {
    pub(super) context: Arc<ProcessorContext>,
    pub(super) runners: Vec<Arc<Runner>>,
    pub(super) sources: Vec<Arc<FeedSource>>,
    pub(super) owned: OwnedLeases,
    pub(super) heartbeat: Heartbeat,
    pub(super) observations: Observations,
    /// Another instance has called, or this one was late.
    pub(super) is_called: AtomicBool,
    pub(super) pending: PendingCache,
    /// Locked during a balancing round.
    pub(super) balancing: tokio::sync::Mutex<BalancingState>,
    /// Changes whenever a reader has worked on a page.
    pub(super) progress: watch::Sender<u64>,
    /// The dead letters were loaded again: there may be former ones among them.
    pub(super) letters_loaded: Notify,
    /// A position is waited for from now on.
    pub(super) position_waits: Notify,
    known: Mutex<KnownLeases>,
}

/// The last known state of all leases, and when it was read (monotonic ms).
#[derive(Clone)]
struct KnownLeases {
    leases: Arc<Vec<LeaseSnapshot>>,
    at_ms: i64,
}

/// The known instances, and the owner of each lease.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Membership {
    /// Id, owner and epoch of each lease.
    pub(super) owners: Vec<(String, Option<String>, u64)>,
    pub(super) incarnations: Vec<(String, Option<u64>)>,
}

/// The state that balancing rounds leave for the next round.
#[derive(Default)]
pub(super) struct BalancingState {
    /// When the last round that succeeded began (monotonic ms).
    pub(super) balanced_at: Option<i64>,
    /// Leases and instances as the last round left them.
    pub(super) membership: Option<Membership>,
    /// Successive rounds that found the same and had nothing to do.
    pub(super) quiet_rounds: u32,
    /// The other instances have yet to be called.
    pub(super) calls_others: bool,
}

/// A lease at the end of the last balancing round.
#[derive(Clone)]
pub(super) struct LeaseSnapshot {
    pub(super) source: Arc<FeedSource>,
    pub(super) item: LeaseItem,
}

/// The outcome of a step of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepOutcome {
    /// It worked on a page with this many changes.
    Page { changes: usize, drained: bool },
    /// Its lease is gone: lost to another instance, or divided.
    Ended,
}

impl Instance {
    /// Looks up the feed ranges and the dead letters.
    pub(super) async fn open(
        context: Arc<ProcessorContext>,
        projections: Vec<Arc<dyn Projection>>,
    ) -> Result<Self, Fault> {
        let opening = projections.into_iter().map(|projection| open_runner(&context, projection));
        let runners = try_join_all(opening).await?;
        let sources = FeedSource::all_of(&context, &runners);
        let known = try_join_all(sources.iter().map(unowned_leases)).await?;
        Ok(Self {
            runners,
            sources,
            owned: OwnedLeases::default(),
            heartbeat: Heartbeat::default(),
            observations: Observations::default(),
            is_called: AtomicBool::default(),
            pending: PendingCache::default(),
            balancing: tokio::sync::Mutex::default(),
            progress: watch::Sender::default(),
            letters_loaded: Notify::new(),
            position_waits: Notify::new(),
            known: Mutex::new(KnownLeases { leases: Arc::new(known.concat()), at_ms: i64::MIN }),
            context,
        })
    }

    /// All leases at the end of the last balancing round; before the first, unowned leases of the feed
    /// ranges.
    pub(super) fn known(&self) -> Arc<Vec<LeaseSnapshot>> {
        Arc::clone(&self.known.lock().leases)
    }

    pub(super) fn set_known(&self, known: Vec<LeaseSnapshot>) {
        *self.known.lock() =
            KnownLeases { leases: Arc::new(known), at_ms: self.context.clock.monotonic_ms() };
    }

    /// Reads the leases that this instance does not hold again if they are older than an acquire interval: at
    /// rest no balancing round does. The ledger has the reads.
    ///
    /// # Errors
    /// They could not be read, and their last read is as old as the expiration interval: their state is
    /// unknown.
    pub(super) async fn refresh_known(&self, ledger: &Ledger) -> Result<(), Fault> {
        let sharing = self.context.settings.sharing;
        let (Some(acquire), Some(expire)) = (sharing.acquire(), sharing.expire()) else { return Ok(()) };
        let KnownLeases { leases, at_ms } = self.known.lock().clone();
        let elsewhere: Vec<_> =
            leases.iter().filter(|lease| self.owned.get(&lease.item.id).is_none()).cloned().collect();
        let age_ms = self.context.clock.monotonic_ms().saturating_sub(at_ms);
        if elsewhere.is_empty() || age_ms < milliseconds(acquire) {
            return Ok(());
        }
        let ids: Vec<_> = elsewhere.iter().map(|lease| lease.item.id.as_str()).collect();
        let found = match StoredLease::read_many(&self.context, &ids, ledger).await {
            Ok(found) => found,
            Err(_) if age_ms < milliseconds(expire) => return Ok(()),
            Err(fault) => return Err(fault),
        };
        let mut refreshed = leases.as_ref().clone();
        for stored in found {
            if let Some(lease) = refreshed.iter_mut().find(|lease| lease.item.id == stored.item.id) {
                lease.item = LeaseItem { change_checkpoints: Vec::new(), ..stored.item };
            }
        }
        let mut known = self.known.lock();
        // A balancing round meanwhile knows more.
        if Arc::ptr_eq(&known.leases, &leases) {
            *known = KnownLeases { leases: Arc::new(refreshed), at_ms: self.context.clock.monotonic_ms() };
        }
        Ok(())
    }

    /// Adds a charge to all projections in equal shares.
    pub(super) fn add_charge(&self, ledger: &Ledger) {
        for runner in &self.runners {
            runner.counters.add_charge_part(ledger, self.runners.len());
        }
    }

    /// Whether another instance is alive.
    pub(super) fn is_live(&self, owner: &str) -> bool {
        let expire_ms = self.context.settings.sharing.expire().map_or(0, milliseconds);
        self.observations.is_live(owner, self.context.clock.monotonic_ms(), expire_ms)
    }

    /// Has a reader work on one page.
    pub(super) async fn step(&self, reader: &Arc<RangeReader>) -> Result<StepOutcome, PageError> {
        let turned = reader.run_once().await;
        self.progress.send_modify(|pages| *pages = pages.wrapping_add(1));
        match turned {
            Ok(PageOutcome::Page { changes, drained }) => Ok(StepOutcome::Page { changes, drained }),
            Ok(PageOutcome::Split(children)) => {
                self.replace_with_parts(reader, children);
                Ok(StepOutcome::Ended)
            }
            Err(PageError::LeaseLost) => {
                self.owned.remove(reader);
                self.owned.request_balancing();
                Ok(StepOutcome::Ended)
            }
            Err(error) => Err(error),
        }
    }

    /// Replaces the reader of a range that was split by readers of its parts.
    fn replace_with_parts(&self, parent: &Arc<RangeReader>, children: Vec<OwnedLease>) {
        let source = &parent.source;
        let mut known = self.known().as_ref().clone();
        known.retain(|known| known.item.id != parent.lease.id);
        self.owned.remove(parent);
        for lease in children {
            known.push(LeaseSnapshot { source: Arc::clone(source), item: lease.item().clone() });
            self.owned.insert(RangeReader::new(Arc::clone(source), lease));
        }
        self.set_known(known);
        // The leases of some parts may have been there before.
        self.owned.request_balancing();
    }

    /// Writes the heartbeat if it is due. Without one in time the instance stops working on its leases.
    pub(super) async fn renew(&self) {
        self.stop_if_late();
        let ledger = Ledger::new();
        let beat = self.heartbeat.beat_if_due(&self.context, &ledger).await;
        self.add_charge(&ledger);
        match beat {
            Ok(beat) => {
                if self.heed(beat) {
                    self.owned.request_balancing();
                }
            }
            Err(fault) => {
                self.runners.iter().for_each(|runner| runner.counters.record_error(&fault.to_string()));
                self.stop_if_late();
            }
        }
    }

    /// Reacts to a heartbeat; returns whether the leases have to be looked at.
    pub(super) fn heed(&self, beat: Beat) -> bool {
        match beat {
            Beat::Quiet | Beat::Joined => return false,
            Beat::Called => {}
            Beat::Late => self.drop_all_readers(),
        }
        self.is_called.store(true, Ordering::Relaxed);
        true
    }

    /// Drops all readers when the heartbeat was not written within the expiry: other instances may take the
    /// leases.
    pub(super) fn stop_if_late(&self) {
        if !self.context.is_alive() && !self.owned.all().is_empty() {
            tracing::warn!("no heartbeat was written within the expiry of leases, which are given up");
            self.drop_all_readers();
            self.owned.request_balancing();
        }
    }

    fn drop_all_readers(&self) {
        for reader in self.owned.all() {
            self.owned.remove(&reader);
        }
    }

    /// Deletes the heartbeat, so that the others need not wait for its expiry.
    pub(super) async fn leave(&self) {
        let ledger = Ledger::new();
        if let Err(error) = self.heartbeat.leave(&self.context, &ledger).await {
            tracing::debug!(%error, "a heartbeat was not deleted");
        }
        self.add_charge(&ledger);
    }

    /// Leaves when the stop has come and the last lease is released.
    pub(super) async fn leave_if_stopped(&self) {
        if self.context.stop.is_cancelled() && self.owned.all().is_empty() {
            self.leave().await;
        }
    }

    /// Writes heartbeats until the stop.
    pub(super) async fn keep_renewing(&self) {
        let Some(renew) = self.context.settings.sharing.renew() else { return };
        while self.context.pause(renew / 2).await {
            self.renew().await;
        }
    }

    /// Runs `work`, and writes heartbeats meanwhile.
    pub(super) async fn while_renewing<T>(&self, work: impl Future<Output = T>) -> T {
        let renewing = async {
            self.keep_renewing().await;
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            biased;
            done = work => done,
            never = renewing => match never {},
        }
    }

    /// Releases all leases.
    pub(super) async fn release(&self) {
        let mut balancing = self.balancing.lock().await;
        balancing.balanced_at = None;
        let release = |reader: Arc<RangeReader>| async move {
            reader.release().await;
            self.owned.remove(&reader);
        };
        join_all(self.owned.all().into_iter().map(release)).await;
        self.leave().await;
    }
}

async fn open_runner(
    context: &Arc<ProcessorContext>,
    projection: Arc<dyn Projection>,
) -> Result<Arc<Runner>, Fault> {
    let (name, source) = (projection.name(), projection.source());
    let ledger = Ledger::new();
    let dead_letters = DeadLetterQueue::load(Arc::clone(context), name, source, &ledger).await?;
    let counters = ProjectionCounters::default();
    counters.add_charge(&ledger);
    let permits =
        context.settings.concurrent_partitions_max.min(projection.concurrent_partitions_max()).max(1);
    Ok(Arc::new(Runner {
        partition_permits: Semaphore::new(permits.min(Semaphore::MAX_PERMITS)),
        context: Arc::clone(context),
        projection,
        read_cache: ReadCache::default(),
        recent_changes: RecentChanges::default(),
        dead_letters,
        counters,
        stalls: Stalls::default(),
    }))
}

/// Unowned leases of the feed ranges of a source.
async fn unowned_leases(source: &Arc<FeedSource>) -> Result<Vec<LeaseSnapshot>, Fault> {
    let ranges = source.context.store.feed_ranges(source.container).await?;
    let unowned =
        |range| LeaseSnapshot { source: Arc::clone(source), item: LeaseItem::unowned(&source.scope, range) };
    Ok(ranges.iter().map(unowned).collect())
}
