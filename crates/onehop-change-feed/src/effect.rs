//! Effects of a step outside of the store, such as a webhook, and their errors.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// An effect outside of the store, which happens after the writes of its step. The token is cancelled when
/// the process stops.
pub(super) struct StepEffect(pub(super) Box<EffectCall>);

type EffectCall = dyn FnOnce(CancellationToken) -> BoxFuture<'static, Result<(), HandlerError>> + Send + Sync;

impl fmt::Debug for StepEffect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StepEffect")
    }
}

/// Why a change was not handled. The message is for the log, the status and the dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandlerError {
    /// The change is handled again, without end and with growing delays, and the feed range waits for it.
    Retry {
        /// Why the call failed.
        message: String,
        /// The least delay, such as the `Retry-After` of a response.
        after: Option<Duration>,
    },
    /// The change becomes a dead letter, and the later changes of its logical partition wait behind it.
    Park {
        /// Why the change cannot be handled.
        message: String,
    },
}

impl HandlerError {
    /// The change is to be handled again.
    #[must_use]
    pub fn retry(error: impl fmt::Display) -> Self {
        Self::Retry { message: error.to_string(), after: None }
    }

    /// The same after at least this delay.
    #[must_use]
    pub fn retry_after(error: impl fmt::Display, after: Duration) -> Self {
        Self::Retry { message: error.to_string(), after: Some(after) }
    }

    /// The change cannot be handled, and becomes a dead letter.
    #[must_use]
    pub fn park(error: impl fmt::Display) -> Self {
        Self::Park { message: error.to_string() }
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retry { message, .. } | Self::Park { message } => formatter.write_str(message),
        }
    }
}

impl std::error::Error for HandlerError {}
