//! Projection: a pure function from a change, and the results of the reads it requested, to intended writes.
//! It does no I/O and keeps no state; the processor reads, writes, retries and stores dead letters for it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::effect::{HandlerError, StepEffect};
use super::request::{ReadRequest, ReadResult};
use onehop_store::{
    Change, ContainerName, ETag, EncodeError, Fault, Item, PartitionKey, QueryPage, ShapeError, WriteOp,
};

/// A projection: keeps one read model current.
///
/// The same change may arrive more than once, late, and at the same time as a newer one (a rebuild runs
/// beside the live readers), so a projection compares versions and writes with If-Match. A write that is
/// refused because of stale reads (a failed precondition, a conflict, an item that is gone) makes the
/// processor read the change again from its container and run it anew from its last checkpointed state.
pub trait Projection: Send + Sync + 'static {
    /// The name under which leases and dead letters are kept; it never changes.
    fn name(&self) -> &'static str;

    /// The container whose change feed it follows.
    fn source(&self) -> ContainerName;

    /// The types of items it wants to see; `None` for all.
    fn types(&self) -> Option<&[&'static str]> {
        None
    }

    /// Whether it has to see the changes written before it was added to the projections of its source
    /// container. If it has, a backfill brings it that, in the order of the feed and as background work; the
    /// other projections go on meanwhile. Otherwise it begins at the checkpoint. While the container has no
    /// lease, [`Settings::start`](crate::Settings::start) decides.
    fn needs_history(&self) -> bool {
        true
    }

    /// The containers to which it writes and which other projections follow: a wait for the read models
    /// includes those projections, too. None of them may lead back to its source.
    fn feeds(&self) -> &[ContainerName] {
        &[]
    }

    /// The container from which it deletes items, if any, so that readers look there again after a while: a
    /// change feed of latest versions shows no deletion. It names no container where each deletion follows
    /// another write to the same logical partition that readers see.
    fn deletes_from(&self) -> Option<ContainerName> {
        None
    }

    /// Concurrency limit of logical partitions for all readers of this process together, where it is less
    /// than the processor's own: 1 for a projection whose changes all write to one logical partition.
    fn concurrent_partitions_max(&self) -> usize {
        usize::MAX
    }

    /// The fields of a changed item to which this projection reacts. A change that directly follows a
    /// projected change, and in which they are the same, is not projected: it costs no operation. `None`
    /// where every change is projected.
    ///
    /// Only a projection may have them whose writes are all compared again by another one, and whose source
    /// increases its version by one with each change of an item.
    fn waking_fields(&self, _change: &Change) -> Option<WakingFields> {
        None
    }

    /// Whether its steps have effects outside of the store, so that no rebuild repeats them; see
    /// [`Handler`](crate::Handler).
    fn has_effects(&self) -> bool {
        false
    }

    /// Puts a page into the order in which it is best worked on. Changes of one logical partition have to
    /// keep their order among themselves.
    fn arrange(&self, _changes: &mut Vec<Change>) {}

    /// The next step for a change. The first input has no results and an empty state, or the state last
    /// checkpointed.
    ///
    /// # Errors
    /// A change that cannot be projected (a poison message); it becomes a dead letter with the error.
    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError>;
}

/// The fields of an item to which a projection reacts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WakingFields {
    /// The version of the item.
    pub version: u64,
    /// The values of the fields, encoded in any way.
    pub values: Vec<u8>,
}

/// The input of a step, beside the change: the state and the read results.
#[derive(Debug, Clone, Copy)]
pub struct StepInput<'a> {
    /// The state that the step before left; null at the first step.
    pub state: &'a Value,
    /// The results to the reads of the step before, in their order.
    pub results: &'a [ReadResult],
    /// Whether the change may have been projected before, as far as this process knows: it is run again, or
    /// by a rebuild. The feed may repeat any other change, too, but seldom does.
    pub may_be_projected: bool,
}

impl<'a> StepInput<'a> {
    /// The input of the first step.
    #[must_use]
    pub fn first() -> Self {
        Self { state: &Value::Null, results: &[], may_be_projected: false }
    }

    /// Whether this is the first step.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.state.is_null() && self.results.is_empty()
    }

    /// The state as `T`; `None` without a state.
    ///
    /// # Errors
    /// The state is not a `T`.
    pub fn state<T: DeserializeOwned>(&self) -> Result<Option<T>, ProjectionError> {
        if self.state.is_null() {
            return Ok(None);
        }
        T::deserialize(self.state)
            .map(Some)
            .map_err(|error| ProjectionError::new("a state of another shape", ShapeError::from(error)))
    }

    /// The read result at this position, requested with a point read.
    ///
    /// # Errors
    /// Another read was requested there.
    pub fn item(&self, position: usize) -> Result<Option<&'a Arc<Item>>, ProjectionError> {
        match self.results.get(position) {
            Some(ReadResult::Item(item)) => Ok(item.as_ref()),
            _ => Err(ProjectionError::text(format!("no point read was requested at position {position}"))),
        }
    }

    /// The read result at this position, requested with a query.
    ///
    /// # Errors
    /// Another read was requested there.
    pub fn page(&self, position: usize) -> Result<&'a Arc<QueryPage>, ProjectionError> {
        match self.results.get(position) {
            Some(ReadResult::Page(page)) => Ok(page),
            _ => Err(ProjectionError::text(format!("no query was requested at position {position}"))),
        }
    }
}

/// The output of a step: writes, and then either the end or reads, whose results the next step receives.
#[derive(Debug, Default)]
#[must_use]
pub struct Step {
    pub(super) writes: Vec<IntendedWrite>,
    pub(super) invalidates_cache: bool,
    pub(super) cache_update: Option<CacheUpdate>,
    pub(super) yields: bool,
    pub(super) is_in_turn: bool,
    pub(super) effect: Option<StepEffect>,
    pub(super) then: NextAction,
}

#[derive(Debug, Default)]
pub(super) enum NextAction {
    #[default]
    Done,
    Ask {
        reads: Vec<ReadRequest>,
        state: Value,
        checkpointed: bool,
    },
}

impl Step {
    /// Nothing more to do.
    pub fn done() -> Self {
        Self::default()
    }

    /// Reads, and then another step with the results.
    pub fn ask(reads: Vec<ReadRequest>) -> Self {
        Self { then: NextAction::Ask { reads, state: Value::Null, checkpointed: false }, ..Self::default() }
    }

    /// Adds writes that happen before anything else of this step; writes to different logical partitions
    /// happen at the same time and in any order.
    pub fn after_writing(mut self, writes: Vec<IntendedWrite>) -> Self {
        self.writes = writes;
        self
    }

    /// Hands a state to the next step. Without a next step it is dropped.
    ///
    /// # Errors
    /// The state has no JSON: a map whose keys are no texts, or a `Serialize` of its own that fails.
    pub fn try_with_state<T: Serialize>(mut self, value: &T) -> Result<Self, ProjectionError> {
        if let NextAction::Ask { state, .. } = &mut self.then {
            *state = serde_json::to_value(value)
                .map_err(|error| ProjectionError::new("a state cannot be written as JSON", error))?;
        }
        Ok(self)
    }

    /// The same for a state that has JSON by its type, as a struct of texts, numbers and lists has: a
    /// convenience.
    ///
    /// # Panics
    /// Where [`try_with_state`](Self::try_with_state) returns an error.
    pub fn with_state<T: Serialize>(self, value: &T) -> Self {
        self.try_with_state(value).expect("a state is a plain struct with string keys")
    }

    /// Saves the state in the lease once the writes are done, so that a long change resumes here after a
    /// crash. A later run of this change begins with the state and without read results.
    pub fn checkpoint(mut self) -> Self {
        if let NextAction::Ask { checkpointed, .. } = &mut self.then {
            *checkpointed = true;
        }
        self
    }

    /// Invalidates the cached reads of this projection, because the writes change their results.
    pub fn invalidate_cache(mut self) -> Self {
        self.invalidates_cache = true;
        self
    }

    /// Takes the next step only in the turn of this change, after the earlier changes of the page have
    /// written: it writes by cached reads which their writes may change.
    pub fn in_turn(mut self) -> Self {
        self.is_in_turn = true;
        self
    }

    /// Adds an effect outside of the store.
    pub(super) fn with_effect(
        mut self,
        call: impl FnOnce(CancellationToken) -> BoxFuture<'static, Result<(), HandlerError>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.effect = Some(StepEffect(Box::new(call)));
        self
    }

    /// Caches the result that a read has after the writes of this step, in place of all cached reads of this
    /// projection. Only a step with one batch or one write does so, and only if it is not refused.
    pub fn update_cache(mut self, update: CacheUpdate) -> Self {
        self.cache_update = Some(update);
        self.invalidate_cache()
    }

    /// Lets the writes of this step lose for good. Each of them is conditional, and the winner has made a
    /// change that a projection follows which compares the same again, so a write that keeps losing is left
    /// to that change. Batches of several operations do not yield.
    pub fn yield_to_newer_changes(mut self) -> Self {
        self.yields = true;
        self
    }

    /// The writes.
    #[must_use]
    pub fn writes(&self) -> &[IntendedWrite] {
        &self.writes
    }

    /// The reads; empty at the end.
    #[must_use]
    pub fn reads(&self) -> &[ReadRequest] {
        match &self.then {
            NextAction::Done => &[],
            NextAction::Ask { reads, .. } => reads,
        }
    }

    /// The state for the next step; null at the end.
    #[must_use]
    pub fn state(&self) -> &Value {
        match &self.then {
            NextAction::Done => &Value::Null,
            NextAction::Ask { state, .. } => state,
        }
    }

    /// Whether no step follows.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self.then, NextAction::Done)
    }
}

/// The result of a cached query after a batch, computed from the `ETag`s of the writes of the batch (`None`
/// for a delete). `None` leaves the query uncached.
pub struct CacheUpdate {
    pub(super) name: &'static str,
    pub(super) of: ReadRequest,
    pub(super) page: Box<PageAfter>,
}

/// The page after a batch, from the `ETag`s of its writes.
type PageAfter = dyn FnOnce(&[Option<ETag>]) -> Option<QueryPage> + Send + Sync;

impl CacheUpdate {
    /// The page of the query that is cached under this name.
    #[must_use]
    pub fn new(
        name: &'static str,
        of: ReadRequest,
        page: impl FnOnce(&[Option<ETag>]) -> Option<QueryPage> + Send + Sync + 'static,
    ) -> Self {
        Self { name, of, page: Box::new(page) }
    }
}

impl fmt::Debug for CacheUpdate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CacheUpdate")
            .field("name", &self.name)
            .field("of", &self.of)
            .finish_non_exhaustive()
    }
}

/// Writes in one logical partition that happen together or not at all: one operation is a write, several are
/// a transactional batch (at most [`onehop_store::limits::BATCH_OPERATIONS_MAX`]).
#[derive(Debug, Clone)]
pub struct IntendedWrite {
    /// The container.
    pub container: ContainerName,
    /// The partition key.
    pub partition_key: PartitionKey,
    /// The operations, in order.
    pub operations: Vec<WriteOp>,
}

impl IntendedWrite {
    /// One write of one item.
    #[must_use]
    pub fn one(container: ContainerName, partition_key: PartitionKey, operation: WriteOp) -> Self {
        Self { container, partition_key, operations: vec![operation] }
    }
}

/// Why a change cannot be projected. The message is for the dead letter and the log.
#[derive(Debug)]
pub struct ProjectionError {
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl ProjectionError {
    /// An error with the one behind it.
    #[must_use]
    pub fn new(message: impl Into<String>, source: impl Error + Send + Sync + 'static) -> Self {
        Self { message: message.into(), source: Some(Box::new(source)) }
    }

    /// An error with nothing behind it.
    #[must_use]
    pub fn text(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }
}

impl fmt::Display for ProjectionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(formatter, "{}: {source}", self.message),
            None => formatter.write_str(&self.message),
        }
    }
}

impl Error for ProjectionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as &(dyn Error + 'static))
    }
}

impl From<Fault> for ProjectionError {
    fn from(fault: Fault) -> Self {
        Self::new("what was read cannot be used", fault)
    }
}

impl From<EncodeError> for ProjectionError {
    fn from(error: EncodeError) -> Self {
        Self::new("an intended write has no body", error)
    }
}

impl From<serde_json::Error> for ProjectionError {
    fn from(error: serde_json::Error) -> Self {
        Self::new("the item has an unexpected shape", ShapeError::from(error))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_state_that_has_no_json_is_an_error_and_no_panic() {
        let step = || Step::ask(Vec::new());
        let error = step().try_with_state(&BTreeMap::from([((1, 2), "a")])).expect_err("no JSON").to_string();
        assert!(error.starts_with("a state cannot be written as JSON: "), "{error}");
        let step = step().try_with_state(&BTreeMap::from([("a", 1)])).expect("a state");
        assert_eq!(step.state()["a"], 1);
    }
}
