//! Places in the change feed of a range, and the projections that stand at one of their own.

use serde::{Deserialize, Serialize};

use super::read_progress::ReadProgress;
use onehop_store::{Continuation, Store};

/// A place in the change feed of a range.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedPlace {
    /// `None` is the beginning.
    #[serde(default)]
    pub continuation: Option<Continuation>,
    /// The progress of the reader there.
    #[serde(default)]
    pub progress: ReadProgress,
}

impl FeedPlace {
    /// Whether this place is not before another, as far as the store can compare them. The progress of the
    /// other is compared only where it stands there: behind a full page its progress is older than its place.
    pub(super) fn has_reached(&self, other: &Self, store: &dyn Store) -> bool {
        let is_past = |at: &Option<Continuation>, end: &Option<Continuation>| {
            at.as_ref().zip(end.as_ref()).is_some_and(|(at, end)| store.is_past(at, end))
        };
        other.continuation.is_none()
            || is_past(&self.continuation, &other.continuation)
            || other.progress.stands_at_passed && is_past(&self.progress.passed, &other.progress.passed)
    }
}

/// A projection that has yet to complete something before the checkpoint of its lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Backfill {
    /// The name of the projection.
    pub projection: String,
    /// The completed place: everything before it is done.
    #[serde(flatten)]
    pub place: FeedPlace,
}

impl Backfill {
    pub(super) fn at(projection: &str, place: &FeedPlace) -> Self {
        Self { projection: projection.to_owned(), place: place.clone() }
    }
}
