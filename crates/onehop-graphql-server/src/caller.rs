//! Callers: users whose access token is valid, and the reasons for which the request of one is rejected
//! before it is executed.

use std::time::Duration;

use super::limit_exceeded::LimitExceeded;

/// An authenticated caller: the token is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Identifies the caller among all callers.
    pub id: String,
    /// The remaining lifetime of the token.
    pub valid_for: Duration,
    /// The session of the token; `None` for a token of another provider.
    pub session: Option<CallerSession>,
    /// Whether the account is new: then its charges count for the quota of its network as well, so that many
    /// new accounts of one network have no more than the network has.
    pub is_new: bool,
    /// Rights that the service has found in the token, as bits that the service defines. Callers with
    /// different rights share no execution of a live query.
    pub rights: u64,
}

/// The session that an access token belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerSession {
    pub id: String,
    /// When the token was issued (Unix ms).
    pub issued_at_ms: i64,
}

/// Why a request was not executed at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestRejection {
    /// The access token is expired, forged or malformed: 401.
    #[error("The access token is not valid: sign in again.")]
    InvalidToken,
    /// The store or another part does not answer: 503, with the delay as `Retry-After`.
    #[error("The service is not available right now: try again later.")]
    Unavailable { retry_after: Option<Duration> },
    /// The caller has spent more request units than it may: 429, with the delay as `Retry-After`.
    #[error("{exceeded}")]
    OverBudget { exceeded: LimitExceeded, retry_after: Duration },
}
