//! Runs one change through its projection: steps, reads, writes, and what to do when one of them fails.

use std::sync::Arc;

use futures::future::{join_all, try_join_all};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::dead_letters::DeadLetters;
use super::host::Host;
use super::lease::LeaseError;
use super::memo::Memos;
use super::notes::Notes;
use super::projection::{IntendedWrite, Projection, ProjectionError, Step, Then, Turn};
use super::request::{Answer, ReadRequest};
use super::shared::SharedItems;
use super::status::Counters;
use onehop_store::{Batch, Change, Fault, FaultKind, Ledger, Rejection, WriteError};

/// Steps of one change between two saved notes; more are taken for a projection that does not come to an end.
pub(super) const STEPS_MAX: usize = 10_000;

/// One projection at work, in however many readers.
pub(super) struct Runner {
    pub(super) host: Arc<Host>,
    pub(super) projection: Arc<dyn Projection>,
    pub(super) memos: Memos,
    pub(super) dead_letters: DeadLetters,
    pub(super) counters: Counters,
    /// One permit for each logical partition that may be worked on at the same time, by all readers together. Readers
    /// that write to one logical partition would otherwise refuse each other, and the slowest of them would starve.
    pub(super) turns: Semaphore,
}

/// Why a change was not projected.
#[derive(Debug)]
pub(super) enum Failure {
    /// The change is to be parked.
    Change { attempts: u32, error: String },
    /// The page cannot go on.
    Page(PageError),
}

/// Why a page ended early. It is read again from the last checkpoint.
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

/// Why a run of a change came to a halt.
enum Halt {
    Stale(Rejection),
    Fault(Fault),
    Refused(String),
    Page(PageError),
}

impl From<ProjectionError> for Halt {
    fn from(error: ProjectionError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        if fault.kind.is_transient() { Self::Fault(fault) } else { Self::Refused(fault.to_string()) }
    }
}

impl From<WriteError> for Halt {
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

/// What becomes of a change whose item is not there when it is to be run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IfGone {
    /// Nothing: an item that is gone has no changes.
    Done,
    /// It is run as it is: its item has expired, and this was its last version.
    RunAsItIs,
}

/// A change in its runs: where to begin again, and how often it was tried since it last got on.
struct Run {
    note: Value,
    faults: u32,
    stale: u32,
}

impl Runner {
    /// Projects a change, from `first` if its first step is known already. Runs it again where that can help.
    pub(super) async fn run_change(
        &self,
        change: &Change,
        first: Option<Step>,
        shared: &SharedItems,
        notes: Notes<'_>,
        ledger: &Ledger,
    ) -> Result<(), Failure> {
        self.run(change, first, shared, notes, IfGone::Done, ledger).await
    }

    /// Projects the last version of an item that has expired.
    pub(super) async fn run_expired(
        &self,
        change: &Change,
        shared: &SharedItems,
        ledger: &Ledger,
    ) -> Result<(), Failure> {
        self.run(change, None, shared, Notes::Nowhere, IfGone::RunAsItIs, ledger).await
    }

    async fn run(
        &self,
        change: &Change,
        first: Option<Step>,
        shared: &SharedItems,
        notes: Notes<'_>,
        if_gone: IfGone,
        ledger: &Ledger,
    ) -> Result<(), Failure> {
        let mut run = Run { note: notes.get(change).await, faults: 0, stale: 0 };
        let mut outcome = self.attempt(change, first, &mut run, Some(shared), notes, ledger).await;
        let mut etag = change.item.etag.clone();
        while let Err(halt) = outcome {
            if self.is_superseded(&run, &halt) && etag != change.item.etag {
                return Ok(());
            }
            self.pause_before_retry(&mut run, halt).await?;
            outcome = match self.read_again(change, ledger).await {
                Ok(None) if if_gone == IfGone::RunAsItIs => {
                    self.attempt(change, None, &mut run, None, notes, ledger).await
                }
                Ok(None) => Ok(()),
                Ok(Some(present)) => {
                    // A note says nothing about another version.
                    if present.item.etag != etag {
                        etag = present.item.etag.clone();
                        run.note = Value::Null;
                    }
                    self.attempt(&present, None, &mut run, None, notes, ledger).await
                }
                Err(fault) => Err(fault.into()),
            };
        }
        Ok(())
    }

    /// Whether a change that lost all its races need not be projected if its item has changed since: losing races is
    /// contention and no defect, and the feed has a change of the newer version behind this one.
    fn is_superseded(&self, run: &Run, halt: &Halt) -> bool {
        matches!(halt, Halt::Stale(_)) && run.stale >= self.host.settings.stale_attempts_max
    }

    /// Counts the failure and waits; or says that this was one too many.
    async fn pause_before_retry(&self, run: &mut Run, halt: Halt) -> Result<(), Failure> {
        let settings = &self.host.settings;
        let attempts = run.faults + run.stale + 1;
        let (go_on, error) = match halt {
            Halt::Page(error) => return Err(Failure::Page(error)),
            Halt::Refused(error) => return Err(Failure::Change { attempts, error }),
            Halt::Stale(reason) => {
                run.stale += 1;
                self.memos.forget();
                if run.stale > settings.stale_attempts_max {
                    let error = format!("what was read kept changing: {reason}");
                    return Err(Failure::Change { attempts, error });
                }
                (self.host.pause(settings.stale_backoff.delay(run.stale - 1)).await, None)
            }
            // Every change would fail, and there is no room for dead letters either.
            Halt::Fault(fault) if fault.kind == FaultKind::Full => {
                return Err(Failure::Page(fault.into()));
            }
            Halt::Fault(fault) => {
                run.faults += 1;
                if run.faults > settings.fault_attempts_max {
                    return Err(Failure::Change { attempts, error: fault.to_string() });
                }
                (self.host.pause_after_fault(run.faults - 1, &fault).await, Some(fault))
            }
        };
        if let Some(fault) = error {
            self.counters.note_error(&fault.to_string());
        }
        if go_on { Ok(()) } else { Err(Failure::Page(PageError::Stopping)) }
    }

    /// The present version of the changed item. The feed promises the latest version only, so a newer one serves as
    /// well, and an item that is gone has no changes.
    pub(super) async fn read_again(&self, change: &Change, ledger: &Ledger) -> Result<Option<Change>, Fault> {
        let source = self.projection.source();
        let item = self.host.store.read(source, &change.partition_key, &change.id, ledger).await?;
        Ok(item.map(|item| Change {
            partition_key: change.partition_key.clone(),
            id: change.id.clone(),
            item,
        }))
    }

    /// One run, from the last saved note to the end.
    async fn attempt(
        &self,
        change: &Change,
        first: Option<Step>,
        run: &mut Run,
        shared: Option<&SharedItems>,
        notes: Notes<'_>,
        ledger: &Ledger,
    ) -> Result<(), Halt> {
        let mut step = match first {
            Some(step) => step,
            None => self.projection.step(change, Turn { note: &run.note, answers: &[] })?,
        };
        let mut steps = 0;
        loop {
            if notes.are_lost() {
                return Err(Halt::Page(PageError::LeaseLost));
            }
            let yields = step.yields && run.stale >= self.host.settings.yielding_attempts_max;
            self.write_all(step.writes, step.forgets_memos, yields, ledger).await?;
            let Then::Ask { reads, note, saved } = step.then else { return Ok(()) };
            if saved {
                notes
                    .save(&self.host, change, &note, ledger)
                    .await
                    .map_err(|error| Halt::Page(error.into()))?;
                *run = Run { note: note.clone(), faults: 0, stale: 0 };
                steps = 0;
                if self.host.stop.is_cancelled() {
                    return Err(Halt::Page(PageError::Stopping));
                }
            }
            steps += 1;
            if steps > STEPS_MAX {
                return Err(Halt::Refused(format!("no end after {STEPS_MAX} steps")));
            }
            let answers = self.read_all(&reads, shared, ledger).await?;
            step = self.projection.step(change, Turn { note: &note, answers: &answers })?;
        }
    }

    async fn write_all(
        &self,
        writes: Vec<IntendedWrite>,
        forgets_memos: bool,
        yields: bool,
        ledger: &Ledger,
    ) -> Result<(), Halt> {
        if writes.is_empty() {
            return Ok(());
        }
        let _guard = forgets_memos.then(|| self.memos.forget_around());
        // A batch that is refused for one item leaves the others unwritten, and nobody has changed those.
        let may_lose: Vec<bool> = writes.iter().map(|write| yields && write.operations.len() == 1).collect();
        let mut outcomes = Vec::with_capacity(writes.len());
        let mut waiting = writes.into_iter();
        while waiting.len() > 0 {
            // Collected first: a lazy stream over borrowing closures cannot move between threads.
            let together: Vec<_> = waiting
                .by_ref()
                .take(self.host.settings.concurrent_operations_max.max(1))
                .map(|write| self.write(write, ledger))
                .collect();
            outcomes.extend(join_all(together).await);
        }
        // A refusal is looked at last: a fault among the others has to be retried first.
        let mut stale = None;
        for (outcome, may_lose) in outcomes.into_iter().zip(may_lose) {
            match outcome.map_err(Halt::from) {
                Ok(()) => {}
                Err(Halt::Stale(_)) if may_lose => {}
                Err(Halt::Stale(reason)) => stale = Some(reason),
                Err(halt) => return Err(halt),
            }
        }
        stale.map_or(Ok(()), |reason| Err(Halt::Stale(reason)))
    }

    async fn write(&self, write: IntendedWrite, ledger: &Ledger) -> Result<(), WriteError> {
        let IntendedWrite { container, partition_key, mut operations } = write;
        if operations.len() > 1 {
            return self
                .host
                .store
                .batch(Batch { container, partition_key, operations }, ledger)
                .await
                .map(drop);
        }
        match operations.pop() {
            Some(operation) => {
                self.host.store.write(container, &partition_key, operation, ledger).await.map(drop)
            }
            None => Ok(()),
        }
    }

    async fn read_all(
        &self,
        reads: &[ReadRequest],
        shared: Option<&SharedItems>,
        ledger: &Ledger,
    ) -> Result<Vec<Answer>, Fault> {
        let mut answers = Vec::with_capacity(reads.len());
        for chunk in reads.chunks(self.host.settings.concurrent_operations_max.max(1)) {
            let together: Vec<_> = chunk.iter().map(|read| self.read(read, shared, ledger)).collect();
            answers.extend(try_join_all(together).await?);
        }
        Ok(answers)
    }

    /// Answers from memory where that is allowed, otherwise from the store.
    async fn read(
        &self,
        read: &ReadRequest,
        shared: Option<&SharedItems>,
        ledger: &Ledger,
    ) -> Result<Answer, Fault> {
        if let Some(answer) = self.remembered(read, shared) {
            return Ok(answer);
        }
        let begun = self.memos.begin();
        let answer = read.ask(&*self.host.store, ledger).await?;
        if let ReadRequest::Memo { name, of } = read {
            self.memos.keep(begun, name, of, answer.clone());
        }
        Ok(answer)
    }

    /// The answer, if it costs nothing.
    pub(super) fn remembered(&self, read: &ReadRequest, shared: Option<&SharedItems>) -> Option<Answer> {
        match read {
            ReadRequest::Memo { name, of } => self.memos.get(name, of),
            read => shared?.get(read),
        }
    }
}
