//! The processor: what can be asked of an instance from outside.

use std::sync::Arc;

use futures::future::{BoxFuture, join_all, try_join_all};
use tokio_util::sync::CancellationToken;

use super::host::Host;
use super::instance::{Instance, Stepped};
use super::projection::Projection;
use super::reader::RangeReader;
use super::runner::{PageError, Runner};
use super::settings::{Jitter, Settings, Sharing};
use super::status::{Following, LeaseStatus, ProjectionStatus, Standing};
use super::tick::Steal;
use onehop_runtime::clock::Clock;
use onehop_store::{Fault, FaultKind, Store};

/// Rounds over all readers in one [`Processor::drain`]; more are needed only where projections feed each other in
/// a circle, or where others write without end.
const DRAIN_ROUNDS_MAX: usize = 100_000;

/// Keeps read models current from the change feeds of their containers, alone or with other instances.
#[derive(Clone)]
pub struct Processor {
    pub(super) instance: Arc<Instance>,
}

/// Why something asked of the processor failed.
#[derive(Debug, thiserror::Error)]
pub enum ProcessorError {
    #[error("there is no projection {0}")]
    UnknownProjection(String),
    #[error("there is no dead letter {0:?}")]
    UnknownDeadLetter(String),
    #[error(
        "the change feed was not drained: it is written to without end, or another process does not get on"
    )]
    NotDrained,
    #[error(transparent)]
    Page(#[from] PageError),
}

impl ProcessorError {
    /// Whether something could not be read because it is damaged: trying again does not help, and the rest may be whole.
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
    /// Looks up the feed ranges and the dead letters. No lease is taken and nothing is read of the change feed yet: that
    /// is for [`run`](Self::run), or step by step for [`tick`](Self::tick) and [`run_once`](Self::run_once). Cancelling
    /// `stop` ends what runs.
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
        let jitter = Jitter::new(settings.jitter_seed);
        let host = Arc::new(Host { store, clock, settings, stop, jitter });
        Ok(Self { instance: Arc::new(Instance::open(host, projections).await?) })
    }

    /// Takes leases, renews them, and has the feed range of each followed in a task of its own, until the stop. `spawn`
    /// starts such a task, which has the name of its projection; it ends by itself when its lease goes to another
    /// instance, and after the stop, when it has finished its page and released its lease. To be run once.
    pub async fn run(&self, spawn: impl Fn(&'static str, BoxFuture<'static, ()>) + Send + Sync) {
        self.instance.supervise(spawn).await;
    }

    /// Looks at the leases now: gives feed ranges without a lease one, takes free leases up to this instance's share,
    /// steals one from whoever has the most if it is still short of it, and notices splits.
    ///
    /// # Errors
    /// A fault of the store. What was done until then stays done, and the next tick goes on.
    pub async fn tick(&self) -> Result<(), Fault> {
        self.instance.tick(Steal::One).await
    }

    /// Extends the leases whose time has come, also under readers that are in the middle of a page.
    pub async fn renew(&self) {
        self.instance.renew().await;
    }

    /// Ticks if that is due, has every reader work on one page, and returns how many changes that were.
    ///
    /// # Errors
    /// The tick or the first page that failed; all pages were worked on.
    pub async fn run_once(&self) -> Result<usize, ProcessorError> {
        self.instance.tick_if_due().await?;
        let steps = self.instance.held.all().into_iter().map(|reader| async move {
            let stepped = self.instance.step(&reader).await;
            stepped.map(|stepped| if let Stepped::Page { changes, .. } = stepped { changes } else { 0 })
        });
        let mut total = 0;
        for changes in self.instance.while_renewing(join_all(steps)).await {
            total += changes?;
        }
        Ok(total)
    }

    /// Works until no reader finds anything any more, also what projections wrote for each other. The tasks may run
    /// meanwhile. Feed ranges whose lease another instance holds are waited for, until nothing waits after their
    /// checkpoints. No lease is stolen for a drain.
    ///
    /// # Errors
    /// The first page that failed, and [`ProcessorError::NotDrained`].
    pub async fn drain(&self) -> Result<(), ProcessorError> {
        self.instance.while_renewing(self.drain_in_rounds()).await
    }

    async fn drain_in_rounds(&self) -> Result<(), ProcessorError> {
        let instance = &*self.instance;
        let shared = instance.host.settings.sharing != Sharing::Alone;
        let mut waits = 0;
        for _ in 0..DRAIN_ROUNDS_MAX {
            if shared {
                instance.tick(Steal::None).await?;
            } else {
                instance.tick_if_due().await?;
            }
            let before = (self.changes(), instance.held.generation());
            let readers = instance.held.all();
            try_join_all(readers.iter().map(|reader| drain_reader(instance, reader))).await?;
            if (self.changes(), instance.held.generation()) != before {
                continue;
            }
            if instance.others_are_drained().await? {
                return Ok(());
            }
            if waits == instance.host.settings.drain_waits_max {
                break;
            }
            if !instance.host.pause(instance.host.settings.poll.delay(waits)).await {
                return Err(PageError::Stopping.into());
            }
            waits += 1;
        }
        Err(ProcessorError::NotDrained)
    }

    /// Changes projected so far, whoever ran the readers: a page that ended while others were drained may have
    /// written changes for them.
    fn changes(&self) -> u64 {
        self.instance.runners.iter().map(|runner| runner.counters.changes()).sum()
    }

    /// How each projection is doing. What is said of other instances is as old as the last tick; the lease container
    /// is not asked.
    ///
    /// # Errors
    /// The store could not count.
    pub async fn status(&self) -> Result<Vec<ProjectionStatus>, Fault> {
        Ok(self.standing().await?.projections)
    }

    /// How the reading of each feed range is doing, as [`status`](Self::status) is answered.
    ///
    /// # Errors
    /// The store could not count.
    pub async fn leases(&self) -> Result<Vec<LeaseStatus>, Fault> {
        self.instance.leases().await
    }

    /// Both, at the price of one: pending changes are counted once.
    ///
    /// # Errors
    /// The store could not count.
    pub async fn standing(&self) -> Result<Standing, Fault> {
        self.instance.standing().await
    }

    /// Whether each projection is followed, from memory alone.
    #[must_use]
    pub fn running(&self) -> Vec<Following> {
        self.instance.following()
    }

    /// Gives up all leases, after the pages in hand. For when no task runs, or all have ended.
    pub async fn release(&self) {
        self.instance.release().await;
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
            Stepped::Page { changes: 0, drained: true } | Stepped::Ended => return Ok(()),
            Stepped::Page { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_send<T: Send>(_: &T) {}

    /// Tasks may move between threads; whether a future may is otherwise found out by whoever spawns it.
    #[expect(dead_code, reason = "compiling it is the test")]
    fn the_futures_of_a_processor_may_move_between_threads(processor: &Processor) {
        assert_send(&processor.run(|_, _| {}));
        assert_send(&processor.tick());
        assert_send(&processor.renew());
        assert_send(&processor.run_once());
        assert_send(&processor.drain());
        assert_send(&processor.status());
        assert_send(&processor.release());
        assert_send(&processor.replay(None));
        assert_send(&processor.rebuild("", &|_| {}));
    }
}
