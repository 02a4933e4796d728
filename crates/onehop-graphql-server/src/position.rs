//! Positions, for read-your-writes: where a request and a response name a position, and whether reads have
//! reached it. The program alone knows the content of a position.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_graphql::Value;
use async_trait::async_trait;
use axum::http::HeaderName;
use parking_lot::Mutex;

use super::quota::ChargeRecord;

/// The extension of a request that names a position, and of a mutation's response that gives one. A
/// mutation's covers the position that its request names, and all writes of its caller that no query has
/// reached.
pub const POSITION: &str = "position";

/// The header that does the same.
pub const POSITION_HEADER: HeaderName = HeaderName::from_static("onehop-position");

/// The extension of a response: whether the reads had reached the position that the request named.
const REACHED: &str = "reached";
/// The extension of a response: the reason for which they had not.
const NOT_REACHED: &str = "notReached";

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
    /// The store does not answer, or has no room for the read models.
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

impl Waited {
    /// States the result in the extensions of a response, where clients ask for it.
    pub fn state_in(self, extensions: &mut BTreeMap<String, Value>) {
        if !self.is_told {
            return;
        }
        extensions.insert(REACHED.to_owned(), Value::from(self.reach == Reach::Reached));
        if let Reach::NotReached(reason) = self.reach {
            extensions.insert(NOT_REACHED.to_owned(), Value::from(reason.name()));
        }
    }
}

/// The port to the progress of what queries read, for read-your-writes and for entity tags.
#[async_trait]
pub trait Positions: Send + Sync + 'static {
    /// Waits, up to a limit, until reads have reached a position from a mutation's response. The reads for it
    /// are in the record. Asked before the request is admitted.
    ///
    /// # Errors
    /// No mutation's response gave this position, or it lies beyond the last write.
    async fn reach(
        &self,
        position: &str,
        wait_max: Duration,
        charges: &dyn ChargeRecord,
    ) -> Result<Reach, InvalidPosition>;

    /// A position that is reached when both of these are, so that a caller's later write does not hide an
    /// earlier one. `None` where one of them is no position that a mutation's response gave.
    fn join(&self, one: &str, other: &str) -> Option<String>;

    /// The number of the last write that every execution sees which begins now; `None` where that is not
    /// known. A request whose context has a [`ReadTrace`](super::etag::ReadTrace) gets the dependencies of
    /// its answer there.
    fn last_write(&self) -> Option<u64> {
        None
    }

    /// Whether nothing under this mark of a trace was written after the write with this number.
    fn is_unwritten_since(&self, _mark: u32, _write: u64) -> bool {
        false
    }
}

/// No positions: reads see every earlier write, or do not wait for one.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPositions;

#[async_trait]
impl Positions for NoPositions {
    async fn reach(
        &self,
        _position: &str,
        _wait_max: Duration,
        _charges: &dyn ChargeRecord,
    ) -> Result<Reach, InvalidPosition> {
        Err(InvalidPosition)
    }

    fn join(&self, _one: &str, _other: &str) -> Option<String> {
        None
    }
}

/// The positions of the writes of one mutation, which its resolvers add. A
/// [`SchemaService`](super::schema_service::SchemaService) has them in the data of each mutation, and gives
/// their union in the response.
#[derive(Debug, Clone, Default)]
pub struct WrittenPositions(Arc<Mutex<Vec<String>>>);

impl WrittenPositions {
    /// Adds the position after a write.
    pub fn add(&self, position: impl Into<String>) {
        self.0.lock().push(position.into());
    }

    /// The position that is reached when all of them are.
    pub(crate) fn joined(&self, positions: &dyn Positions) -> Option<String> {
        let join = |one: String, other: String| positions.join(&one, &other).unwrap_or(one);
        std::mem::take(&mut *self.0.lock()).into_iter().reduce(join)
    }
}

/// A text that is no position of this server, or a position beyond its last write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no position that this server gave out")]
pub struct InvalidPosition;
