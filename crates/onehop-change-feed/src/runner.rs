//! Runner: runs one change through its projection (steps, reads, writes), and retries after a failure. A
//! poison message ends the change, and a fault of the store the page.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{join_all, try_join_all};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::change_checkpoints::ChangeCheckpoints;
use super::context::ProcessorContext;
use super::counters::ProjectionCounters;
use super::dead_letters::DeadLetterQueue;
use super::effect::{HandlerError, StepEffect};
use super::page_cache::PageCache;
use super::page_error::PageError;
use super::poison::Poison;
use super::projection::{IntendedWrite, NextAction, Projection, ProjectionError, Step, StepInput};
use super::read_cache::ReadCache;
use super::recent_changes::RecentChanges;
use super::refusals::Refusals;
use super::request::{ReadRequest, ReadResult};
use super::stalls::Stalls;
use super::turn::PartitionTurn;
use onehop_runtime::planted;
use onehop_store::{
    Batch, Change, ETag, Fault, FaultKind, Ledger, QueryPage, Rejection, WriteError, WriteOp,
};

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
    pub(super) stalls: Stalls,
    /// One permit for each logical partition that may be worked on at the same time, by all readers together.
    pub(super) partition_permits: Semaphore,
}

/// The context of running a change: the shared reads of its page, the place for its state, and the payer of
/// its operations.
#[derive(Clone, Copy)]
pub(super) struct RunContext<'a> {
    pub(super) shared: &'a PageCache,
    pub(super) checkpoints: ChangeCheckpoints<'a>,
    pub(super) ledger: &'a Ledger,
}

/// The error of a change that was not projected.
#[derive(Debug)]
pub(super) enum ChangeError {
    /// The change becomes a dead letter.
    Poison { attempts: u32, poison: Poison },
    /// The page cannot go on.
    Page(PageError),
}

/// The error of one attempt to project a change.
enum AttemptError {
    Stale(Rejection),
    /// A fault of the store.
    Fault(Fault),
    /// A handler asks for another call.
    Effect {
        message: String,
        after: Option<Duration>,
    },
    Poison(Poison),
    Page(PageError),
}

impl From<HandlerError> for AttemptError {
    fn from(error: HandlerError) -> Self {
        match error {
            HandlerError::Retry { message, after } => Self::Effect { message, after },
            HandlerError::Park { message } => Self::Poison(Poison::given_up_by_handler(message)),
        }
    }
}

impl From<ProjectionError> for AttemptError {
    fn from(error: ProjectionError) -> Self {
        Self::Poison(error.into())
    }
}

impl From<Fault> for AttemptError {
    fn from(fault: Fault) -> Self {
        Poison::of_fault(fault).map_or_else(Self::Fault, Self::Poison)
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
                reason => Self::Poison(Poison::refused_write(&reason)),
            },
        }
    }
}

/// The handling of a change whose item is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingItem {
    /// It is skipped: an item that is gone has no changes.
    Skip,
    /// It is projected: its item has expired, and this was its last version.
    Project,
}

/// The retry state of a change: where to resume, and the failed attempts since the last progress.
#[derive(Default)]
struct RetryState {
    state: Value,
    faults: u32,
    refusals: Refusals,
}

impl Runner {
    /// Projects a change, from `first` if its first step is known already. Runs it again where that can help.
    /// Returns whether this version of the item was projected, and not a newer one in its place.
    pub(super) async fn run_change(
        &self,
        change: &Change,
        first: Option<Step>,
        context: RunContext<'_>,
        turn: &mut PartitionTurn<'_>,
    ) -> Result<bool, ChangeError> {
        self.run(change, first, MissingItem::Skip, context, turn).await
    }

    /// Projects the last version of an item that has expired.
    pub(super) async fn run_expired(
        &self,
        change: &Change,
        context: RunContext<'_>,
        turn: &mut PartitionTurn<'_>,
    ) -> Result<bool, ChangeError> {
        self.run(change, None, MissingItem::Project, context, turn).await
    }

    async fn run(
        &self,
        change: &Change,
        first: Option<Step>,
        if_gone: MissingItem,
        context: RunContext<'_>,
        turn: &mut PartitionTurn<'_>,
    ) -> Result<bool, ChangeError> {
        let mut run = RetryState { state: context.checkpoints.get(change).await, ..RetryState::default() };
        let mut outcome = self.attempt(change, first, &mut run, Some(context.shared), context).await;
        let mut etag = change.item.etag.clone();
        while let Err(halt) = outcome {
            if self.is_superseded(&run, &halt) && etag != change.item.etag {
                return Ok(false);
            }
            self.pause_before_retry(&mut run, halt, turn).await?;
            outcome = match self.read_again(change, context.ledger).await {
                Ok(None) if if_gone == MissingItem::Project => {
                    self.attempt(change, None, &mut run, None, context).await
                }
                Ok(None) => Ok(()),
                Ok(Some(present)) => {
                    // A saved state is valid for one version only.
                    if present.item.etag != etag {
                        etag = present.item.etag.clone();
                        run.state = Value::Null;
                    }
                    self.attempt(&present, None, &mut run, None, context).await
                }
                Err(fault) => Err(fault.into()),
            };
        }
        Ok(etag == change.item.etag)
    }

    /// Whether a change that lost all its races need not be projected if its item has changed since: losing
    /// races is contention and no defect, and the feed has a change of the newer version behind it.
    fn is_superseded(&self, run: &RetryState, halt: &AttemptError) -> bool {
        matches!(halt, AttemptError::Stale(_))
            && run.refusals.count >= self.context.settings.stale_attempts_max
    }

    /// Counts the failure and waits, or returns an error after the last attempt. Faults of the store and lost
    /// races fail the page, which is tried again without end; only a poison message ends the change. A write
    /// that is refused although nothing changes is one.
    async fn pause_before_retry(
        &self,
        run: &mut RetryState,
        halt: AttemptError,
        turn: &mut PartitionTurn<'_>,
    ) -> Result<(), ChangeError> {
        let settings = &self.context.settings;
        let goes_on = match halt {
            AttemptError::Page(error) => return Err(ChangeError::Page(error)),
            AttemptError::Poison(poison) => {
                let attempts = run.faults + run.refusals.count + 1;
                return Err(ChangeError::Poison { attempts, poison });
            }
            AttemptError::Stale(reason) => {
                run.refusals.record();
                self.read_cache.invalidate();
                let attempts = run.refusals.count;
                if attempts > settings.stale_attempts_max && run.refusals.are_lost_races() {
                    return Err(ChangeError::Page(PageError::Contended(reason)));
                } else if attempts > settings.stale_attempts_max {
                    let poison = Poison::refused_without_race(&reason);
                    return Err(ChangeError::Poison { attempts: run.faults + attempts, poison });
                }
                self.context.pause(settings.stale_backoff.delay(attempts - 1)).await
            }
            AttemptError::Effect { message, after } => {
                run.faults += 1;
                self.counters.record_error(&message);
                if run.faults > settings.fault_attempts_max {
                    return Err(ChangeError::Page(PageError::Handler { message, after }));
                }
                let backoff = settings.fault_backoff.delay(run.faults - 1);
                turn.pause_for(self.context.pause(after.unwrap_or(backoff).max(backoff))).await
            }
            AttemptError::Fault(fault)
                if planted!("parking-on-throttling") && fault.kind == FaultKind::Throttled =>
            {
                let poison = Poison::refused_write(&Rejection::PreconditionFailed);
                return Err(ChangeError::Poison { attempts: run.faults + 1, poison });
            }
            AttemptError::Fault(fault) => {
                run.faults += 1;
                self.counters.record_error(&fault.to_string());
                // These last: an operator has to act first.
                let lasts = matches!(fault.kind, FaultKind::Full | FaultKind::Misconfigured);
                if lasts || run.faults > settings.fault_attempts_max {
                    return Err(ChangeError::Page(fault.into()));
                }
                turn.pause_for(self.context.pause_after_fault(run.faults - 1, &fault)).await
            }
        };
        if goes_on { Ok(()) } else { Err(ChangeError::Page(PageError::Stopping)) }
    }

    /// The present version of the changed item. The feed promises the latest version only, so a newer one
    /// serves as well, and an item that is gone has no changes.
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
        RunContext { checkpoints, ledger, .. }: RunContext<'_>,
    ) -> Result<(), AttemptError> {
        run.refusals.begin_attempt(&change.item.etag);
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
            let yields = step.yields && run.refusals.count >= self.context.settings.yielding_attempts_max;
            let cache_write = step.invalidates_cache.then(|| self.read_cache.begin_write());
            let etags = self.write_all(step.writes, yields, ledger).await?;
            if let (Some(cache_write), Some(update), Some(etags)) = (cache_write, step.cache_update, etags)
                && let Some(page) = (update.page)(&etags)
            {
                cache_write.end(update.name, update.of, ReadResult::Page(Arc::new(page)));
            }
            if let Some(StepEffect(call)) = step.effect {
                call(self.context.stop.clone()).await?;
            }
            let NextAction::Ask { reads, state, checkpointed } = step.then else { return Ok(()) };
            if checkpointed {
                checkpoints
                    .save(&self.context, change, &state, ledger)
                    .await
                    .map_err(|error| AttemptError::Page(error.into()))?;
                *run = RetryState { state: state.clone(), ..RetryState::default() };
                steps = 0;
                if self.context.stop.is_cancelled() {
                    return Err(AttemptError::Page(PageError::Stopping));
                }
            }
            steps += 1;
            if steps > STEPS_MAX {
                return Err(AttemptError::Poison(Poison::too_many_steps(STEPS_MAX)));
            }
            let results = self.read_all(&reads, shared, ledger).await?;
            run.refusals.note_reads(&results);
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
        // A batch that is rejected for one item leaves the others unwritten, although no other process
        // changed them.
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
        if planted!("copies-without-if-match") {
            operations = operations.into_iter().map(WriteOp::without_if_match).collect();
        }
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
        let (last, first): (Vec<_>, Vec<_>) = (0..reads.len()).partition(|place| reads[*place].is_last());
        let mut results = Vec::with_capacity(reads.len());
        let concurrent_max = self.context.settings.concurrent_operations_max.max(1);
        for chunk in first.chunks(concurrent_max).chain(last.chunks(concurrent_max)) {
            let together = chunk.iter().map(|place| self.read(&reads[*place], shared, ledger));
            results.extend(chunk.iter().copied().zip(try_join_all(together).await?));
        }
        results.sort_unstable_by_key(|(place, _)| *place);
        Ok(results.into_iter().map(|(_, result)| result).collect())
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
        let ReadRequest::Cached { name, of, is_guarded } = read else {
            return read.execute(&*self.context.store, ledger).await;
        };
        let begun = self.read_cache.begin();
        if *is_guarded
            && let Some(page) = self.read_cache.unconfirmed(name, of, self.context.clock.monotonic_ms())
            && self.is_last_unchanged(of, &page, ledger).await?
        {
            self.read_cache.confirm(begun, name);
            return Ok(ReadResult::Page(page));
        }
        let read_at_ms = self.context.clock.monotonic_ms();
        let answer = of.execute(&*self.context.store, ledger).await?;
        self.read_cache.keep(begun, name, of, answer.clone(), read_at_ms);
        Ok(answer)
    }

    /// Whether the last item of a guarded page is as it was.
    async fn is_last_unchanged(
        &self,
        read: &ReadRequest,
        page: &QueryPage,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let Some((read, etag)) = read.read_of_last(page)? else { return Ok(false) };
        if planted!("guarded-page-unconfirmed") {
            return Ok(true);
        }
        let present = read.execute(&*self.context.store, ledger).await?;
        Ok(matches!(present, ReadResult::Item(Some(item)) if item.etag == etag))
    }

    /// The cached result.
    pub(super) fn cached(&self, read: &ReadRequest, shared: Option<&PageCache>) -> Option<ReadResult> {
        match read {
            ReadRequest::Cached { name, of, .. } => self.read_cache.get(name, of),
            read => shared?.get(read),
        }
    }
}
