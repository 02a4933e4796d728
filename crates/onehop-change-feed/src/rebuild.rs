//! Rebuild and replay: a second pass over a change feed from the beginning (backfill), and another run of
//! dead letters.

use std::sync::atomic::{AtomicU64, Ordering};

use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;

use super::change_checkpoints::ChangeCheckpoints;
use super::dead_letters::{DeadLetterEntry, FailedChange, LetterRange};
use super::expiring_body::ExpiredItem;
use super::page::PageProgress;
use super::page_cache::PageCache;
use super::page_error::{PageError, StallCause};
use super::poison::Poison;
use super::processor::{Processor, ProcessorError};
use super::range_feed::RangeFeed;
use super::rebuild_position::RebuildPosition;
use super::runner::{ChangeError, RunContext, Runner};
use super::settings::{Sharing, milliseconds};
use super::turn::PartitionTurn;
use onehop_store::{Change, Fault, FaultKind, FeedPage, Ledger, PartitionKey};

/// Changes of a feed range that are counted before a rebuild; where there are more, `done` passes `total`.
const TOTAL_COUNT_MAX: u64 = 1_000_000;

/// The progress of a rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RebuildProgress {
    /// Changes projected so far.
    pub done: u64,
    /// Changes there were at the beginning, a million of each feed range at most; writes meanwhile add to
    /// `done` and not to this. `None` where only another pass over the change feed could count them.
    pub total: Option<u64>,
}

/// The result of a rebuild.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RebuildReport {
    /// Changes projected.
    pub done: u64,
    /// Changes there were at the beginning, as [`RebuildProgress::total`].
    pub total: Option<u64>,
    /// Changes that could not be read and are left out.
    pub unreadable: Vec<String>,
}

/// The result of a replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayReport {
    /// Items that were projected and have left the dead letters.
    pub items_replayed: u64,
    /// Logical partitions that still have dead letters.
    pub partitions_parked: u64,
}

impl Processor {
    /// Fills a read model again from the beginning of the change feed, beside the live readers. The existing
    /// items stay readable, and the versions of items keep an old change from overwriting a new copy. At the
    /// end the dead letters of the projection are replayed. An interrupted rebuild goes on where it stopped,
    /// within a day. It is background work: a few feed ranges at a time, at low priority.
    ///
    /// # Errors
    /// An unknown projection, a handler, a fault of the store, the stop.
    pub async fn rebuild(
        &self,
        projection: &str,
        progress: &(dyn Fn(RebuildProgress) + Send + Sync),
    ) -> Result<RebuildReport, ProcessorError> {
        self.instance.while_renewing(self.rebuild_all(projection, progress)).await
    }

    async fn rebuild_all(
        &self,
        projection: &str,
        progress: &(dyn Fn(RebuildProgress) + Send + Sync),
    ) -> Result<RebuildReport, ProcessorError> {
        let runner = self.runner(projection)?;
        if runner.projection.has_effects() {
            return Err(ProcessorError::HasEffects(projection.to_owned()));
        }
        runner.read_cache.invalidate();
        let ranges = runner.context.store.feed_ranges(runner.projection.source()).await?;
        let feeds: Vec<_> = ranges.into_iter().map(|range| RangeFeed::of_projection(runner, range)).collect();
        let total = runner.count_locally(&feeds).await?;
        let done = AtomicU64::new(0);
        let report = |changes: usize| {
            let before = done.fetch_add(changes as u64, Ordering::Relaxed);
            progress(RebuildProgress { done: before + changes as u64, total });
        };
        let report = &report;
        report(0);
        let ranges_max = runner.context.settings.rebuild_ranges_max.max(1);
        let passes: Vec<_> = feeds.iter().map(|feed| pass(runner, feed, report)).collect();
        let passed: Vec<_> = stream::iter(passes).buffered(ranges_max).try_collect().await?;
        runner.replay().await?;
        let ledger = Ledger::new();
        let mut unreadable = Vec::new();
        for PassedRange { position, unreadable: of_range } in passed {
            position.delete(&runner.context, &ledger).await?;
            unreadable.extend(of_range);
        }
        runner.counters.add_charge(&ledger);
        Ok(RebuildReport { done: done.into_inner(), total, unreadable })
    }

    /// Runs dead letters again, of one projection or of all. Changes that succeed leave the dead letters.
    ///
    /// # Errors
    /// An unknown projection, a fault of the store, the stop.
    pub async fn replay(&self, projection: Option<&str>) -> Result<ReplayReport, ProcessorError> {
        let mut report = ReplayReport::default();
        let runners: Vec<_> = match projection {
            Some(projection) => vec![self.runner(projection)?],
            None => self.instance.runners.iter().collect(),
        };
        for runner in runners {
            report.items_replayed += runner.replay().await?;
            report.partitions_parked += runner.dead_letters.count();
        }
        Ok(report)
    }
}

/// A feed range that a rebuild has passed.
struct PassedRange {
    position: RebuildPosition,
    /// The unreadable items.
    unreadable: Vec<String>,
}

/// One pass over a feed range, from the beginning or where an earlier rebuild stopped, to where it was
/// drained.
async fn pass(
    runner: &Runner,
    feed: &RangeFeed,
    report: &(dyn Fn(usize) + Send + Sync),
) -> Result<PassedRange, PageError> {
    let context = &*runner.context;
    let mut position = runner.rebuild_position(feed).await?;
    report(usize::try_from(position.done).unwrap_or(usize::MAX));
    let (mut unreadable, mut saved_at_ms) = (Vec::new(), context.clock.monotonic_ms());
    loop {
        let ledger = Ledger::new().for_background();
        let page = runner.with_retries(|| feed.page(position.continuation.as_ref(), &ledger)).await;
        let FeedPage { changes, continuation, drained, .. } = match page {
            Ok(page) => page,
            Err(PageError::Fault(fault)) if fault.kind == FaultKind::Corrupt => {
                unreadable.push(fault.to_string());
                let Some(beyond) = fault.damage().and_then(|damage| damage.beyond.clone()) else {
                    return Ok(PassedRange { position, unreadable });
                };
                position.continuation = Some(beyond);
                continue;
            }
            Err(PageError::Fault(fault))
                if fault.kind == FaultKind::InvalidContinuation && position.continuation.is_some() =>
            {
                // The store does not know the place any more.
                position.continuation = None;
                continue;
            }
            Err(error) => return Err(error),
        };
        let count = changes.len();
        runner.rebuild_page(changes, ledger).await?;
        position.continuation = Some(continuation);
        position.done += count as u64;
        report(count);
        if drained {
            return Ok(PassedRange { position, unreadable });
        }
        let is_stopping = context.stop.is_cancelled();
        let interval_ms = milliseconds(context.settings.checkpoint_interval());
        if is_stopping || context.clock.monotonic_ms() >= saved_at_ms.saturating_add(interval_ms) {
            let ledger = Ledger::new();
            position.save(context, &ledger).await?;
            runner.counters.add_charge(&ledger);
            saved_at_ms = context.clock.monotonic_ms();
        }
        if is_stopping {
            return Err(PageError::Stopping);
        }
    }
}

impl Runner {
    /// Projects a page. Faults of the store are waited out, without end, except for a full disk: that is the
    /// caller's to know.
    async fn rebuild_page(&self, changes: Vec<Change>, ledger: Ledger) -> Result<(), PageError> {
        let (mut progress, mut failures) = (PageProgress::default(), 0);
        let mut ledger = Some(ledger);
        loop {
            let ledger = ledger.take().unwrap_or_else(|| Ledger::new().for_background());
            let checkpoints = ChangeCheckpoints::Nowhere;
            let outcome = self.run_page(changes.clone(), &mut progress, checkpoints, &ledger).await;
            self.counters.add_charge(&ledger);
            let Err(error) = outcome else { return Ok(()) };
            let is_full = error.stall_cause() == Some(StallCause::Fault(FaultKind::Full));
            if is_full || !error.is_transient() {
                return Err(error);
            }
            self.counters.record_error(&error.to_string());
            if !self.context.pause_after_page(failures, &error).await {
                return Err(PageError::Stopping);
            }
            failures = failures.saturating_add(1);
        }
    }

    /// The changes in these feed ranges, where the store counts them by itself.
    async fn count_locally(&self, feeds: &[RangeFeed]) -> Result<Option<u64>, Fault> {
        if !self.context.store.counts_locally() {
            return Ok(None);
        }
        let mut total = 0;
        for feed in feeds {
            total += feed.pending(None, TOTAL_COUNT_MAX, &Ledger::new()).await?.0;
        }
        Ok(Some(total))
    }

    async fn rebuild_position(&self, feed: &RangeFeed) -> Result<RebuildPosition, PageError> {
        let ledger = Ledger::new();
        let (context, projection) = (&self.context, self.projection.name());
        let found =
            self.with_retries(|| RebuildPosition::find(context, projection, &feed.range, &ledger)).await;
        self.counters.add_charge(&ledger);
        found
    }
}

impl Runner {
    /// Replays the dead letters of the projection; returns the number of items projected.
    async fn replay(&self) -> Result<u64, PageError> {
        let mut replayed = 0;
        let ledger = Ledger::new();
        if self.context.settings.sharing != Sharing::Alone {
            self.dead_letters.reload(&ledger).await?;
        }
        for (partition_key, letters) in self.dead_letters.all() {
            replayed += self.replay_partition(&partition_key, letters, &ledger).await?;
        }
        self.counters.add_charge(&ledger);
        Ok(replayed)
    }

    /// Replays the letters of one logical partition in order, up to the first change that fails again.
    pub(super) async fn replay_partition(
        &self,
        partition_key: &PartitionKey,
        letters: LetterRange,
        ledger: &Ledger,
    ) -> Result<u64, PageError> {
        let mut replayed = 0;
        for number in letters.first..=letters.last {
            let (items, emptied) = self.replay_letter(partition_key, number, ledger).await?;
            replayed += items;
            if !emptied {
                break;
            }
        }
        Ok(replayed)
    }

    /// Replays a letter, including changes that live readers add meanwhile, until it is empty or a change
    /// fails again.
    async fn replay_letter(
        &self,
        partition_key: &PartitionKey,
        number: u32,
        ledger: &Ledger,
    ) -> Result<(u64, bool), PageError> {
        let mut replayed = 0;
        loop {
            let Some((letter, _)) = self.dead_letters.read(partition_key, number, ledger).await? else {
                self.dead_letters.record_replay(partition_key, number, &[], None, ledger).await?;
                return Ok((replayed, true));
            };
            let mut done = Vec::new();
            let (mut failed, mut interrupted) = (None, None);
            for entry in letter.items {
                match self.replay_item(partition_key, &entry, ledger).await {
                    Ok(()) => done.push(entry),
                    Err(ChangeError::Page(error)) => {
                        interrupted = Some(error);
                        break;
                    }
                    Err(ChangeError::Poison { attempts, poison }) => {
                        self.counters.record_error(&poison.error);
                        failed = Some(FailedChange::failed_again(&entry.id, attempts, &poison));
                        break;
                    }
                }
            }
            replayed += done.len() as u64;
            let emptied = self
                .dead_letters
                .record_replay(partition_key, number, &done, failed.as_ref(), ledger)
                .await?;
            if let Some(error) = interrupted {
                return Err(error);
            }
            if emptied || failed.is_some() {
                return Ok((replayed, emptied));
            }
        }
    }

    async fn replay_item(
        &self,
        partition_key: &PartitionKey,
        entry: &DeadLetterEntry,
        ledger: &Ledger,
    ) -> Result<(), ChangeError> {
        let source = self.projection.source();
        let item = self
            .with_retries(|| self.context.store.read(source, partition_key, &entry.id, ledger))
            .await
            .map_err(|error| match error {
                PageError::Fault(fault) => match Poison::of_fault(fault) {
                    // It stays a dead letter, and the letters of other logical partitions are tried.
                    Ok(poison) => ChangeError::Poison { attempts: 1, poison },
                    Err(fault) => ChangeError::Page(fault.into()),
                },
                error => ChangeError::Page(error),
            })?;
        let (shared, checkpoints, mut turn) =
            (PageCache::default(), ChangeCheckpoints::Nowhere, PartitionTurn::unbounded());
        let context = RunContext { shared: &shared, checkpoints, ledger };
        if let Some(item) = item {
            let change = Change { partition_key: partition_key.clone(), id: entry.id.clone(), item };
            self.run_change(&change, None, context, &mut turn).await?;
            return Ok(());
        }
        let expired = self.with_retries(|| entry.expired_item(partition_key, &self.context, ledger)).await;
        match expired.map_err(ChangeError::Page)? {
            ExpiredItem::Change(change) => self.run_expired(&change, context, &mut turn).await.map(drop),
            ExpiredItem::Unneeded => Ok(()),
            ExpiredItem::Lost(error) => {
                Err(ChangeError::Poison { attempts: 1, poison: Poison::lost_body(error) })
            }
        }
    }

    async fn with_retries<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        attempt: impl Fn() -> F,
    ) -> Result<T, PageError> {
        let stopping = |fault: &Fault| fault.kind.is_transient() && self.context.stop.is_cancelled();
        let outcome = self.context.with_retries(attempt).await;
        outcome.map_err(|fault| if stopping(&fault) { PageError::Stopping } else { fault.into() })
    }
}
