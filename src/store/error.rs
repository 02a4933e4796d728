//! Errors of the store. A [`Rejection`] is an answer (the write was refused, and why); a [`Fault`] is a failure
//! to answer, with a kind that says whether trying again can help.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use thiserror::Error as ThisError;

/// Why a write was refused. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum Rejection {
    #[error("an item with this id exists already")]
    Conflict,
    #[error("there is no item with this id")]
    NotFound,
    #[error("the item has changed since it was read")]
    PreconditionFailed,
    #[error("{actual_bytes} bytes are more than the {limit_bytes} allowed")]
    TooLarge { limit_bytes: usize, actual_bytes: usize },
    #[error("{actual} operations are more than the {limit} allowed in a batch")]
    TooManyOperations { limit: usize, actual: usize },
    #[error("an id must have 1 to 1023 bytes and none of / \\ ? #")]
    InvalidId,
    #[error("the item's body does not hold the id and the partition key it is written under")]
    KeyMismatch,
}

/// What kind of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The store is busy, starting or out of reach; the same request may succeed later.
    Unavailable,
    /// The request was refused for now because of its rate (429).
    Throttled,
    /// There is no room for writes, and nothing was written; reads go on. The same write may succeed when somebody has
    /// made room.
    Full,
    /// It is not known whether the write happened.
    Ambiguous,
    /// A continuation or a keyset is not one of this store.
    InvalidContinuation,
    /// What was read is not what was once written.
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
}

/// A failure to answer.
#[derive(Debug)]
pub struct Fault {
    pub kind: FaultKind,
    message: String,
    /// How long to wait before the next try, where the store said so.
    pub retry_after: Option<Duration>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Fault {
    /// A fault of this kind; the message is for the log, never for a client.
    #[must_use]
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None, source: None }
    }

    /// A fault like this one for another caller, without the error behind it.
    #[must_use]
    pub fn again(&self) -> Self {
        Self { kind: self.kind, message: self.to_string(), retry_after: self.retry_after, source: None }
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

/// How a write can fail.
#[derive(Debug, ThisError)]
pub enum WriteError {
    /// The operation at this position (0 for a single write) was refused, and with it all the others.
    #[error("operation {operation} was refused: {reason}")]
    Rejected { operation: usize, reason: Rejection },
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
