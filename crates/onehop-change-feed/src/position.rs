//! Positions (read-your-writes): a writer receives the end of the change feeds after its write, and a reader waits until the read
//! models have processed the feeds up to there.
//!
//! Where the store knows the end of its change feeds by itself, a position contains it, and each reader that passes that end has
//! reached the position. Elsewhere it contains the ends of the writes, and concerns the feed ranges that hold them. Where even these
//! are not known, it is reached by a reader that at some moment after the call has nothing left to read.
//!
//! Readers of this process are waited for in memory. One that has not passed a write shortly after the call looks for changes, on the
//! caller's account: the write was made by another process. Readers of other processes are waited for on their leases.
//!
//! A position also contains the logical partitions that were written to. A change that cannot be projected becomes a dead
//! letter; then the position is not reached.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::instance::{Instance, LeaseSnapshot};
use super::lease::{LeaseItem, StoredLease};
use super::processor::Processor;
use super::projection::Projection;
use super::range_feed::RangeFeed;
use super::read_progress::ReadProgress;
use super::reader::RangeReader;
use super::settings::{Backoff, Sharing};
use onehop_store::{ContainerName, Continuation, Fault, FeedRange, Ledger, PartitionHash};

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
    /// Where the writes end, by container, if the store knows that and not the end of its change feeds.
    #[serde(rename = "m", default, skip_serializing_if = "BTreeMap::is_empty")]
    writes: BTreeMap<String, Vec<Continuation>>,
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
    /// What a ledger says was written since a moment (Unix ms).
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

    /// What readers of a container have to pass; `None` where it is not concerned.
    fn target(&self, container: ContainerName) -> Option<PositionTarget<'_>> {
        let end = self.end(container)?;
        let writes = self.writes.get(container.as_str()).filter(|writes| !writes.is_empty());
        Some(match (end, writes) {
            (Some(end), _) => PositionTarget::End(end),
            (None, Some(writes)) => PositionTarget::Writes(writes),
            (None, None) => PositionTarget::Unknown,
        })
    }

    fn end(&self, container: ContainerName) -> Option<Option<&Continuation>> {
        self.ends.get(container.as_str()).map(Option::as_ref)
    }
}

/// What readers of a container have to pass.
#[derive(Debug, Clone, Copy)]
enum PositionTarget<'a> {
    /// The end of its change feeds.
    End(&'a Continuation),
    /// The ends of these writes.
    Writes(&'a [Continuation]),
    /// Whatever was written before the call.
    Unknown,
}

impl Processor {
    /// Where the change feeds of those of the written containers end that a projection follows; `None` when none does.
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

/// The state of a wait: what the last check of each lease found.
#[derive(Default)]
struct PositionChecks {
    leases: HashMap<String, PositionCheck>,
    /// A reader of another process is waited for.
    awaits_others: bool,
    /// Readers of this process that have yet to look for a write of another process.
    to_look: Vec<Arc<RangeReader>>,
    /// Readers that look on the caller's account.
    looking: Vec<Arc<RangeReader>>,
}

enum PositionCheck {
    Passed,
    /// Something waited there.
    Before(ReaderProgress),
}

/// The progress of a reader: its pages and its looks in this instance, its checkpoint in another one.
#[derive(PartialEq, Eq)]
enum ReaderProgress {
    InThisInstance { pages: u64, looks_before: u64 },
    InAnotherInstance(Option<Continuation>),
}

impl PositionChecks {
    fn has_passed(&self, lease: &str) -> bool {
        matches!(self.leases.get(lease), Some(PositionCheck::Passed))
    }

    /// Whether a reader stands where something waited for it.
    fn is_unchanged(&self, lease: &str, progress_now: &ReaderProgress) -> bool {
        matches!(self.leases.get(lease), Some(PositionCheck::Before(before)) if before == progress_now)
    }

    /// The looks that a reader had begun when the wait began.
    fn looks_before(&self, lease: &str, reader: &RangeReader) -> u64 {
        match self.leases.get(lease) {
            Some(PositionCheck::Before(ReaderProgress::InThisInstance { looks_before, .. })) => *looks_before,
            _ => reader.looks().0,
        }
    }

    /// Charges the caller what its readers did since.
    fn settle_bills(&self, ledger: &Ledger) {
        self.looking.iter().flat_map(|reader| reader.take_bill()).for_each(|record| ledger.record(record));
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
        let (mut stage, mut is_own) = (position.clone(), false);
        for _ in 0..STAGES_MAX {
            let awaited_others = self.pass_stage(&stage, is_own, ledger).await?;
            is_own = !awaited_others;
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
            let (ends, since_ms) = (self.ends_of(&behind)?, position.since_ms);
            stage = Position { ends, written: None, since_ms, writes: BTreeMap::new() };
        }
        Ok(PositionOutcome::Reached)
    }

    /// Checks again when a reader of this process has made progress, and after a while where others read. `is_own` says that what is
    /// waited for was written by this process alone. Returns whether readers of other processes were waited for.
    async fn pass_stage(&self, position: &Position, is_own: bool, ledger: &Ledger) -> Result<bool, Fault> {
        let (clock, settings) = (&self.context.clock, &self.context.settings);
        let mut progress = self.progress.subscribe();
        let mut checks = PositionChecks::default();
        let (mut awaited_others, mut polls) = (false, 0);
        loop {
            progress.mark_unchanged();
            let has_passed = self.has_passed(position, is_own, &mut checks, ledger).await;
            checks.settle_bills(ledger);
            awaited_others |= checks.awaits_others;
            if has_passed? {
                return Ok(awaited_others);
            }
            let delay = if !checks.to_look.is_empty() {
                Some(settings.poll.first)
            } else if checks.awaits_others {
                polls += 1;
                Some(Backoff::new(settings.poll_after_changes, settings.poll.longest).delay(polls - 1))
            } else {
                None
            };
            let Some(delay) = delay else {
                // The sender is a field of this instance.
                let _ = progress.changed().await;
                continue;
            };
            tokio::select! {
                _ = progress.changed() => {}
                () = clock.sleep(delay) => {
                    for reader in checks.to_look.drain(..) {
                        reader.look_for_caller();
                        checks.looking.push(reader);
                    }
                }
            }
        }
    }

    /// Whether every reader has passed the position. A reader is checked again after it made progress.
    async fn has_passed(
        &self,
        position: &Position,
        is_own: bool,
        checks: &mut PositionChecks,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let known = self.known();
        let is_awaited = |lease: &&LeaseSnapshot| {
            let target = position.target(lease.source.container);
            target.is_some_and(|target| self.concerns(target, &lease.item.range))
                && !checks.has_passed(&lease.item.id)
        };
        let awaited: Vec<_> = known.iter().filter(is_awaited).collect();
        let elsewhere = self.leases_elsewhere(&awaited, ledger).await?;
        checks.awaits_others = false;
        let mut all = true;
        for snapshot in awaited {
            let Some(target) = position.target(snapshot.source.container) else { continue };
            let item = &snapshot.item;
            let has_passed = match self.owned.get(&item.id) {
                Some(reader) => {
                    self.has_passed_here(target, snapshot, &reader, is_own, checks, ledger).await?
                }
                None => {
                    let lease = elsewhere.get(&item.id).unwrap_or(item);
                    self.has_passed_elsewhere(target, snapshot, lease, checks, ledger).await?
                }
            };
            all &= has_passed;
            if has_passed {
                checks.leases.insert(item.id.clone(), PositionCheck::Passed);
            }
        }
        Ok(all)
    }

    /// Whether a feed range holds something that has to be passed.
    fn concerns(&self, target: PositionTarget<'_>, range: &FeedRange) -> bool {
        match target {
            PositionTarget::Writes(writes) => writes.iter().any(|end| self.context.store.holds(range, end)),
            PositionTarget::End(_) | PositionTarget::Unknown => true,
        }
    }

    /// Whether a reader that stands here has passed what concerns its range, as far as the store can compare that.
    fn is_past(
        &self,
        target: PositionTarget<'_>,
        range: &FeedRange,
        continuation: Option<&Continuation>,
        progress: &ReadProgress,
    ) -> bool {
        let store = &self.context.store;
        match target {
            PositionTarget::End(end) => continuation.is_some_and(|at| store.is_past(at, end)),
            PositionTarget::Writes(writes) => progress.passed.as_ref().is_some_and(|at| {
                writes.iter().filter(|end| store.holds(range, end)).all(|end| store.is_past(at, end))
            }),
            PositionTarget::Unknown => false,
        }
    }

    async fn has_passed_here(
        &self,
        target: PositionTarget<'_>,
        LeaseSnapshot { source, item }: &LeaseSnapshot,
        reader: &Arc<RangeReader>,
        is_own: bool,
        checks: &mut PositionChecks,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let pages = reader.statistics.pages.load(Ordering::Acquire);
        let looks_before = checks.looks_before(&item.id, reader);
        let at = reader.position();
        if self.is_past(target, &item.range, at.continuation.as_ref(), &at.progress) {
            return Ok(true);
        }
        let now = ReaderProgress::InThisInstance { pages, looks_before };
        if self.context.store.counts_locally() {
            let feed = RangeFeed::of_source(source, item.range.clone());
            if !checks.is_unchanged(&item.id, &now)
                && feed.pending(at.continuation.as_ref(), 1, ledger).await?.0 == 0
            {
                return Ok(true);
            }
        } else {
            let has_looked_since = reader.looks().1 > looks_before;
            if has_looked_since || is_own && reader.has_completed_own_writes() {
                return Ok(true);
            }
            let is_first = !checks.leases.contains_key(&item.id);
            if is_first && matches!(target, PositionTarget::Writes(_)) {
                checks.to_look.push(Arc::clone(reader));
            }
        }
        checks.leases.insert(item.id.clone(), PositionCheck::Before(now));
        Ok(false)
    }

    /// The look at what is left costs a request, once for each checkpoint: only a change that a projection needs moves it.
    async fn has_passed_elsewhere(
        &self,
        target: PositionTarget<'_>,
        LeaseSnapshot { source, item }: &LeaseSnapshot,
        lease: &LeaseItem,
        checks: &mut PositionChecks,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let at = lease.continuation.as_ref();
        if self.is_past(target, &item.range, at, &lease.progress) {
            return Ok(true);
        }
        let now = ReaderProgress::InAnotherInstance(lease.continuation.clone());
        let feed = RangeFeed::of_source(source, item.range.clone());
        if !checks.is_unchanged(&item.id, &now) && feed.pending(at, 1, ledger).await?.0 == 0 {
            return Ok(true);
        }
        checks.awaits_others |= self.context.settings.sharing != Sharing::Alone;
        checks.leases.insert(item.id.clone(), PositionCheck::Before(now));
        Ok(false)
    }

    /// Those of the awaited leases that other instances hold, as they are now.
    async fn leases_elsewhere(
        &self,
        awaited: &[&LeaseSnapshot],
        ledger: &Ledger,
    ) -> Result<HashMap<String, LeaseItem>, Fault> {
        if !self.are_elsewhere(awaited) {
            return Ok(HashMap::new());
        }
        let elsewhere = awaited.iter().filter(|lease| self.owned.get(&lease.item.id).is_none());
        let ids: Vec<_> = elsewhere.map(|lease| lease.item.id.as_str()).collect();
        let found = StoredLease::read_many(&self.context, &ids, ledger).await?;
        Ok(found.into_iter().map(|stored| (stored.item.id.clone(), stored.item)).collect())
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
