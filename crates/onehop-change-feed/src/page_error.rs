//! Page errors: why a page of the change feed ended early. It is read again from the last checkpoint, or goes
//! on where it failed.

use std::time::Duration;

use onehop_store::{Fault, FaultKind, Rejection};
use serde::{Serialize, Serializer};

/// The error of a page that ended early. The page is tried again.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// Another process owns the lease by now.
    #[error("the lease belongs to another owner by now")]
    LeaseLost,
    /// The stop came in the middle of a long change, or while a retry waited.
    #[error("the processor is stopping")]
    Stopping,
    /// A change lost all its races: its reads kept changing before it could write.
    #[error("what was read kept changing: {0}")]
    Contended(Rejection),
    /// A handler asks for another call.
    #[error("the handler failed: {message}")]
    Handler {
        /// The handler's message.
        message: String,
        /// The least delay before the next call.
        after: Option<Duration>,
    },
    /// The store failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Why a feed range does not get past a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallCause {
    /// Lost races (optimistic concurrency).
    Contention,
    /// Calls of a handler fail.
    Handler,
    /// The store fails in this way.
    Fault(FaultKind),
}

impl StallCause {
    /// The cause in one word of snake_case, for metrics and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Contention => "contention",
            Self::Handler => "handler",
            Self::Fault(kind) => kind.name(),
        }
    }
}

impl Serialize for StallCause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl PageError {
    /// Why the page failed; `None` where its reader ends and another one takes the page over.
    #[must_use]
    pub fn stall_cause(&self) -> Option<StallCause> {
        match self {
            Self::LeaseLost | Self::Stopping => None,
            Self::Contended(_) => Some(StallCause::Contention),
            Self::Handler { .. } => Some(StallCause::Handler),
            Self::Fault(fault) => Some(StallCause::Fault(fault.kind)),
        }
    }

    /// Whether the same page may succeed later without a change of this program or its data.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self.stall_cause() {
            None => false,
            Some(StallCause::Contention | StallCause::Handler) => true,
            Some(StallCause::Fault(kind)) => kind.is_of_the_store(),
        }
    }
}
