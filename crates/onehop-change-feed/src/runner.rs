//! Runner: runs one change through its projection (steps, reads, writes), and retries or gives up after a failure.

use std::sync::Arc;

use futures::future::{join_all, try_join_all};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::change_checkpoints::ChangeCheckpoints;
use super::context::ProcessorContext;
use super::counters::ProjectionCounters;
use super::dead_letters::DeadLetterQueue;
use super::lease::LeaseError;
use super::page_cache::PageCache;
use super::projection::{IntendedWrite, NextAction, Projection, ProjectionError, Step, StepInput};
use super::read_cache::ReadCache;
use super::recent_changes::RecentChanges;
use super::request::{ReadRequest, ReadResult};

use onehop_store::{Batch, Change, ETag, Fault, FaultKind, Ledger, Rejection, WriteError};

/// Steps of one change between two change checkpoints; a projection that takes more does not end.
pub(super) const STEPS_MAX: usize = 10_000;

/// A projection and its processing state, shared by all readers of the projection.
pub(super) struct Runner {
    pub(super) context: Arc<ProcessorContext>,
    pub(super) projection: Arc<dyn Projection>,
    pub(super) read_cache: ReadCache,
    pub(super) recent_changes: RecentChanges,
    pub(super) dead_letters: DeadLetterQueue,
    pub(super) counters: ProjectionCounters,
    /// One permit for each logical partition that may be worked on at the same time, by all readers together. Readers
    /// that write to one logical partition would otherwise refuse each other, and the slowest of them would starve.
    pub(super) partition_permits: Semaphore,
}

/// The error of a change that was not projected.
#[derive(Debug)]
pub(super) enum ChangeError {
    /// The change becomes a dead letter.
    Change { attempts: u32, error: String },
    /// The page cannot go on.
    Page(PageError),
}

/// The error of a page that ended early. The page is read again from the last checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// Another process owns the lease by now.
    #[error("the lease belongs to another owner by now")]
    LeaseLost,
    /// The stop came in the middle of a long change, or while a retry waited.
    #[error("the processor is stopping")]
    Stopping,
    /// The store did not answer.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<LeaseError> for PageError {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Lost => Self::LeaseLost,
            LeaseError::Fault(fault) => Self::Fault(fault),
        }
    }
}

/// The error of one attempt to project a change.
enum AttemptError {
    Stale(Rejection),
    Fault(Fault),
    Refused(String),
    Page(PageError),
}

impl From<ProjectionError> for AttemptError {
    fn from(error: ProjectionError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<Fault> for AttemptError {
    fn from(fault: Fault) -> Self {
        if fault.kind.is_transient() { Self::Fault(fault) } else { Self::Refused(fault.to_string()) }
    }
}

impl From<WriteError> for AttemptError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Fault(fault) => fault.into(),
            WriteError::Rejected { reason, .. } => match reason {
                Rejection::PreconditionFailed | Rejection::Conflict | Rejection::NotFound => {
                    Self::Stale(reason)
                }
                reason => Self::Refused(format!("an intended write was refused: {reason}")),
            },
        }
    }
}

/// How to retry a change whose item is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingItem {
    /// It is skipped: an item that is gone has no changes.
    Skip,
    /// It is projected: its item has expired, and this was its last version.
    Project,
}

/// The retry state of a change: where to resume, and the failed attempts since the last progress.
struct RetryState {
    state: Value,
    faults: u32,
    stale: u32,
}

impl Runner {
    /// Projects a change, from `first` if its first step is known already. Runs it again where that can help. Returns whether this
    /// version of the item was projected, and not a newer one in its place.
    pub(super) async fn run_change(
        &self,
        change: &Change,
        first: Option<Step>,
        shared: &PageCache,
        checkpoints: ChangeCheckpoints<'_>,
        ledger: &Ledger,
    ) -> Result<bool, ChangeError> {
        self.run(change, first, shared, checkpoints, MissingItem::Skip, ledger).await
    }

    /// Projects the last version of an item that has expired.
    pub(super) async fn run_expired(
        &self,
        change: &Change,
        shared: &PageCache,
        ledger: &Ledger,
    ) -> Result<bool, ChangeError> {
        self.run(change, None, shared, ChangeCheckpoints::Nowhere, MissingItem::Project, ledger).await
    }

    async fn run(
        &self,
        change: &Change,
        first: Option<Step>,
        shared: &PageCache,
        checkpoints: ChangeCheckpoints<'_>,
        if_gone: MissingItem,
        ledger: &Ledger,
    ) -> Result<bool, ChangeError> {
        let mut run = RetryState { state: checkpoints.get(change).await, faults: 0, stale: 0 };
        let mut outcome = self.attempt(change, first, &mut run, Some(shared), checkpoints, ledger).await;
        let mut etag = change.item.etag.clone();
        while let Err(halt) = outcome {
            if self.is_superseded(&run, &halt) && etag != change.item.etag {
                return Ok(false);
            }
            self.pause_before_retry(&mut run, halt).await?;
            outcome = match self.read_again(change, ledger).await {
                Ok(None) if if_gone == MissingItem::Project => {
                    self.attempt(change, None, &mut run, None, checkpoints, ledger).await
                }
                Ok(None) => Ok(()),
                Ok(Some(present)) => {
                    // A saved state is valid for one version only.
                    if present.item.etag != etag {
                        etag = present.item.etag.clone();
                        run.state = Value::Null;
                    }
                    self.attempt(&present, None, &mut run, None, checkpoints, ledger).await
                }
                Err(fault) => Err(fault.into()),
            };
        }
        Ok(etag == change.item.etag)
    }

    /// Whether a change that lost all its races need not be projected if its item has changed since: losing races is
    /// contention and no defect, and the feed has a change of the newer version behind this one.
    fn is_superseded(&self, run: &RetryState, halt: &AttemptError) -> bool {
        matches!(halt, AttemptError::Stale(_)) && run.stale >= self.context.settings.stale_attempts_max
    }

    /// Counts the failure and waits, or returns an error after the last attempt.
    async fn pause_before_retry(&self, run: &mut RetryState, halt: AttemptError) -> Result<(), ChangeError> {
        let settings = &self.context.settings;
        let attempts = run.faults + run.stale + 1;
        let (go_on, error) = match halt {
            AttemptError::Page(error) => return Err(ChangeError::Page(error)),
            AttemptError::Refused(error) => return Err(ChangeError::Change { attempts, error }),
            AttemptError::Stale(reason) => {
                run.stale += 1;
                self.read_cache.invalidate();
                if run.stale > settings.stale_attempts_max {
                    let error = format!("what was read kept changing: {reason}");
                    return Err(ChangeError::Change { attempts, error });
                }
                (self.context.pause(settings.stale_backoff.delay(run.stale - 1)).await, None)
            }
            // Every change would fail, and there is no room for dead letters either.
            AttemptError::Fault(fault) if fault.kind == FaultKind::Full => {
                return Err(ChangeError::Page(fault.into()));
            }
            AttemptError::Fault(fault) => {
                run.faults += 1;
                if run.faults > settings.fault_attempts_max {
                    return Err(ChangeError::Change { attempts, error: fault.to_string() });
                }
                (self.context.pause_after_fault(run.faults - 1, &fault).await, Some(fault))
            }
        };
        if let Some(fault) = error {
            self.counters.record_error(&fault.to_string());
        }
        if go_on { Ok(()) } else { Err(ChangeError::Page(PageError::Stopping)) }
    }

    /// The present version of the changed item. The feed promises the latest version only, so a newer one serves as
    /// well, and an item that is gone has no changes.
    pub(super) async fn read_again(&self, change: &Change, ledger: &Ledger) -> Result<Option<Change>, Fault> {
        let source = self.projection.source();
        let item = self.context.store.read(source, &change.partition_key, &change.id, ledger).await?;
        Ok(item.map(|item| Change {
            partition_key: change.partition_key.clone(),
            id: change.id.clone(),
            item,
        }))
    }

    /// One run, from the last saved state to the end.
    async fn attempt(
        &self,
        change: &Change,
        first: Option<Step>,
        run: &mut RetryState,
        shared: Option<&PageCache>,
        checkpoints: ChangeCheckpoints<'_>,
        ledger: &Ledger,
    ) -> Result<(), AttemptError> {
        let may_be_projected = first.is_none() || checkpoints.is_rebuild();
        let mut step = match first {
            Some(step) => step,
            None => self
                .projection
                .step(change, StepInput { state: &run.state, results: &[], may_be_projected })?,
        };
        let mut steps = 0;
        loop {
            if checkpoints.are_lost() {
                return Err(AttemptError::Page(PageError::LeaseLost));
            }
            let yields = step.yields && run.stale >= self.context.settings.yielding_attempts_max;
            let cache_write = step.invalidates_cache.then(|| self.read_cache.begin_write());
            let etags = self.write_all(step.writes, yields, ledger).await?;
            if let (Some(cache_write), Some(update), Some(etags)) = (cache_write, step.cache_update, etags)
                && let Some(page) = (update.page)(&etags)
            {
                cache_write.end(update.name, update.of, ReadResult::Page(Arc::new(page)));
            }
            let NextAction::Ask { reads, state, checkpointed } = step.then else { return Ok(()) };
            if checkpointed {
                checkpoints
                    .save(&self.context, change, &state, ledger)
                    .await
                    .map_err(|error| AttemptError::Page(error.into()))?;
                *run = RetryState { state: state.clone(), faults: 0, stale: 0 };
                steps = 0;
                if self.context.stop.is_cancelled() {
                    return Err(AttemptError::Page(PageError::Stopping));
                }
            }
            steps += 1;
            if steps > STEPS_MAX {
                return Err(AttemptError::Refused(format!("no end after {STEPS_MAX} steps")));
            }
            let results = self.read_all(&reads, shared, ledger).await?;
            step = self
                .projection
                .step(change, StepInput { state: &state, results: &results, may_be_projected })?;
        }
    }

    /// Writes, and returns the ETags if all was written in one batch.
    async fn write_all(
        &self,
        writes: Vec<IntendedWrite>,
        yields: bool,
        ledger: &Ledger,
    ) -> Result<Option<Vec<Option<ETag>>>, AttemptError> {
        // A batch that is rejected for one item leaves the others unwritten, although no other process changed them.
        let may_lose: Vec<bool> = writes.iter().map(|write| yields && write.operations.len() == 1).collect();
        let mut outcomes = Vec::with_capacity(writes.len());
        let mut waiting = writes.into_iter();
        while waiting.len() > 0 {
            // Collected first: a lazy stream over borrowing closures cannot move between threads.
            let together: Vec<_> = waiting
                .by_ref()
                .take(self.context.settings.concurrent_operations_max.max(1))
                .map(|write| self.write(write, ledger))
                .collect();
            outcomes.extend(join_all(together).await);
        }
        // A refusal is looked at last: a fault among the others has to be retried first.
        let (mut stale, mut etags) = (None, Vec::new());
        for (outcome, may_lose) in outcomes.into_iter().zip(may_lose) {
            match outcome.map_err(AttemptError::from) {
                Ok(written) => etags.push(written),
                Err(AttemptError::Stale(_)) if may_lose => {}
                Err(AttemptError::Stale(reason)) => stale = Some(reason),
                Err(halt) => return Err(halt),
            }
        }
        match stale {
            Some(reason) => Err(AttemptError::Stale(reason)),
            None => Ok(if etags.len() == 1 { etags.pop() } else { None }),
        }
    }

    async fn write(&self, write: IntendedWrite, ledger: &Ledger) -> Result<Vec<Option<ETag>>, WriteError> {
        let IntendedWrite { container, partition_key, mut operations } = write;
        if operations.len() > 1 {
            return self.context.store.batch(Batch { container, partition_key, operations }, ledger).await;
        }
        match operations.pop() {
            Some(operation) => {
                let etag = self.context.store.write(container, &partition_key, operation, ledger).await?;
                Ok(vec![etag])
            }
            None => Ok(Vec::new()),
        }
    }

    async fn read_all(
        &self,
        reads: &[ReadRequest],
        shared: Option<&PageCache>,
        ledger: &Ledger,
    ) -> Result<Vec<ReadResult>, Fault> {
        let mut results = Vec::with_capacity(reads.len());
        for chunk in reads.chunks(self.context.settings.concurrent_operations_max.max(1)) {
            let together: Vec<_> = chunk.iter().map(|read| self.read(read, shared, ledger)).collect();
            results.extend(try_join_all(together).await?);
        }
        Ok(results)
    }

    /// Reads from a cache where that is allowed, otherwise from the store.
    async fn read(
        &self,
        read: &ReadRequest,
        shared: Option<&PageCache>,
        ledger: &Ledger,
    ) -> Result<ReadResult, Fault> {
        if let Some(answer) = self.cached(read, shared) {
            return Ok(answer);
        }
        let begun = self.read_cache.begin();
        let answer = read.execute(&*self.context.store, ledger).await?;
        if let ReadRequest::Cached { name, of } = read {
            self.read_cache.keep(begun, name, of, answer.clone());
        }
        Ok(answer)
    }

    /// The cached result.
    pub(super) fn cached(&self, read: &ReadRequest, shared: Option<&PageCache>) -> Option<ReadResult> {
        match read {
            ReadRequest::Cached { name, of } => self.read_cache.get(name, of),
            read => shared?.get(read),
        }
    }
}
