//! Errors of the store. A [`Rejection`] is an answer (the write was refused, and why); a [`Fault`] is a
//! failure to answer, with a kind that says whether trying again can help.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error as ThisError;

use super::{ContainerName, Continuation};

/// Why a write was refused. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum Rejection {
    /// A create met an item with the same id.
    #[error("an item with this id exists already")]
    Conflict,
    /// A replace or a delete found no item.
    #[error("there is no item with this id")]
    NotFound,
    /// The `If-Match` of a write names another version.
    #[error("the item has changed since it was read")]
    PreconditionFailed,
    /// The item or the batch is too large.
    #[error("{actual_bytes} bytes are more than the {limit_bytes} allowed")]
    TooLarge { limit_bytes: usize, actual_bytes: usize },
    /// The batch has too many operations.
    #[error("{actual} operations are more than the {limit} allowed in a batch")]
    TooManyOperations { limit: usize, actual: usize },
    /// The id has a refused length or character.
    #[error("an id must have 1 to 1023 bytes and none of / \\ ? #")]
    InvalidId,
    /// The body lacks the id or the partition key of the write.
    #[error("the item's body does not hold the id and the partition key it is written under")]
    KeyMismatch,
    /// The container has no soft-deleted items.
    #[error("the container has no soft-deleted items")]
    SoftDelete,
}

/// The kind of the failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The store is busy, starting or out of reach; the same request may succeed later.
    Unavailable,
    /// The request was refused for now because of its rate (429).
    Throttled,
    /// There is no room for writes, and nothing was written; reads go on. The same write may succeed after an
    /// operator has made room.
    Full,
    /// A logical partition holds as much as it can, and nothing was written. Reads, deletes and other logical
    /// partitions go on.
    PartitionFull,
    /// The account does not admit this process, or lacks a container: a credential, a role, a network rule.
    /// The same request may succeed after an operator has acted.
    Misconfigured,
    /// It is not known whether the write happened.
    Ambiguous,
    /// A continuation or a keyset is not one of this store.
    InvalidContinuation,
    /// The data read differs from the data written.
    Corrupt,
    /// Anything else: a defect here or in the store.
    Internal,
}

impl FaultKind {
    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Unavailable | Self::Throttled | Self::Full | Self::Ambiguous)
    }

    /// The kind in one word of snake_case, for metrics and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Throttled => "throttled",
            Self::Full => "full",
            Self::PartitionFull => "partition_full",
            Self::Misconfigured => "misconfigured",
            Self::Ambiguous => "ambiguous",
            Self::InvalidContinuation => "invalid_continuation",
            Self::Corrupt => "corrupt",
            Self::Internal => "internal",
        }
    }

    /// Whether the failure lies with the store and not with the request: other requests may fail in the same
    /// way, and this one may succeed once the store is well again, if need be after an operator has acted.
    #[must_use]
    pub fn is_of_the_store(self) -> bool {
        self.is_transient() || self == Self::Misconfigured
    }
}

/// The store's knowledge of unreadable data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Damage {
    /// Container, partition key and id.
    pub item: Option<(ContainerName, String, String)>,
    /// The files that may be damaged.
    pub files: Vec<PathBuf>,
    /// Where a change feed goes on behind it.
    pub beyond: Option<Continuation>,
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((container, partition_key, id)) = &self.item {
            write!(formatter, "; {container}, partition key {partition_key:?}, id {id:?}")?;
        }
        for (number, file) in self.files.iter().enumerate() {
            write!(formatter, "{} {}", if number == 0 { ", in" } else { " or" }, file.display())?;
        }
        Ok(())
    }
}

/// A failure to answer.
#[derive(Debug)]
pub struct Fault {
    /// The kind, which says whether a retry can help.
    pub kind: FaultKind,
    message: String,
    damage: Option<Box<Damage>>,
    /// The wait before the next try, where the store stated it.
    pub retry_after: Option<Duration>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Fault {
    /// The store was opened without this container.
    #[cfg(any(feature = "embedded", feature = "cosmos"))]
    pub(crate) fn no_container(name: ContainerName) -> Self {
        let message = format!("there is no container {name}: open the store with its specification");
        Self::new(FaultKind::Internal, message)
    }

    /// A fault of this kind; the message is for the log, never for a client.
    #[must_use]
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), damage: None, retry_after: None, source: None }
    }

    /// A fault like this one for another caller, without the error behind it.
    #[must_use]
    pub fn again(&self) -> Self {
        let message = self.to_string();
        Self { kind: self.kind, message, damage: None, retry_after: self.retry_after, source: None }
    }

    /// The store's knowledge of the unreadable data.
    #[must_use]
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_deref()
    }

    /// Names the unreadable item, if the fault is damage.
    #[must_use]
    pub fn of_item(self, container: ContainerName, partition_key: &str, id: &str) -> Self {
        self.with_damage(|damage| damage.item = Some((container, partition_key.to_owned(), id.to_owned())))
    }

    /// Names the unreadable files, if the fault is damage.
    #[must_use]
    pub fn in_files(self, files: impl FnOnce() -> Vec<PathBuf>) -> Self {
        self.with_damage(|damage| damage.files = files())
    }

    /// Adds the continuation behind the unreadable change, if the fault is damage.
    #[must_use]
    pub fn before(self, continuation: Continuation) -> Self {
        self.with_damage(|damage| damage.beyond = Some(continuation))
    }

    fn with_damage(mut self, add: impl FnOnce(&mut Damage)) -> Self {
        if self.kind == FaultKind::Corrupt {
            add(self.damage.get_or_insert_default());
        }
        self
    }

    /// Adds the error behind it.
    #[must_use]
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// Adds the delay after which the store wants to be asked again.
    #[must_use]
    pub fn with_retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.message)?;
        if let Some(damage) = &self.damage {
            write!(formatter, "{damage}")?;
        }
        match &self.source {
            Some(source) => write!(formatter, ": {source}"),
            None => Ok(()),
        }
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as &(dyn Error + 'static))
    }
}

/// A failure of a write.
#[derive(Debug, ThisError)]
pub enum WriteError {
    /// The operation at this position (0 for a single write) was refused, and with it all the others.
    #[error("operation {operation} was refused: {reason}")]
    Rejected { operation: usize, reason: Rejection },
    /// The store failed to answer; the message is the fault's.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl WriteError {
    /// The fault, unless the write was refused.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Fault(fault) => Some(fault),
            Self::Rejected { .. } => None,
        }
    }
}

impl WriteError {
    /// The refusal, if it was one.
    #[must_use]
    pub fn rejection(&self) -> Option<&Rejection> {
        match self {
            Self::Rejected { reason, .. } => Some(reason),
            Self::Fault(_) => None,
        }
    }
}
