//! The wait for a position: which readers it concerns, and whether they have passed it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::feed_place::Backfill;
use super::instance::{Instance, LeaseSnapshot};
use super::lease::{LeaseItem, StoredLease};
use super::position::{Position, PositionOutcome, PositionTarget};
use super::projection::Projection;
use super::range_feed::RangeFeed;
use super::reader::RangeReader;
use super::settings::{Backoff, Sharing};
use super::source::FeedSource;
use onehop_runtime::planted;
use onehop_store::{Continuation, Fault, FeedRange, Ledger};

/// Projections behind projections that a position is followed through.
const STAGES_MAX: usize = 4;

/// The state of a wait: the result of the last check of each lease.
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

    /// Charges the caller for the work of its readers since.
    fn settle_bills(&self, ledger: &Ledger) {
        self.looking.iter().flat_map(|reader| reader.take_bill()).for_each(|record| ledger.record(record));
    }
}

impl Instance {
    pub(super) async fn pass(&self, position: &Position, ledger: &Ledger) -> Result<PositionOutcome, Fault> {
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
            if behind.is_empty() || planted!("first-stage-alone") {
                break;
            }
            // The logical partitions that the earlier projections wrote to are not recorded.
            let (ends, since_ms) = (self.ends_of(&behind)?, position.since_ms);
            stage = Position { ends, written: None, since_ms, writes: BTreeMap::new() };
        }
        Ok(PositionOutcome::Reached)
    }

    /// Checks again when a reader of this process has made progress, and after a while where others read.
    /// `is_own` says that this process alone made the awaited writes. Returns whether readers of other
    /// processes were waited for.
    async fn pass_stage(&self, position: &Position, is_own: bool, ledger: &Ledger) -> Result<bool, Fault> {
        let (clock, settings) = (&self.context.clock, &self.context.settings);
        let mut progress = self.progress.subscribe();
        self.position_waits.notify_waiters();
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
                biased;
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
        if planted!("reached-too-early") {
            return Ok(true);
        }
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
                Some(reader) => self.has_passed_here(target, snapshot, &reader, is_own, checks).await?,
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

    /// Whether the backfills of projections that this instance knows have passed the target in a range.
    fn are_backfilled(
        &self,
        target: PositionTarget<'_>,
        source: &FeedSource,
        range: &FeedRange,
        of: &[Backfill],
    ) -> bool {
        let is_known = |backfill: &&Backfill| source.scope.projections.contains(&backfill.projection);
        of.iter()
            .filter(is_known)
            .all(|Backfill { place, .. }| target.is_passed(&*self.context.store, range, &place.progress))
    }

    async fn has_passed_here(
        &self,
        target: PositionTarget<'_>,
        LeaseSnapshot { source, item }: &LeaseSnapshot,
        reader: &Arc<RangeReader>,
        is_own: bool,
        checks: &mut PositionChecks,
    ) -> Result<bool, Fault> {
        let pages = reader.statistics.pages.load(Ordering::Acquire);
        let looks_before = checks.looks_before(&item.id, reader);
        if !self.are_backfilled(target, source, &item.range, &reader.backfills.present()) {
            return Ok(false);
        }
        let at = reader.position();
        if target.is_passed(&*self.context.store, &item.range, &at.progress) {
            return Ok(true);
        }
        let now = ReaderProgress::InThisInstance { pages, looks_before };
        if self.context.store.counts_locally() {
            let feed = RangeFeed::of_source(source, item.range.clone());
            // Counted in this process: an account makes no request for it.
            let uncharged = Ledger::new();
            if !checks.is_unchanged(&item.id, &now)
                && feed.pending(at.continuation.as_ref(), 1, &uncharged).await?.0 == 0
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

    /// Whether the holder of a lease serves each projection that this instance knows, or backfills it. An
    /// instance of an older release does not serve the projections that were added since.
    fn serves_all(source: &FeedSource, lease: &LeaseItem) -> bool {
        source.scope.projections.iter().all(|name| {
            lease.projections.contains(name)
                || lease.backfills.iter().any(|backfill| backfill.projection == *name)
        })
    }

    /// A look at the remaining changes costs a request, once for each checkpoint: only a change that a
    /// projection needs moves it.
    async fn has_passed_elsewhere(
        &self,
        target: PositionTarget<'_>,
        LeaseSnapshot { source, item }: &LeaseSnapshot,
        lease: &LeaseItem,
        checks: &mut PositionChecks,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let are_backfilled = Self::serves_all(source, lease)
            && self.are_backfilled(target, source, &item.range, &lease.backfills);
        let at = lease.continuation.as_ref();
        if are_backfilled && target.is_passed(&*self.context.store, &item.range, &lease.progress) {
            return Ok(true);
        }
        let now = ReaderProgress::InAnotherInstance(lease.continuation.clone());
        let feed = RangeFeed::of_source(source, item.range.clone());
        let is_new = are_backfilled && !checks.is_unchanged(&item.id, &now);
        if is_new && feed.pending(at, 1, ledger).await?.0 == 0 {
            return Ok(true);
        }
        checks.awaits_others |= self.context.settings.sharing != Sharing::Alone;
        checks.leases.insert(item.id.clone(), PositionCheck::Before(now));
        Ok(false)
    }

    /// The awaited leases that other instances hold, read now.
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

    /// Whether the write is among the dead letters. Where its logical partitions are unknown, each dead
    /// letter since then counts.
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
