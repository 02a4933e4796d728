//! What a projection is: a pure function from a change, and the answers to what it asked to read, to intended
//! writes. It does no I/O and keeps no state; the processor reads, writes, retries and parks for it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::request::{Answer, ReadRequest};
use onehop_store::{Change, ContainerName, Fault, Item, PartitionKey, QueryPage, ShapeError, WriteOp};

/// Keeps one read model current.
///
/// The same change may arrive more than once, late, and at the same time as a newer one (a rebuild runs beside the
/// live readers), so a projection compares versions and writes with If-Match. A write that is refused because of
/// what the projection read (a failed precondition, a conflict, an item that is gone) makes the processor read
/// the change again from its container and run it anew from its last saved note.
pub trait Projection: Send + Sync + 'static {
    /// The name under which leases and dead letters are kept; it never changes.
    fn name(&self) -> &'static str;

    /// The container whose change feed it follows.
    fn source(&self) -> ContainerName;

    /// The types of items it wants to see; `None` for all.
    fn types(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// The containers to which it writes what other projections are to follow: who waits for the read models waits
    /// for those, too. None of them may lead back to its source.
    fn feeds(&self) -> &'static [ContainerName] {
        &[]
    }

    /// How many logical partitions may be worked on at the same time by all readers of this process together, where
    /// that is fewer than the processor's own bound: 1 for a projection whose changes all write to one logical partition.
    fn concurrent_partitions_max(&self) -> usize {
        usize::MAX
    }

    /// Puts a page into the order in which it is best worked on. Changes of one logical partition have to keep
    /// their order among themselves.
    fn arrange(&self, _changes: &mut Vec<Change>) {}

    /// The next step for a change. The first turn has no answers and an empty note, or the note last saved.
    ///
    /// # Errors
    /// A change that cannot be projected; it is parked with the error.
    fn step(&self, change: &Change, turn: Turn<'_>) -> Result<Step, ProjectionError>;
}

/// What a projection knows at a step, beside the change.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// The note that the step before left; null at the first turn.
    pub note: &'a Value,
    /// The answers to the reads of the step before, in their order.
    pub answers: &'a [Answer],
}

impl<'a> Turn<'a> {
    /// A first turn.
    #[must_use]
    pub fn first() -> Self {
        Self { note: &Value::Null, answers: &[] }
    }

    /// Whether nothing was asked yet.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.note.is_null() && self.answers.is_empty()
    }

    /// The note as `T`; `None` when there is none.
    ///
    /// # Errors
    /// The note is not a `T`.
    pub fn note<T: DeserializeOwned>(&self) -> Result<Option<T>, ProjectionError> {
        if self.note.is_null() {
            return Ok(None);
        }
        T::deserialize(self.note)
            .map(Some)
            .map_err(|error| ProjectionError::new("a note of another shape", ShapeError::from(error)))
    }

    /// The answer at this position, which was asked for with a point read.
    ///
    /// # Errors
    /// Something else was asked there.
    pub fn item(&self, position: usize) -> Result<Option<&'a Arc<Item>>, ProjectionError> {
        match self.answers.get(position) {
            Some(Answer::Item(item)) => Ok(item.as_ref()),
            _ => Err(ProjectionError::text(format!("no point read was asked at position {position}"))),
        }
    }

    /// The answer at this position, which was asked for with a query.
    ///
    /// # Errors
    /// Something else was asked there.
    pub fn page(&self, position: usize) -> Result<&'a QueryPage, ProjectionError> {
        match self.answers.get(position) {
            Some(Answer::Page(page)) => Ok(page),
            _ => Err(ProjectionError::text(format!("no query was asked at position {position}"))),
        }
    }
}

/// What a projection wants next: first the writes, then either the end or the reads that its next turn answers.
#[derive(Debug, Default)]
#[must_use]
pub struct Step {
    pub(super) writes: Vec<IntendedWrite>,
    pub(super) forgets_memos: bool,
    pub(super) yields: bool,
    pub(super) then: Then,
}

#[derive(Debug, Default)]
pub(super) enum Then {
    #[default]
    Done,
    Ask {
        reads: Vec<ReadRequest>,
        note: Value,
        saved: bool,
    },
}

impl Step {
    /// Nothing more to do.
    pub fn done() -> Self {
        Self::default()
    }

    /// Reads, and then another turn with the answers.
    pub fn ask(reads: Vec<ReadRequest>) -> Self {
        Self { then: Then::Ask { reads, note: Value::Null, saved: false }, ..Self::default() }
    }

    /// Adds writes that happen before anything else of this step; those of different logical partitions happen at
    /// the same time and in any order.
    pub fn after_writing(mut self, writes: Vec<IntendedWrite>) -> Self {
        self.writes = writes;
        self
    }

    /// Hands a note to the next turn. Without a next turn it is dropped.
    ///
    /// # Panics
    /// When the note has keys that are not text.
    pub fn with_note<T: Serialize>(mut self, value: &T) -> Self {
        if let Then::Ask { note, .. } = &mut self.then {
            *note = serde_json::to_value(value).expect("a note is a plain struct with string keys");
        }
        self
    }

    /// Keeps the note in the lease once the writes are done, so that a long change goes on from here after a crash.
    /// A later run of this change begins with the note and no answers.
    pub fn save_note(mut self) -> Self {
        if let Then::Ask { saved, .. } = &mut self.then {
            *saved = true;
        }
        self
    }

    /// Says that the writes change what this projection's memos say.
    pub fn forget_memos(mut self) -> Self {
        self.forgets_memos = true;
        self
    }

    /// Lets the writes of this step lose for good. Each of them is conditional, and whoever wins has made a change that a
    /// projection follows which compares the same again, so a write that keeps losing is left to that change. Batches of
    /// several operations do not yield.
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
            Then::Done => &[],
            Then::Ask { reads, .. } => reads,
        }
    }

    /// The note for the next turn; null at the end.
    #[must_use]
    pub fn note(&self) -> &Value {
        match &self.then {
            Then::Done => &Value::Null,
            Then::Ask { note, .. } => note,
        }
    }

    /// Whether no turn follows.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self.then, Then::Done)
    }
}

/// Writes in one logical partition that happen together or not at all: one operation is a write, several are a
/// transactional batch (at most [`onehop_store::limits::BATCH_OPERATIONS_MAX`]).
#[derive(Debug, Clone)]
pub struct IntendedWrite {
    pub container: ContainerName,
    pub partition_key: PartitionKey,
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

impl From<serde_json::Error> for ProjectionError {
    fn from(error: serde_json::Error) -> Self {
        Self::new("the item has an unexpected shape", ShapeError::from(error))
    }
}
