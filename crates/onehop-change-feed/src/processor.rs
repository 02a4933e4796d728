//! Processor: the public interface of an instance.

use std::sync::Arc;

use futures::future::{BoxFuture, join_all, try_join_all};
use tokio_util::sync::CancellationToken;

use super::backfills::BackfillOutcome;
use super::context::ProcessorContext;
use super::instance::{Instance, StepOutcome};
use super::load_balancer::Steal;
use super::page_error::PageError;
use super::projection::Projection;
use super::reader::RangeReader;
use super::runner::Runner;
use super::settings::{Settings, Sharing};
use super::status::{LeaseStatus, ProcessorStatus, ProjectionHealth, ProjectionStatus};
use onehop_runtime::clock::Clock;
use onehop_store::{Fault, FaultKind, Ledger, Store};

/// Rounds over all readers in one [`Processor::drain`]; more are needed only where projections feed each
/// other in a circle, or where others write without end.
const DRAIN_ROUNDS_MAX: usize = 100_000;

/// A change feed processor instance: runs projections over the change feeds of their containers, alone or
/// with other instances.
#[derive(Clone)]
pub struct Processor {
    pub(super) instance: Arc<Instance>,
}

/// An error of the processor.
#[derive(Debug, thiserror::Error)]
pub enum ProcessorError {
    /// There is no projection with this name.
    #[error("there is no projection {0}")]
    UnknownProjection(String),
    /// There is no dead letter with this id.
    #[error("there is no dead letter {0:?}")]
    UnknownDeadLetter(String),
    /// A handler is not rebuilt.
    #[error("{0} is a handler: its effects are not repeated by a rebuild")]
    HasEffects(String),
    #[error(
        "the change feed was not drained: it is written to without end, or another process does not get on"
    )]
    /// The change feed was not drained.
    NotDrained,
    /// A page failed.
    #[error(transparent)]
    Page(#[from] PageError),
}

impl ProcessorError {
    /// Whether something could not be read because it is damaged: trying again does not help, and the rest
    /// may be whole.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Page(PageError::Fault(fault)) if fault.kind == FaultKind::Corrupt)
    }
}

impl From<Fault> for ProcessorError {
    fn from(fault: Fault) -> Self {
        Self::Page(PageError::Fault(fault))
    }
}

impl Processor {
    /// Looks up the feed ranges and the dead letters. No lease is taken and nothing is read of the change
    /// feed yet: that is for [`run`](Self::run), or step by step for [`balance_leases`](Self::balance_leases)
    /// and [`run_once`](Self::run_once). Cancelling `stop` ends the tasks.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn open(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        projections: Vec<Arc<dyn Projection>>,
        settings: Settings,
        stop: CancellationToken,
    ) -> Result<Self, Fault> {
        let context = Arc::new(ProcessorContext::new(store, clock, settings, stop));
        Ok(Self { instance: Arc::new(Instance::open(context, projections).await?) })
    }

    /// Takes leases, writes heartbeats, and has the feed range of each followed in a task of its own, until
    /// the stop. `spawn` starts such a task, which has the name of its source container; it ends by itself
    /// when its lease goes to another instance, and after the stop, when it has finished its page and
    /// released its lease. To be run once.
    pub async fn run(&self, spawn: impl Fn(&'static str, BoxFuture<'static, ()>) + Send + Sync) {
        self.instance.supervise(spawn).await;
    }

    /// Runs a lease balancing round: creates missing leases, acquires free leases up to this instance's
    /// share, steals one from the instance with the most if the share is not reached, and detects splits.
    ///
    /// # Errors
    /// A fault of the store. Completed steps stay done, and the next round goes on.
    pub async fn balance_leases(&self) -> Result<(), Fault> {
        self.instance.balance_leases(Steal::One).await
    }

    /// Writes the heartbeat if it is due, also while readers process a page.
    pub async fn renew(&self) {
        self.instance.renew().await;
    }

    /// Balances leases if that is due, processes one page of every owned lease and one of its backfills, and
    /// returns the number of changes.
    ///
    /// # Errors
    /// The balancing round or the first page that failed; all pages were worked on.
    pub async fn run_once(&self) -> Result<usize, ProcessorError> {
        self.instance.balance_if_due().await?;
        let steps = self.instance.owned.all().into_iter().map(|reader| async move {
            let live = match self.instance.step(&reader).await? {
                StepOutcome::Page { changes, .. } => changes,
                StepOutcome::Ended => return Ok::<_, PageError>(0),
            };
            let backfilled = match reader.backfill_once().await? {
                BackfillOutcome::Page { changes } => changes,
                BackfillOutcome::Complete => 0,
            };
            Ok(live + backfilled)
        });
        let mut total = 0;
        for changes in self.instance.while_renewing(join_all(steps)).await {
            total += changes?;
        }
        Ok(total)
    }

    /// Works until no reader finds a change, including writes of projections for each other. The tasks may
    /// run meanwhile. Feed ranges whose lease another instance holds are waited for, until nothing waits
    /// after their checkpoints. No lease is stolen for a drain.
    ///
    /// # Errors
    /// The first page that failed, and [`ProcessorError::NotDrained`].
    pub async fn drain(&self) -> Result<(), ProcessorError> {
        self.instance.while_renewing(self.drain_in_rounds()).await
    }

    async fn drain_in_rounds(&self) -> Result<(), ProcessorError> {
        let instance = &*self.instance;
        let shared = instance.context.settings.sharing != Sharing::Alone;
        let mut waits = 0;
        for _ in 0..DRAIN_ROUNDS_MAX {
            if shared {
                instance.balance_leases(Steal::None).await?;
            } else {
                instance.balance_if_due().await?;
            }
            instance.replay_former_letters().await?;
            let before = (self.changes(), instance.owned.generation());
            let readers = instance.owned.all();
            try_join_all(readers.iter().map(|reader| drain_reader(instance, reader))).await?;
            if (self.changes(), instance.owned.generation()) != before {
                continue;
            }
            if instance.others_are_drained().await? {
                return Ok(());
            }
            if waits == instance.context.settings.drain_waits_max {
                break;
            }
            if !instance.context.pause(instance.context.settings.poll.delay(waits)).await {
                return Err(PageError::Stopping.into());
            }
            waits += 1;
        }
        Err(ProcessorError::NotDrained)
    }

    /// Changes projected so far by all readers of this instance: a page that ended while others were drained
    /// may have written changes for them.
    fn changes(&self) -> u64 {
        self.instance.runners.iter().map(|runner| runner.counters.changes()).sum()
    }

    /// The status of each projection. Figures of other instances are as old as an acquire interval at most,
    /// or as the expiry of a lease where their leases cannot be read.
    ///
    /// # Errors
    /// The store could not count, or leases could not be read for an expiration interval.
    pub async fn status(&self) -> Result<Vec<ProjectionStatus>, Fault> {
        Ok(self.processor_status().await?.projections)
    }

    /// The status of each lease, as old as the result of [`status`](Self::status).
    ///
    /// # Errors
    /// As of [`status`](Self::status).
    pub async fn leases(&self) -> Result<Vec<LeaseStatus>, Fault> {
        let ledger = Ledger::new();
        let leases = self.instance.leases(&ledger).await;
        self.instance.add_charge(&ledger);
        leases
    }

    /// The status of projections and leases: pending changes are counted once for both.
    ///
    /// # Errors
    /// As of [`status`](Self::status).
    pub async fn processor_status(&self) -> Result<ProcessorStatus, Fault> {
        let ledger = Ledger::new();
        let status = self.processor_status_for(&ledger).await;
        self.instance.add_charge(&ledger);
        status
    }

    /// The same for a caller, whose ledger records the reads.
    ///
    /// # Errors
    /// As of [`status`](Self::status).
    pub async fn processor_status_for(&self, ledger: &Ledger) -> Result<ProcessorStatus, Fault> {
        self.instance.processor_status(ledger).await
    }

    /// Whether each projection runs, from memory alone.
    #[must_use]
    pub fn health(&self) -> Vec<ProjectionHealth> {
        self.instance.health()
    }

    /// Releases all leases, after the current pages. For when no task runs, or all have ended.
    pub async fn release(&self) {
        self.instance.release().await;
    }

    /// Drops the projections' cached reads. To be called after a writer other than a projection of this
    /// process, such as a repair, has changed read models.
    pub fn invalidate_cached_reads(&self) {
        self.instance.runners.iter().for_each(|runner| runner.read_cache.invalidate());
    }

    pub(super) fn runner(&self, projection: &str) -> Result<&Arc<Runner>, ProcessorError> {
        let found = self.instance.runners.iter().find(|runner| runner.projection.name() == projection);
        found.ok_or_else(|| ProcessorError::UnknownProjection(projection.to_owned()))
    }
}

/// Works until the reader finds nothing, or its lease is gone.
async fn drain_reader(instance: &Instance, reader: &Arc<RangeReader>) -> Result<(), PageError> {
    loop {
        match instance.step(reader).await? {
            StepOutcome::Page { changes: 0, drained: true } => break,
            StepOutcome::Page { .. } => {}
            StepOutcome::Ended => return Ok(()),
        }
    }
    while reader.backfill_once().await? != BackfillOutcome::Complete {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_send<T: Send>(_: &T) {}

    /// Tasks may move between threads. Without this, only the caller that spawns the future would notice.
    #[expect(dead_code, reason = "compiling it is the test")]
    fn the_futures_of_a_processor_may_move_between_threads(processor: &Processor) {
        assert_send(&processor.run(|_, _| {}));
        assert_send(&processor.balance_leases());
        assert_send(&processor.renew());
        assert_send(&processor.run_once());
        assert_send(&processor.drain());
        assert_send(&processor.status());
        assert_send(&processor.release());
        assert_send(&processor.replay(None));
        assert_send(&processor.rebuild("", &|_| {}));
    }
}
