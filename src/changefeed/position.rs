//! Positions: how far the change feeds of some containers have to be followed until a write is in the read models. They
//! say for a writer what it wrote up to, and for a reader when it reads that.
//!
//! Where the store knows the end of its change feeds by itself, a position names it, and is passed by whoever comes
//! that far. Elsewhere it names containers only, and is passed by a reader that at some moment after the question has nothing
//! left to read; so under writes without a pause it may take longer than the write that is waited for.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::instance::{Instance, KnownLease};
use super::lease::Stored;
use super::processor::Processor;
use super::projection::Projection;
use super::range_feed::RangeFeed;
use super::settings::Sharing;
use crate::store::{ContainerName, Continuation, Fault, Ledger};

/// The longest position that is read, in bytes.
pub const POSITION_BYTES_MAX: usize = 512;
/// Callers that wait for a position at once; more are answered at once with how things stand.
pub const POSITION_WAITS_MAX: usize = 256;
/// Projections behind projections that a position is followed through.
const STAGES_MAX: usize = 4;

/// Where the change feeds of some containers ended at a moment, as far as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Position(BTreeMap<String, Option<Continuation>>);

/// A text that is no position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no position that this server gave out")]
pub struct InvalidPosition;

impl Position {
    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    /// It is something else, or longer than [`POSITION_BYTES_MAX`].
    pub fn parse(text: &str) -> Result<Self, InvalidPosition> {
        if text.len() > POSITION_BYTES_MAX {
            return Err(InvalidPosition);
        }
        let json = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidPosition)?;
        serde_json::from_slice(&json).map_err(|_| InvalidPosition)
    }

    /// The position as a text for clients, which is opaque to them.
    #[must_use]
    pub fn encode(&self) -> String {
        let json = serde_json::to_vec(self).expect("a map with string keys serialises");
        BASE64_URL_SAFE_NO_PAD.encode(json)
    }

    fn end(&self, container: ContainerName) -> Option<Option<&Continuation>> {
        self.0.get(container.as_str()).map(Option::as_ref)
    }
}

impl Processor {
    /// Where the change feeds of those of these containers end that a projection follows; `None` when none does.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn position_of(&self, containers: &[ContainerName]) -> Result<Option<Position>, Fault> {
        let position = self.instance.position_of(containers).await?;
        Ok((!position.0.is_empty()).then_some(position))
    }

    /// Waits until the projections have come past a position, and those behind them past what they wrote for it. Says
    /// whether they did before the time was over.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn reach(&self, position: &Position, wait_max: Duration) -> Result<bool, Fault> {
        let instance = &*self.instance;
        let wait_max = match instance.position_waits.try_acquire() {
            Ok(permit) => Some((permit, wait_max)),
            Err(_) => None,
        };
        let wait = wait_max.as_ref().map_or(Duration::ZERO, |(_, wait)| *wait);
        match tokio::time::timeout(wait, instance.pass(position.clone())).await {
            Ok(passed) => passed.map(|()| true),
            Err(_) => Ok(false),
        }
    }
}

impl Instance {
    async fn position_of(&self, containers: &[ContainerName]) -> Result<Position, Fault> {
        let mut position = Position::default();
        for container in containers {
            if self.runners.iter().any(|runner| runner.projection.source() == *container) {
                let end = self.host.store.feed_end_at_hand(*container)?;
                position.0.insert(container.as_str().to_owned(), end);
            }
        }
        Ok(position)
    }

    async fn pass(&self, mut position: Position) -> Result<(), Fault> {
        for _ in 0..STAGES_MAX {
            self.pass_stage(&position).await?;
            let follows = |projection: &Arc<dyn Projection>| position.end(projection.source()).is_some();
            let projections = self.runners.iter().map(|runner| &runner.projection);
            let behind: Vec<_> = projections
                .filter(|projection| follows(projection))
                .flat_map(|projection| projection.feeds())
                .copied()
                .collect();
            if behind.is_empty() {
                break;
            }
            position = self.position_of(&behind).await?;
        }
        Ok(())
    }

    /// Looks again whenever a reader has come further; now and then where others read, too.
    async fn pass_stage(&self, position: &Position) -> Result<(), Fault> {
        let mut progress = self.progress.subscribe();
        let mut passed = HashSet::new();
        let mut looks = 0;
        loop {
            progress.mark_unchanged();
            if self.has_passed(position, &mut passed).await? {
                return Ok(());
            }
            let poll = self.host.settings.poll.delay(looks);
            looks += 1;
            if self.host.settings.sharing == Sharing::Alone {
                // The sender is a field of this instance.
                let _ = progress.changed().await;
            } else {
                let _ = tokio::time::timeout(self.host.jitter.spread(poll), progress.changed()).await;
            }
        }
    }

    /// Whether every reader has passed the position; remembers those that have.
    async fn has_passed(&self, position: &Position, passed: &mut HashSet<String>) -> Result<bool, Fault> {
        let known = self.known();
        let is_awaited = |lease: &&KnownLease| position.end(lease.runner.projection.source()).is_some();
        let awaited: Vec<_> = known.iter().filter(is_awaited).collect();
        let is_elsewhere = |lease: &&KnownLease| self.held.get(&lease.item.id).is_none();
        let elsewhere = if awaited.iter().any(is_elsewhere) && self.host.settings.sharing != Sharing::Alone {
            let listed = Stored::list(&self.host, &Ledger::new()).await?;
            listed.into_iter().map(|stored| (stored.item.id, stored.item.continuation)).collect()
        } else {
            HashMap::new()
        };
        let mut all = true;
        for KnownLease { runner, item } in awaited {
            if passed.contains(&item.id) {
                continue;
            }
            let at = match (self.held.get(&item.id), elsewhere.get(&item.id)) {
                (Some(reader), _) => reader.position(),
                (None, Some(continuation)) => continuation.clone(),
                (None, None) => item.continuation.clone(),
            };
            let end = position.end(runner.projection.source()).flatten();
            let is_past = match (&at, end) {
                (Some(at), Some(end)) => self.host.store.is_past(at, end),
                _ => false,
            };
            let feed = RangeFeed { runner: Arc::clone(runner), range: item.range.clone() };
            if is_past || feed.pending(at.as_ref(), 1, &Ledger::new()).await?.0 == 0 {
                passed.insert(item.id.clone());
            } else {
                all = false;
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_survives_its_text() {
        let end = Some(Continuation("sequence:7".to_owned()));
        let position = Position(BTreeMap::from([("posts".to_owned(), end), ("users".to_owned(), None)]));
        assert_eq!(Position::parse(&position.encode()), Ok(position));
    }

    #[test]
    fn what_is_no_position_is_refused() {
        for text in ["", "e", "!!!", "bnVsbA", &"A".repeat(POSITION_BYTES_MAX + 1)] {
            assert_eq!(Position::parse(text), Err(InvalidPosition), "{text}");
        }
    }
}
