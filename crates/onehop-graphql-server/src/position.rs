//! Positions, for read-your-writes: where a request and a response name a position, and whether reads have
//! reached it. The service alone knows the content of a position.

use axum::http::HeaderName;

/// The extension of a request that names a position, and of a mutation's response that gives one. A
/// mutation's covers the position that its request names, and all writes of its caller that no query has
/// reached.
pub const POSITION: &str = "position";

/// The header that does the same.
pub const POSITION_HEADER: HeaderName = HeaderName::from_static("onehop-position");

/// Whether reads have reached a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Reached,
    NotReached(NotReached),
}

/// Why reads have not reached a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotReached {
    /// It takes longer than a query may wait.
    TimedOut,
    /// A change up to the position cannot be projected: it waits among the dead letters.
    Parked,
    /// Too many queries wait, of this caller or of all.
    TooManyWaiting,
    /// The store does not answer.
    Unavailable,
}

impl NotReached {
    /// Its name in a response.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TimedOut => "TIMED_OUT",
            Self::Parked => "PARKED",
            Self::TooManyWaiting => "TOO_MANY_WAITING",
            Self::Unavailable => "UNAVAILABLE",
        }
    }
}

/// The result of waiting for a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waited {
    pub reach: Reach,
    /// Whether the response says so.
    pub is_told: bool,
}

/// A text that is no position of this server, or a position beyond its last write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no position that this server gave out")]
pub struct InvalidPosition;
