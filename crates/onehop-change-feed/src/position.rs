//! Positions (read-your-writes): a writer receives the end of the change feeds after its write, and a reader
//! waits until the read models have processed the feeds up to there.
//!
//! Where the store knows the end of its change feeds by itself, a position contains it, and each reader that
//! passes that end has reached the position. Elsewhere it contains the ends of the writes, and concerns the
//! feed ranges that hold them. Where even these are not known, it is reached by a reader that at some moment
//! after the call has nothing left to read.
//!
//! Readers of this process are waited for in memory. A reader that has not passed a write shortly after the
//! call looks for changes, on the caller's account: the write was made by another process. Readers of other
//! processes are waited for on their leases.
//!
//! A position also contains the logical partitions that were written to. A change that cannot be projected
//! becomes a dead letter; then the position is not reached.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::instance::Instance;
use super::processor::Processor;
use super::read_progress::ReadProgress;
use onehop_store::{ContainerName, Continuation, Fault, FeedRange, Ledger, PartitionHash, Store};

/// A position: the ends of the change feeds of some containers, and the logical partitions written before
/// them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Position {
    #[serde(rename = "e")]
    pub(super) ends: BTreeMap<String, Option<Continuation>>,
    /// `None` when they are more than a position names, or not known.
    #[serde(rename = "w")]
    pub(super) written: Option<Vec<PartitionHash>>,
    #[serde(rename = "s")]
    pub(super) since_ms: i64,
    /// Where the writes end, by container, if the store knows that and not the end of its change feeds.
    #[serde(rename = "m", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) writes: BTreeMap<String, Vec<Continuation>>,
}

/// The extent of a write, from which a position is made.
#[derive(Debug, Clone, Default)]
pub struct WriteScope {
    /// The containers that were written to.
    pub containers: Vec<ContainerName>,
    /// `None` when they are too many or not known.
    pub partitions: Option<Vec<PartitionHash>>,
    /// When the writing began (Unix ms).
    pub since_ms: i64,
    /// Where the writes to a container end in the change feed, if the store said it of all of them.
    pub ends: Vec<(ContainerName, Vec<Continuation>)>,
}

impl WriteScope {
    /// The writes in a ledger since a moment (Unix ms).
    #[must_use]
    pub fn of(ledger: &Ledger, since_ms: i64) -> Self {
        let containers = ledger.written();
        let ends =
            containers.iter().filter_map(|container| Some((*container, ledger.write_ends(*container)?)));
        Self { ends: ends.collect(), partitions: ledger.written_partitions(), since_ms, containers }
    }
}

/// The outcome of waiting for a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PositionOutcome {
    /// The read models hold the writes.
    Reached,
    /// The timeout passed first.
    TimedOut,
    /// The change cannot be projected: it is a dead letter.
    DeadLettered,
}

/// The bytes are no position of this store, or lie beyond its last write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no position of this store")]
pub struct InvalidPosition;

/// Why a position was not waited for.
#[derive(Debug, thiserror::Error)]
pub enum PositionError {
    /// The position is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidPosition),
    /// A fault of the store.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Position {
    /// Reads the result of [`encode`](Self::encode).
    ///
    /// # Errors
    /// The bytes are no position.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidPosition> {
        serde_json::from_slice(bytes).map_err(|_| InvalidPosition)
    }

    /// The position as bytes. They reveal how much was written, so they are encrypted before a client gets
    /// them.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a map with string keys serialises")
    }

    /// The target of the readers of a container; `None` where the position does not concern it.
    pub(super) fn target(&self, container: ContainerName) -> Option<PositionTarget<'_>> {
        let end = self.end(container)?;
        let writes = self.writes.get(container.as_str()).filter(|writes| !writes.is_empty());
        Some(match (end, writes) {
            (Some(end), _) => PositionTarget::End(end),
            (None, Some(writes)) => PositionTarget::Writes(writes),
            (None, None) => PositionTarget::Unknown,
        })
    }

    pub(super) fn end(&self, container: ContainerName) -> Option<Option<&Continuation>> {
        self.ends.get(container.as_str()).map(Option::as_ref)
    }
}

/// The target that readers of a container have to pass.
#[derive(Debug, Clone, Copy)]
pub(super) enum PositionTarget<'a> {
    /// The end of its change feeds.
    End(&'a Continuation),
    /// The ends of these writes.
    Writes(&'a [Continuation]),
    /// All writes before the call.
    Unknown,
}

impl PositionTarget<'_> {
    /// Whether a reader at this place has passed its range's part of the target, as far as the store can
    /// compare them.
    pub(super) fn is_passed(self, store: &dyn Store, range: &FeedRange, progress: &ReadProgress) -> bool {
        match self {
            Self::End(end) => progress.passed.as_ref().is_some_and(|at| store.is_past(at, end)),
            Self::Writes(writes) => progress.passed.as_ref().is_some_and(|at| {
                writes.iter().filter(|end| store.holds(range, end)).all(|end| store.is_past(at, end))
            }),
            Self::Unknown => false,
        }
    }
}

impl Processor {
    /// The end of the change feeds of the written containers that a projection follows; `None` when no
    /// projection follows them.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn position_of(&self, written: &WriteScope) -> Result<Option<Position>, Fault> {
        let ends = self.instance.ends_of(&written.containers)?;
        let writes = written.ends.iter().filter(|(container, _)| ends.contains_key(container.as_str()));
        let position = Position {
            writes: writes.map(|(container, ends)| (container.to_string(), ends.clone())).collect(),
            ends,
            written: written.partitions.clone(),
            since_ms: written.since_ms,
        };
        Ok((!position.ends.is_empty()).then_some(position))
    }

    /// A position that is reached when both of these are. It is bounded: a position of many writes may be
    /// reached later than the writes are.
    ///
    /// # Errors
    /// One of them is not one of this store's, or lies beyond its last write; or a fault of the store.
    pub fn join_positions(&self, one: &Position, other: &Position) -> Result<Position, PositionError> {
        self.instance.check_position(one)?;
        self.instance.check_position(other)?;
        Ok(one.join(other, |at, end| self.instance.context.store.is_past(at, end)))
    }

    /// Waits until the projections have passed a position, and their followers have passed the resulting
    /// writes. The ledger records the reads.
    ///
    /// # Errors
    /// The position is not one of this store's, or lies beyond its last write; or a fault of the store.
    pub async fn wait_for_position(
        &self,
        position: &Position,
        wait_max: Duration,
        ledger: &Ledger,
    ) -> Result<PositionOutcome, PositionError> {
        self.instance.check_position(position)?;
        match tokio::time::timeout(wait_max, self.instance.pass(position, ledger)).await {
            Ok(reach) => Ok(reach?),
            Err(_) => Ok(PositionOutcome::TimedOut),
        }
    }
}

impl Instance {
    pub(super) fn ends_of(
        &self,
        containers: &[ContainerName],
    ) -> Result<BTreeMap<String, Option<Continuation>>, Fault> {
        let mut ends = BTreeMap::new();
        for container in containers {
            if self.runners.iter().any(|runner| runner.projection.source() == *container) {
                let end = self.context.store.local_feed_end(*container)?;
                ends.insert(container.as_str().to_owned(), end);
            }
        }
        Ok(ends)
    }

    /// A position beyond the last write comes from another store, or from before this one was restored.
    fn check_position(&self, position: &Position) -> Result<(), PositionError> {
        let sources: Vec<_> = self.runners.iter().map(|runner| runner.projection.source()).collect();
        for (container, end) in &position.ends {
            let source = sources.iter().find(|source| source.as_str() == container).ok_or(InvalidPosition)?;
            let is_ours = match (end, self.context.store.local_feed_end(*source)?) {
                (Some(end), Some(present)) => self.context.store.is_past(&present, end),
                (None, None) => true,
                _ => false,
            };
            if !is_ours {
                return Err(InvalidPosition.into());
            }
        }
        if position.ends.is_empty() { Err(InvalidPosition.into()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onehop_store::PartitionKey;

    #[test]
    fn a_position_survives_its_bytes() {
        let end = Some(Continuation("sequence:7".to_owned()));
        let ends = BTreeMap::from([("posts".to_owned(), end), ("users".to_owned(), None)]);
        let hash = PartitionHash::of(ContainerName("posts"), &PartitionKey::from("p"));
        for written in [Some(vec![hash]), Some(Vec::new()), None] {
            let position = Position {
                ends: ends.clone(),
                written,
                since_ms: 1_800_000_000_000,
                writes: BTreeMap::from([("users".to_owned(), vec![Continuation("write:2A:7".to_owned())])]),
            };
            assert_eq!(Position::parse(&position.encode()), Ok(position));
        }
    }

    #[test]
    fn what_is_no_position_is_refused() {
        for bytes in ["", "e", "null", "{}", "{\"posts\":\"sequence:7\"}"] {
            assert_eq!(Position::parse(bytes.as_bytes()), Err(InvalidPosition), "{bytes}");
        }
    }
}
