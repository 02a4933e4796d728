//! Positions (read-your-writes): a writer receives the end of the change feeds after its write, and a reader waits until the read
//! models have processed the feeds up to there.
//!
//! Where the store knows the end of its change feeds by itself, a position contains it, and each reader that passes that end has
//! reached the position. Elsewhere a position contains only containers. It is reached by a reader that at some moment after
//! the call has nothing left to read; so under continuous writes it may take longer than the write needs.
//!
//! A position also contains the logical partitions that were written to. A change that cannot be projected becomes a dead
//! letter; then the position is not reached.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::instance::{Instance, LeaseSnapshot};
use super::lease::StoredLease;
use super::processor::Processor;
use super::projection::Projection;
use super::range_feed::RangeFeed;
use super::settings::Sharing;
use onehop_store::{ContainerName, Continuation, Fault, Ledger, PartitionHash};

/// Projections behind projections that a position is followed through.
const STAGES_MAX: usize = 4;

/// A position: the ends of the change feeds of some containers, and the logical partitions written before them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Position {
    #[serde(rename = "e")]
    ends: BTreeMap<String, Option<Continuation>>,
    /// `None` when they are more than a position names, or not known.
    #[serde(rename = "w")]
    written: Option<Vec<PartitionHash>>,
    #[serde(rename = "s")]
    since_ms: i64,
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
}

/// The outcome of waiting for a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PositionOutcome {
    /// The read models hold what was written.
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
    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    /// It is something else.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidPosition> {
        serde_json::from_slice(bytes).map_err(|_| InvalidPosition)
    }

    /// The position as bytes. They reveal how much was written, so they are encrypted before a client gets them.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a map with string keys serialises")
    }

    fn end(&self, container: ContainerName) -> Option<Option<&Continuation>> {
        self.ends.get(container.as_str()).map(Option::as_ref)
    }
}

impl Processor {
    /// Where the change feeds of those of the written containers end that a projection follows; `None` when none does.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn position_of(&self, written: &WriteScope) -> Result<Option<Position>, Fault> {
        let position = Position {
            ends: self.instance.ends_of(&written.containers)?,
            written: written.partitions.clone(),
            since_ms: written.since_ms,
        };
        Ok((!position.ends.is_empty()).then_some(position))
    }

    /// Waits until the projections have passed a position, and those that follow them have passed what they wrote for it. The
    /// ledger records the reads.
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

/// The positions of readers at the last check.
#[derive(Default)]
struct PositionChecks(HashMap<String, PositionCheck>);

enum PositionCheck {
    Passed,
    /// Something waited there.
    Before(ReaderProgress),
}

/// The progress of a reader: its pages in this instance, its checkpoint in another one.
#[derive(PartialEq, Eq)]
enum ReaderProgress {
    InThisInstance(u64),
    InAnotherInstance(Option<Continuation>),
}

impl PositionChecks {
    fn has_passed(&self, lease: &str) -> bool {
        matches!(self.0.get(lease), Some(PositionCheck::Passed))
    }

    /// Whether a reader stands where something waited for it.
    fn is_unchanged(&self, lease: &str, progress_now: &ReaderProgress) -> bool {
        matches!(self.0.get(lease), Some(PositionCheck::Before(before)) if before == progress_now)
    }
}

impl Instance {
    fn ends_of(&self, containers: &[ContainerName]) -> Result<BTreeMap<String, Option<Continuation>>, Fault> {
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

    async fn pass(&self, position: &Position, ledger: &Ledger) -> Result<PositionOutcome, Fault> {
        let mut stage = position.clone();
        for _ in 0..STAGES_MAX {
            self.pass_stage(&stage, ledger).await?;
            if self.is_dead_lettered(&stage, ledger).await? {
                return Ok(PositionOutcome::DeadLettered);
            }
            let follows = |projection: &Arc<dyn Projection>| stage.end(projection.source()).is_some();
            let projections = self.runners.iter().map(|runner| &runner.projection);
            let behind: Vec<_> = projections
                .filter(|projection| follows(projection))
                .flat_map(|projection| projection.feeds())
                .copied()
                .collect();
            if behind.is_empty() {
                break;
            }
            // The logical partitions that the earlier projections wrote to are not recorded.
            stage = Position { ends: self.ends_of(&behind)?, written: None, since_ms: position.since_ms };
        }
        Ok(PositionOutcome::Reached)
    }

    /// Checks again when a reader has made progress; polls where other instances read, too.
    async fn pass_stage(&self, position: &Position, ledger: &Ledger) -> Result<(), Fault> {
        let mut progress = self.progress.subscribe();
        let mut checks = PositionChecks::default();
        let mut polls = 0;
        loop {
            progress.mark_unchanged();
            if self.has_passed(position, &mut checks, ledger).await? {
                return Ok(());
            }
            let poll = self.context.settings.poll.delay(polls);
            polls += 1;
            if self.context.settings.sharing == Sharing::Alone {
                // The sender is a field of this instance.
                let _ = progress.changed().await;
            } else {
                let _ = tokio::time::timeout(self.context.jitter.spread(poll), progress.changed()).await;
            }
        }
    }

    /// Whether every reader has passed the position. A reader is checked again after it made progress.
    async fn has_passed(
        &self,
        position: &Position,
        checks: &mut PositionChecks,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let known = self.known();
        let is_awaited = |lease: &&LeaseSnapshot| position.end(lease.source.container).is_some();
        let awaited: Vec<_> = known.iter().filter(is_awaited).collect();
        let elsewhere = self.continuations_elsewhere(&awaited, ledger).await?;
        let mut all = true;
        for LeaseSnapshot { source, item } in awaited {
            if checks.has_passed(&item.id) {
                continue;
            }
            let (progress_now, at) = match (self.owned.get(&item.id), elsewhere.get(&item.id)) {
                (Some(reader), _) => {
                    let pages = reader.statistics.pages.load(Ordering::Acquire);
                    (ReaderProgress::InThisInstance(pages), reader.position())
                }
                (None, listed) => {
                    let at = listed.unwrap_or(&item.continuation).clone();
                    (ReaderProgress::InAnotherInstance(at.clone()), at)
                }
            };
            let end = position.end(source.container).flatten();
            let is_past = match (&at, end) {
                (Some(at), Some(end)) => self.context.store.is_past(at, end),
                _ => false,
            };
            let feed = RangeFeed::of_source(source, item.range.clone());
            let has_passed = is_past
                || !checks.is_unchanged(&item.id, &progress_now)
                    && feed.pending(at.as_ref(), 1, ledger).await?.0 == 0;
            all &= has_passed;
            let check = if has_passed { PositionCheck::Passed } else { PositionCheck::Before(progress_now) };
            checks.0.insert(item.id.clone(), check);
        }
        Ok(all)
    }

    /// The checkpoints of the leases, where other instances hold one of the awaited.
    async fn continuations_elsewhere(
        &self,
        awaited: &[&LeaseSnapshot],
        ledger: &Ledger,
    ) -> Result<HashMap<String, Option<Continuation>>, Fault> {
        if !self.are_elsewhere(awaited) {
            return Ok(HashMap::new());
        }
        let listed = StoredLease::list(&self.context, ledger).await?;
        Ok(listed.into_iter().map(|stored| (stored.item.id, stored.item.continuation)).collect())
    }

    fn are_elsewhere(&self, leases: &[&LeaseSnapshot]) -> bool {
        let is_elsewhere = |lease: &&LeaseSnapshot| self.owned.get(&lease.item.id).is_none();
        self.context.settings.sharing != Sharing::Alone && leases.iter().any(is_elsewhere)
    }

    /// Whether the write is among the dead letters. Where its logical partitions are unknown, each dead letter since then counts.
    async fn is_dead_lettered(&self, position: &Position, ledger: &Ledger) -> Result<bool, Fault> {
        let known = self.known();
        for runner in &self.runners {
            if position.end(runner.projection.source()).is_none() {
                continue;
            }
            let source = runner.projection.source();
            let is_of_it = |lease: &&LeaseSnapshot| lease.source.container == source;
            if self.are_elsewhere(&known.iter().filter(is_of_it).collect::<Vec<_>>()) {
                runner.dead_letters.reload(ledger).await?;
            }
            let is_dead_lettered = match &position.written {
                Some(partitions) => runner.dead_letters.contains_any(partitions),
                None => runner.dead_letters.added_since(position.since_ms),
            };
            if is_dead_lettered {
                return Ok(true);
            }
        }
        Ok(false)
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
            let position = Position { ends: ends.clone(), written, since_ms: 1_800_000_000_000 };
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
