//! Positions: how far the change feeds of some containers have to be followed until a write is in the read models. They
//! give a writer the end of what it wrote, and a reader the moment when it reads that.
//!
//! Where the store knows the end of its change feeds by itself, a position names it, and is reached by each reader that
//! comes that far. Elsewhere it names containers only, and is reached by a reader that at some moment after the question has
//! nothing left to read; so under writes without a pause it may take longer than the write that is waited for.
//!
//! A position also names the logical partitions that were written to. A reader passes a change that it cannot project:
//! the change is a dead letter then, and the position is not reached.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::instance::{Instance, KnownLease};
use super::lease::Stored;
use super::processor::Processor;
use super::projection::Projection;
use super::range_feed::RangeFeed;
use super::settings::Sharing;
use onehop_store::{ContainerName, Continuation, Fault, Ledger, PartitionHash};

/// Projections behind projections that a position is followed through.
const STAGES_MAX: usize = 4;

/// Where the change feeds of some containers ended at a moment, as far as the store knows it, and what was written before.
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

/// What a position is made for.
#[derive(Debug, Clone, Default)]
pub struct Written {
    pub containers: Vec<ContainerName>,
    /// `None` when they are too many or not known.
    pub partitions: Option<Vec<PartitionHash>>,
    /// When the writing began (Unix ms).
    pub since_ms: i64,
}

/// What came of waiting for a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The read models hold what was written.
    Reached,
    /// The time was over first.
    TimedOut,
    /// The change cannot be projected: it waits among the dead letters.
    Parked,
}

/// Bytes that are no position of this store, or one that lies beyond its last write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no position of this store")]
pub struct InvalidPosition;

/// Why a position was not waited for.
#[derive(Debug, thiserror::Error)]
pub enum PositionError {
    #[error(transparent)]
    Invalid(#[from] InvalidPosition),
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

    /// The position as bytes. They tell how much was written: clients are not to read them.
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
    pub async fn position_of(&self, written: &Written) -> Result<Option<Position>, Fault> {
        let position = Position {
            ends: self.instance.ends_of(&written.containers)?,
            written: written.partitions.clone(),
            since_ms: written.since_ms,
        };
        Ok((!position.ends.is_empty()).then_some(position))
    }

    /// Waits until the projections have come past a position, and those behind them past what they wrote for it. What is
    /// read for that is in the ledger.
    ///
    /// # Errors
    /// The position is not one of this store's, or lies beyond its last write; or a fault of the store.
    pub async fn reach(
        &self,
        position: &Position,
        wait_max: Duration,
        ledger: &Ledger,
    ) -> Result<Reach, PositionError> {
        self.instance.check_position(position)?;
        match tokio::time::timeout(wait_max, self.instance.pass(position, ledger)).await {
            Ok(reach) => Ok(reach?),
            Err(_) => Ok(Reach::TimedOut),
        }
    }
}

/// Where readers stood when they were looked at last.
#[derive(Default)]
struct Looks(HashMap<String, Look>);

enum Look {
    Passed,
    /// Something waited there.
    Before(Standing),
}

/// How far a reader is: here by the pages it has worked on, elsewhere by its checkpoint.
#[derive(PartialEq, Eq)]
enum Standing {
    Here(u64),
    Elsewhere(Option<Continuation>),
}

impl Looks {
    fn has_passed(&self, lease: &str) -> bool {
        matches!(self.0.get(lease), Some(Look::Passed))
    }

    /// Whether a reader stands where something waited for it.
    fn is_where_it_was(&self, lease: &str, standing: &Standing) -> bool {
        matches!(self.0.get(lease), Some(Look::Before(before)) if before == standing)
    }
}

impl Instance {
    fn ends_of(&self, containers: &[ContainerName]) -> Result<BTreeMap<String, Option<Continuation>>, Fault> {
        let mut ends = BTreeMap::new();
        for container in containers {
            if self.runners.iter().any(|runner| runner.projection.source() == *container) {
                let end = self.host.store.feed_end_at_hand(*container)?;
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
            let is_ours = match (end, self.host.store.feed_end_at_hand(*source)?) {
                (Some(end), Some(present)) => self.host.store.is_past(&present, end),
                (None, None) => true,
                _ => false,
            };
            if !is_ours {
                return Err(InvalidPosition.into());
            }
        }
        if position.ends.is_empty() { Err(InvalidPosition.into()) } else { Ok(()) }
    }

    async fn pass(&self, position: &Position, ledger: &Ledger) -> Result<Reach, Fault> {
        let mut stage = position.clone();
        for _ in 0..STAGES_MAX {
            self.pass_stage(&stage, ledger).await?;
            if self.is_parked(&stage, ledger).await? {
                return Ok(Reach::Parked);
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
            // Which logical partitions the projections before have written to, nobody keeps.
            stage = Position { ends: self.ends_of(&behind)?, written: None, since_ms: position.since_ms };
        }
        Ok(Reach::Reached)
    }

    /// Looks again when a reader has come further; now and then where others read, too.
    async fn pass_stage(&self, position: &Position, ledger: &Ledger) -> Result<(), Fault> {
        let mut progress = self.progress.subscribe();
        let mut looks = Looks::default();
        let mut polls = 0;
        loop {
            progress.mark_unchanged();
            if self.has_passed(position, &mut looks, ledger).await? {
                return Ok(());
            }
            let poll = self.host.settings.poll.delay(polls);
            polls += 1;
            if self.host.settings.sharing == Sharing::Alone {
                // The sender is a field of this instance.
                let _ = progress.changed().await;
            } else {
                let _ = tokio::time::timeout(self.host.jitter.spread(poll), progress.changed()).await;
            }
        }
    }

    /// Whether every reader has passed the position. A reader is looked at again when it has moved.
    async fn has_passed(
        &self,
        position: &Position,
        looks: &mut Looks,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let known = self.known();
        let is_awaited = |lease: &&KnownLease| position.end(lease.runner.projection.source()).is_some();
        let awaited: Vec<_> = known.iter().filter(is_awaited).collect();
        let elsewhere = self.continuations_elsewhere(&awaited, ledger).await?;
        let mut all = true;
        for KnownLease { runner, item } in awaited {
            if looks.has_passed(&item.id) {
                continue;
            }
            let (standing, at) = match (self.held.get(&item.id), elsewhere.get(&item.id)) {
                (Some(reader), _) => {
                    let pages = reader.seen.pages.load(Ordering::Acquire);
                    (Standing::Here(pages), reader.position())
                }
                (None, listed) => {
                    let at = listed.unwrap_or(&item.continuation).clone();
                    (Standing::Elsewhere(at.clone()), at)
                }
            };
            let end = position.end(runner.projection.source()).flatten();
            let is_past = match (&at, end) {
                (Some(at), Some(end)) => self.host.store.is_past(at, end),
                _ => false,
            };
            let feed = RangeFeed { runner: Arc::clone(runner), range: item.range.clone() };
            let has_passed = is_past
                || !looks.is_where_it_was(&item.id, &standing)
                    && feed.pending(at.as_ref(), 1, ledger).await?.0 == 0;
            all &= has_passed;
            let look = if has_passed { Look::Passed } else { Look::Before(standing) };
            looks.0.insert(item.id.clone(), look);
        }
        Ok(all)
    }

    /// The checkpoints of the leases, where other instances hold one of the awaited.
    async fn continuations_elsewhere(
        &self,
        awaited: &[&KnownLease],
        ledger: &Ledger,
    ) -> Result<HashMap<String, Option<Continuation>>, Fault> {
        if !self.are_elsewhere(awaited) {
            return Ok(HashMap::new());
        }
        let listed = Stored::list(&self.host, ledger).await?;
        Ok(listed.into_iter().map(|stored| (stored.item.id, stored.item.continuation)).collect())
    }

    fn are_elsewhere(&self, leases: &[&KnownLease]) -> bool {
        let is_elsewhere = |lease: &&KnownLease| self.held.get(&lease.item.id).is_none();
        self.host.settings.sharing != Sharing::Alone && leases.iter().any(is_elsewhere)
    }

    /// Whether what was written waits among the dead letters. Where it is not known what that was, everything counts that
    /// was parked since.
    async fn is_parked(&self, position: &Position, ledger: &Ledger) -> Result<bool, Fault> {
        let known = self.known();
        for runner in &self.runners {
            if position.end(runner.projection.source()).is_none() {
                continue;
            }
            let is_of_it = |lease: &&KnownLease| Arc::ptr_eq(&lease.runner, runner);
            if self.are_elsewhere(&known.iter().filter(is_of_it).collect::<Vec<_>>()) {
                runner.dead_letters.reload(ledger).await?;
            }
            let is_parked = match &position.written {
                Some(partitions) => runner.dead_letters.holds_any(partitions),
                None => runner.dead_letters.parked_since(position.since_ms),
            };
            if is_parked {
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
