//! The processor: all readers of all projections, and what can be asked of them together.

use std::sync::Arc;

use futures::future::{join_all, try_join_all};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::dead_letters::DeadLetters;
use super::host::Host;
use super::memo::Memos;
use super::projection::Projection;
use super::reader::{RangeReader, Reader, Turned};
use super::runner::{PageError, Runner};
use super::settings::{Jitter, Settings};
use super::status::{Counters, PENDING_COUNT_MAX, ProjectionStatus};
use crate::store::{Clock, Fault, Ledger, Store};

/// Rounds over all readers in one [`Processor::drain`]; more are needed only where projections feed each other in
/// a circle, or where others write without end.
const DRAIN_ROUNDS_MAX: usize = 100_000;

/// Keeps read models current from the change feeds of their containers.
#[derive(Clone)]
pub struct Processor {
    pub(super) lanes: Arc<[Lane]>,
    pub(super) host: Arc<Host>,
}

/// A projection with the readers of its feed ranges.
pub(super) struct Lane {
    pub(super) runner: Arc<Runner>,
    pub(super) readers: Vec<Arc<RangeReader>>,
}

/// Why something asked of the processor failed.
#[derive(Debug, thiserror::Error)]
pub enum ProcessorError {
    #[error("there is no projection {0}")]
    UnknownProjection(String),
    #[error("the change feed was not drained in {DRAIN_ROUNDS_MAX} rounds")]
    NotDrained,
    #[error(transparent)]
    Page(#[from] PageError),
}

impl From<Fault> for ProcessorError {
    fn from(fault: Fault) -> Self {
        Self::Page(PageError::Fault(fault))
    }
}

impl Processor {
    /// Looks up the feed ranges and the dead letters. Nothing is read of the change feed yet: that is for
    /// [`Processor::readers`] or [`Processor::drain`]. Cancelling `stop` ends the readers.
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
        let lanes =
            try_join_all(projections.into_iter().map(|projection| Lane::open(&host, projection))).await?;
        Ok(Self { lanes: lanes.into(), host })
    }

    /// The readers, one for each projection and feed range. Each wants a task of its own.
    #[must_use]
    pub fn readers(&self) -> Vec<Reader> {
        self.range_readers().into_iter().map(Reader).collect()
    }

    /// Has every reader work on one page, and returns how many changes that were.
    ///
    /// # Errors
    /// The first page that failed; the others were worked on.
    pub async fn run_once(&self) -> Result<usize, ProcessorError> {
        let mut total = 0;
        let turns = self.range_readers().into_iter().map(|reader| async move { reader.run_once().await });
        for turned in join_all(turns).await {
            if let Turned::Page { changes, .. } = turned? {
                total += changes;
            }
        }
        Ok(total)
    }

    /// Works until no reader finds anything any more, also what projections wrote for each other. The readers may run
    /// meanwhile. Feed ranges whose lease another process holds are left to it.
    ///
    /// # Errors
    /// The first page that failed, and [`ProcessorError::NotDrained`].
    pub async fn drain(&self) -> Result<(), ProcessorError> {
        for _ in 0..DRAIN_ROUNDS_MAX {
            let before = self.changes();
            try_join_all(self.range_readers().into_iter().map(drain_reader)).await?;
            if self.changes() == before {
                return Ok(());
            }
        }
        Err(ProcessorError::NotDrained)
    }

    /// Changes projected so far, whoever ran the readers: a page that ended while others were drained may have
    /// written changes for them.
    fn changes(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.runner.counters.changes()).sum()
    }

    /// How each projection is doing.
    ///
    /// # Errors
    /// The store could not count.
    pub async fn status(&self) -> Result<Vec<ProjectionStatus>, Fault> {
        let mut statuses = Vec::with_capacity(self.lanes.len());
        for lane in self.lanes.iter() {
            statuses.push(lane.status(&self.host).await?);
        }
        Ok(statuses)
    }

    /// Gives up all leases, for a processor whose readers were never run.
    pub async fn release(&self) {
        let released = self.range_readers().into_iter().map(|reader| async move { reader.release().await });
        join_all(released).await;
    }

    fn range_readers(&self) -> Vec<Arc<RangeReader>> {
        self.lanes.iter().flat_map(|lane| lane.readers.iter().cloned()).collect()
    }

    pub(super) fn lane(&self, projection: &str) -> Result<&Lane, ProcessorError> {
        let found = self.lanes.iter().find(|lane| lane.runner.projection.name() == projection);
        found.ok_or_else(|| ProcessorError::UnknownProjection(projection.to_owned()))
    }
}

impl Lane {
    async fn open(host: &Arc<Host>, projection: Arc<dyn Projection>) -> Result<Self, Fault> {
        let (name, source) = (projection.name(), projection.source());
        let ranges = host.store.feed_ranges(source).await?;
        let ledger = Ledger::new();
        let dead_letters = DeadLetters::load(Arc::clone(host), name, source, &ledger).await?;
        let counters = Counters::default();
        counters.add_charge(&ledger);
        let turns =
            host.settings.concurrent_partitions_max.min(projection.concurrent_partitions_max()).max(1);
        let runner = Arc::new(Runner {
            turns: Semaphore::new(turns.min(Semaphore::MAX_PERMITS)),
            host: Arc::clone(host),
            projection,
            memos: Memos::default(),
            dead_letters,
            counters,
        });
        let reader = |range| Arc::new(RangeReader::new(Arc::clone(&runner), range));
        let readers = ranges.into_iter().map(reader).collect();
        Ok(Self { runner, readers })
    }

    async fn status(&self, host: &Host) -> Result<ProjectionStatus, Fault> {
        let waiting =
            try_join_all(self.readers.iter().map(|reader| reader.pending(PENDING_COUNT_MAX))).await?;
        let oldest_ms = waiting.iter().filter_map(|(_, oldest_ms)| *oldest_ms).min();
        let lag_ms = oldest_ms.map_or(0, |oldest_ms| host.clock.now_ms().saturating_sub(oldest_ms));
        let Runner { projection, counters, dead_letters, .. } = &*self.runner;
        Ok(ProjectionStatus {
            projection: projection.name(),
            source: projection.source().as_str(),
            running: counters.running() as usize >= self.readers.len(),
            pending_changes: waiting.iter().map(|(changes, _)| changes).sum(),
            lag_ms: u64::try_from(lag_ms).unwrap_or(0),
            dead_letters: dead_letters.count(),
            changes: counters.changes(),
            request_charge: counters.charge(),
            last_error: counters.last_error(),
        })
    }
}

/// Works until the reader finds nothing.
async fn drain_reader(reader: Arc<RangeReader>) -> Result<(), ProcessorError> {
    loop {
        match reader.run_once().await {
            Ok(Turned::Page { changes: 0, drained: true } | Turned::Busy) => return Ok(()),
            Ok(Turned::Page { .. }) | Err(PageError::LeaseLost) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_send<T: Send>(_: &T) {}

    /// Tasks may move between threads; whether a future may is otherwise found out by whoever spawns it.
    #[expect(dead_code, reason = "compiling it is the test")]
    fn the_futures_of_a_processor_may_move_between_threads(processor: &Processor, reader: Reader) {
        assert_send(&reader.run());
        assert_send(&processor.run_once());
        assert_send(&processor.drain());
        assert_send(&processor.status());
        assert_send(&processor.release());
        assert_send(&processor.replay(None));
        assert_send(&processor.rebuild("", &|_| {}));
    }
}
