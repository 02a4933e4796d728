//! Where a tail stands, as text: a later process opens a tail there.

use serde::{Deserialize, Serialize};

use super::coverage::RangeSplits;
use super::position::InvalidPosition;
use onehop_store::{ContainerName, Continuation, FeedRange};

/// Where a [`Tail`](super::Tail) stands. All changes that it has not returned come after it.
///
/// It outlives the process, and splits and merges of partitions. Its text names feed ranges and
/// continuations of the store: it is for a database or a file of the program, not for its clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TailPosition {
    #[serde(rename = "c")]
    container: String,
    /// Without a continuation a range begins with the writes from then on.
    #[serde(rename = "r")]
    ranges: Vec<(FeedRange, Option<Continuation>)>,
}

impl TailPosition {
    /// The position of a tail that stands here in these ranges.
    pub(super) fn new(
        container: ContainerName,
        ranges: impl Iterator<Item = (FeedRange, Option<Continuation>)>,
    ) -> Self {
        Self { container: container.as_str().to_owned(), ranges: ranges.collect() }
    }

    /// The position as text.
    #[must_use]
    pub fn encode(&self) -> String {
        serde_json::to_string(self).expect("texts serialise")
    }

    /// Reads the result of [`encode`](Self::encode).
    ///
    /// # Errors
    /// The text is no position of a tail.
    pub fn parse(text: &str) -> Result<Self, InvalidPosition> {
        serde_json::from_str(text).map_err(|_| InvalidPosition)
    }

    /// The ranges to read from here on; those that were split meanwhile as their parts.
    ///
    /// # Errors
    /// The position is of another container.
    pub(super) fn ranges_in(
        &self,
        container: ContainerName,
        present: &[FeedRange],
        splits: &dyn RangeSplits,
    ) -> Result<Vec<(FeedRange, Option<Continuation>)>, InvalidPosition> {
        if self.container != container.as_str() || self.ranges.is_empty() {
            return Err(InvalidPosition);
        }
        let parts_of = |(range, continuation): &(FeedRange, Option<Continuation>)| {
            let parts = splits.parts_of(range, present).unwrap_or_else(|| vec![range.clone()]);
            parts.into_iter().map(|part| (part, continuation.clone())).collect::<Vec<_>>()
        };
        Ok(self.ranges.iter().flat_map(parts_of).collect())
    }
}
