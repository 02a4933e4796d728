//! Processor instance: its projections, the readers of its owned leases, and the last known state of all leases.

use parking_lot::Mutex;
use std::convert::Infallible;
use std::sync::Arc;

use futures::future::{join_all, try_join_all};
use tokio::sync::{Semaphore, watch};

use super::context::ProcessorContext;
use super::counters::{PendingCache, ProjectionCounters};
use super::dead_letters::DeadLetterQueue;
use super::lease::{LeaseItem, OwnedLease};
use super::owned_leases::OwnedLeases;
use super::projection::Projection;
use super::read_cache::ReadCache;
use super::reader::{PageOutcome, RangeReader};
use super::runner::{PageError, Runner};

use onehop_store::{Fault, Ledger};

pub(super) struct Instance {
    pub(super) context: Arc<ProcessorContext>,
    pub(super) runners: Vec<Arc<Runner>>,
    pub(super) owned: OwnedLeases,
    pub(super) pending: PendingCache,
    /// Locked during a balancing round. When the last round that succeeded began (Unix ms).
    pub(super) balanced_at: tokio::sync::Mutex<Option<i64>>,
    /// Changes whenever a reader has worked on a page.
    pub(super) progress: watch::Sender<u64>,
    known: Mutex<Arc<Vec<LeaseSnapshot>>>,
}

/// A lease at the end of the last balancing round.
#[derive(Clone)]
pub(super) struct LeaseSnapshot {
    pub(super) runner: Arc<Runner>,
    pub(super) item: LeaseItem,
}

/// The outcome of a step of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepOutcome {
    /// It worked on a page with so many changes.
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
        let (runners, known): (Vec<_>, Vec<_>) = try_join_all(opening).await?.into_iter().unzip();
        Ok(Self {
            runners,
            owned: OwnedLeases::default(),
            pending: PendingCache::default(),
            balanced_at: tokio::sync::Mutex::default(),
            progress: watch::Sender::default(),
            known: Mutex::new(Arc::new(known.concat())),
            context,
        })
    }

    /// All leases at the end of the last balancing round; before the first, unowned leases of the feed ranges.
    pub(super) fn known(&self) -> Arc<Vec<LeaseSnapshot>> {
        Arc::clone(&self.known.lock())
    }

    pub(super) fn set_known(&self, known: Vec<LeaseSnapshot>) {
        *self.known.lock() = Arc::new(known);
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
        let runner = parent.runner();
        let mut known = self.known().as_ref().clone();
        known.retain(|known| known.item.id != parent.lease.id);
        self.owned.remove(parent);
        for lease in children {
            known.push(LeaseSnapshot { runner: Arc::clone(runner), item: lease.item().clone() });
            self.owned.insert(RangeReader::new(Arc::clone(runner), lease));
        }
        self.set_known(known);
        // The leases of some parts may have been there before.
        self.owned.request_balancing();
    }

    /// Renews the leases that are due.
    pub(super) async fn renew(&self) {
        let renew = |reader: Arc<RangeReader>| async move {
            match reader.renew().await {
                Ok(()) => {}
                Err(PageError::LeaseLost) => {
                    self.owned.remove(&reader);
                    self.owned.request_balancing();
                }
                Err(error) => reader.statistics.record_error(&error.to_string()),
            }
        };
        join_all(self.owned.all().into_iter().map(renew)).await;
    }

    /// Renews leases until the stop.
    pub(super) async fn keep_renewing(&self) {
        let Some(renew) = self.context.settings.sharing.renew() else { return };
        while self.context.pause(renew / 2).await {
            self.renew().await;
        }
    }

    /// Runs `work`, and renews leases meanwhile.
    pub(super) async fn while_renewing<T>(&self, work: impl Future<Output = T>) -> T {
        let renewing = async {
            self.keep_renewing().await;
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            done = work => done,
            never = renewing => match never {},
        }
    }

    /// Releases all leases.
    pub(super) async fn release(&self) {
        let mut balanced_at = self.balanced_at.lock().await;
        *balanced_at = None;
        let release = |reader: Arc<RangeReader>| async move {
            reader.release().await;
            self.owned.remove(&reader);
        };
        join_all(self.owned.all().into_iter().map(release)).await;
    }
}

async fn open_runner(
    context: &Arc<ProcessorContext>,
    projection: Arc<dyn Projection>,
) -> Result<(Arc<Runner>, Vec<LeaseSnapshot>), Fault> {
    let (name, source) = (projection.name(), projection.source());
    let ranges = context.store.feed_ranges(source).await?;
    let ledger = Ledger::new();
    let dead_letters = DeadLetterQueue::load(Arc::clone(context), name, source, &ledger).await?;
    let counters = ProjectionCounters::default();
    counters.add_charge(&ledger);
    let permits =
        context.settings.concurrent_partitions_max.min(projection.concurrent_partitions_max()).max(1);
    let runner = Arc::new(Runner {
        partition_permits: Semaphore::new(permits.min(Semaphore::MAX_PERMITS)),
        context: Arc::clone(context),
        projection,
        read_cache: ReadCache::default(),
        dead_letters,
        counters,
    });
    let known = |range| LeaseSnapshot {
        runner: Arc::clone(&runner),
        item: LeaseItem::unowned(&context.settings.processor, name, source, range),
    };
    let known = ranges.iter().map(known).collect();
    Ok((runner, known))
}
