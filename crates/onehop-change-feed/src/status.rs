//! Status and change feed estimator: pending changes, lag and owner of each lease.
//!
//! Where the store counts pending changes by itself they are counted. Elsewhere the change feed is not read:
//! the figures come from the last pages of the readers, and for other instances from their last checkpoints.
//! Leases of other instances are read again where they are older than an acquire interval, on the caller's
//! account. Where that has failed for an expiration interval, there is no status.

use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::try_join_all;
use serde::Serialize;

use super::counters::PendingCount;
use super::feed_place::Backfill;
use super::instance::{Instance, LeaseSnapshot};
use super::lease::LeaseItem;
use super::page_error::StallCause;
use super::range_feed::RangeFeed;
use super::reader::{RangeReader, ReaderPosition};
use super::runner::Runner;
use super::settings::{Sharing, milliseconds};
use onehop_store::{ContainerName, Continuation, Fault, Ledger, RequestCharge};

/// The status of a projection.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectionStatus {
    /// The name of the projection.
    pub projection: &'static str,
    /// The container whose change feed it follows.
    pub source: &'static str,
    /// Whether every feed range has a reader, here or in another instance that is alive.
    pub running: bool,
    /// Changes that wait, counted up to [`PENDING_COUNT_MAX`] in each feed range; of a service, estimated
    /// when they were last read.
    pub pending_changes: u64,
    /// The age of the oldest waiting change, in milliseconds; 0 when no change waits. Of a service, the age
    /// of the last completed change where others wait, and the time since the last look if there was no look
    /// for twice the poll interval.
    pub lag_ms: u64,
    /// Logical partitions with dead letters.
    pub dead_letters: u64,
    /// Changes projected by this instance since the start.
    pub changes: u64,
    /// The charge of this instance for the projection since the start.
    pub request_charge: RequestCharge,
    /// The last failure since the start, even if a retry mended it.
    pub last_error: Option<String>,
    /// The time for which this instance has not got past a page of some feed range, in milliseconds; 0
    /// without a stall.
    pub stalled_ms: u64,
    /// Why it does not.
    pub stall_cause: Option<StallCause>,
}

/// The status of a lease: one feed range of a source container, read for all projections that follow it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseStatus {
    /// The source container.
    pub container: &'static str,
    /// The feed range, in the form of the store.
    pub range: String,
    /// The owner at the last balancing round; `None` without one.
    pub owner: Option<String>,
    /// Whether this instance owns it.
    pub mine: bool,
    /// The number of acquisitions of the lease.
    pub epoch: u64,
    /// Changes projected under this lease since this instance acquired it.
    pub changes: u64,
    /// Pages that failed since this instance acquired it.
    pub errors: u64,
    /// Changes that wait, counted up to [`PENDING_COUNT_MAX`]; another instance's after its last checkpoint.
    pub pending_changes: u64,
    /// The age of the oldest waiting change, in milliseconds; 0 when no change waits.
    pub lag_ms: u64,
    /// The last failure of a page since this instance acquired it.
    pub last_error: Option<String>,
}

/// The status of all projections and leases at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProcessorStatus {
    /// The status of each projection.
    pub projections: Vec<ProjectionStatus>,
    /// The status of each lease, by source container and feed range.
    pub leases: Vec<LeaseStatus>,
}

/// Whether the change feed is read for a projection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProjectionHealth {
    /// The name of the projection.
    pub projection: &'static str,
    /// Whether every feed range has a reader, here or in another instance that is alive.
    pub running: bool,
}

/// Pending changes that are counted in one feed range.
pub const PENDING_COUNT_MAX: u64 = 10_000;

impl Instance {
    pub(super) fn health(&self) -> Vec<ProjectionHealth> {
        let known = self.known();
        let runs = |lease: &LeaseSnapshot| match self.owned.get(&lease.item.id) {
            Some(reader) => reader.statistics.running.load(Ordering::Relaxed),
            None => lease.item.owner.as_deref().is_some_and(|owner| self.is_live(owner)),
        };
        let following = |projection: &'static str, source: ContainerName| {
            let mut leases = known.iter().filter(|lease| lease.source.container == source).peekable();
            ProjectionHealth { projection, running: leases.peek().is_some() && leases.all(runs) }
        };
        let projections = self.runners.iter().map(|runner| &runner.projection);
        projections.map(|projection| following(projection.name(), projection.source())).collect()
    }

    pub(super) async fn leases(&self, ledger: &Ledger) -> Result<Vec<LeaseStatus>, Fault> {
        self.refresh_known(ledger).await?;
        let known = self.known();
        try_join_all(known.iter().map(|lease| self.lease(lease))).await
    }

    async fn lease(&self, LeaseSnapshot { source, item }: &LeaseSnapshot) -> Result<LeaseStatus, Fault> {
        let reader = self.owned.get(&item.id);
        let feed = RangeFeed::of_source(source, item.range.clone());
        let (count, lag_ms) = self.pending(&feed, item.id.clone(), item, reader.as_deref()).await?;
        let statistics = reader.as_ref().map(|reader| &reader.statistics);
        let counted = |counter: fn(&super::reader::ReaderStatistics) -> &AtomicU64| {
            statistics.map_or(0, |statistics| counter(statistics).load(Ordering::Relaxed))
        };
        Ok(LeaseStatus {
            container: source.container.as_str(),
            range: item.range.0.clone(),
            owner: item.owner.clone(),
            mine: reader.is_some(),
            epoch: item.epoch,
            changes: counted(|statistics| &statistics.changes),
            errors: counted(|statistics| &statistics.errors),
            pending_changes: count,
            lag_ms,
            last_error: statistics.and_then(|statistics| statistics.last_error.lock().clone()),
        })
    }

    pub(super) async fn processor_status(&self, ledger: &Ledger) -> Result<ProcessorStatus, Fault> {
        let leases = self.leases(ledger).await?;
        let mut projections = Vec::with_capacity(self.runners.len());
        for (runner, ProjectionHealth { running, .. }) in self.runners.iter().zip(self.health()) {
            let (pending_changes, lag_ms) = self.pending_of(runner, &leases).await?;
            let stall = runner.stalls.longest(self.context.clock.monotonic_ms());
            projections.push(ProjectionStatus {
                projection: runner.projection.name(),
                source: runner.projection.source().as_str(),
                running,
                pending_changes,
                lag_ms,
                dead_letters: runner.dead_letters.count(),
                changes: runner.counters.changes(),
                request_charge: runner.counters.charge(),
                last_error: runner.counters.last_error(),
                stalled_ms: stall.map_or(0, |(lasted_ms, _)| lasted_ms),
                stall_cause: stall.map(|(_, cause)| cause),
            });
        }
        Ok(ProcessorStatus { projections, leases })
    }

    /// The pending changes of a projection and their lag: of all types of its source, or of its own types
    /// where it needs fewer.
    async fn pending_of(&self, runner: &Runner, leases: &[LeaseStatus]) -> Result<(u64, u64), Fault> {
        let (container, types) = (runner.projection.source(), runner.projection.types());
        let of_source = self.sources.iter().find(|source| source.container == container);
        let same_types = of_source.is_none_or(|source| source.types.as_deref() == types);
        let name = runner.projection.name();
        let known = self.known();
        let own_leases = || known.iter().filter(|lease| lease.source.container == container);
        let is_backfilled = own_leases().any(|lease| self.backfill_of(name, &lease.item).is_some());
        // The estimate of a service covers all types.
        if !is_backfilled && (same_types || !self.context.store.counts_locally()) {
            let own = || leases.iter().filter(|lease| lease.container == container.as_str());
            let pending = own().map(|lease| lease.pending_changes).sum();
            return Ok((pending, own().map(|lease| lease.lag_ms).max().unwrap_or(0)));
        }
        let counts = try_join_all(own_leases().map(|LeaseSnapshot { item, .. }| async move {
            let reader = self.owned.get(&item.id);
            let feed = RangeFeed::of_projection(runner, item.range.clone());
            let types = types.unwrap_or_default().join("~");
            match self.backfill_of(name, item) {
                Some(backfill) => {
                    let key = format!("{}~{types}~{name}", item.id);
                    self.pending_at(&feed, key, ReaderPosition::of_backfill(backfill)).await
                }
                None => self.pending(&feed, format!("{}~{types}", item.id), item, reader.as_deref()).await,
            }
        }));
        let counts = counts.await?;
        let lag_ms = counts.iter().map(|(_, lag_ms)| *lag_ms).max();
        Ok((counts.iter().map(|(count, _)| count).sum(), lag_ms.unwrap_or(0)))
    }

    fn lag_ms(&self, oldest_ms: Option<i64>) -> u64 {
        let lag_ms = oldest_ms.map_or(0, |oldest_ms| self.context.clock.now_ms().saturating_sub(oldest_ms));
        u64::try_from(lag_ms).unwrap_or(0)
    }

    /// Whether nothing waits in the ranges whose leases others hold, behind the checkpoints of the last
    /// balancing round.
    pub(super) async fn others_are_drained(&self) -> Result<bool, Fault> {
        for LeaseSnapshot { source, item } in self.known().iter() {
            if self.owned.get(&item.id).is_none() {
                let feed = RangeFeed::of_source(source, item.range.clone());
                let is_known = |backfill: &&Backfill| source.scope.projections.contains(&backfill.projection);
                let behind =
                    item.backfills.iter().filter(is_known).map(|backfill| &backfill.place.continuation);
                for at in behind.chain([&item.continuation]) {
                    if feed.pending(at.as_ref(), 1, &Ledger::new()).await?.0 > 0 {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// The number of changes that wait, and their lag.
    async fn pending(
        &self,
        feed: &RangeFeed,
        key: String,
        item: &LeaseItem,
        reader: Option<&RangeReader>,
    ) -> Result<(u64, u64), Fault> {
        let position = reader.map_or_else(|| ReaderPosition::of_lease(item), RangeReader::position);
        self.pending_at(feed, key, position).await
    }

    /// The backfill of a projection in a feed range, here or where the lease was last read.
    fn backfill_of(&self, projection: &str, item: &LeaseItem) -> Option<Backfill> {
        let backfills = match self.owned.get(&item.id) {
            Some(reader) => reader.backfills.present(),
            None => item.backfills.clone(),
        };
        backfills.into_iter().find(|backfill| backfill.projection == projection)
    }

    async fn pending_at(
        &self,
        feed: &RangeFeed,
        key: String,
        position: ReaderPosition,
    ) -> Result<(u64, u64), Fault> {
        if !self.context.store.counts_locally() {
            return Ok((position.progress.pending(), self.estimated_lag_ms(&position)));
        }
        let (count, oldest_ms) = self.counted(feed, key, position.continuation).await?;
        Ok((count, self.lag_ms(oldest_ms)))
    }

    /// A reader that finds nothing looks again after the poll interval. A reader that does not may miss
    /// changes since then.
    fn estimated_lag_ms(&self, position: &ReaderPosition) -> u64 {
        let clock = &self.context.clock;
        let since = |looked_at_ms| clock.monotonic_ms().saturating_sub(looked_at_ms);
        let unseen_ms = position.looked_at_ms.map_or(0, since);
        let overdue_ms = milliseconds(self.context.settings.poll.longest).saturating_mul(2);
        let unseen_ms = if unseen_ms > overdue_ms { u64::try_from(unseen_ms).unwrap_or(0) } else { 0 };
        position.progress.lag_ms(clock.now_ms()).max(unseen_ms)
    }

    async fn counted(
        &self,
        feed: &RangeFeed,
        key: String,
        position: Option<Continuation>,
    ) -> Result<(u64, Option<i64>), Fault> {
        let now_ms = self.context.clock.monotonic_ms();
        let cached = self.context.settings.sharing != Sharing::Alone;
        if cached && let Some(counted) = self.pending.get(&key, position.as_ref(), now_ms) {
            return Ok(counted);
        }
        let counted = feed.pending(position.as_ref(), PENDING_COUNT_MAX, &Ledger::new()).await?;
        if cached {
            let until_ms = now_ms.saturating_add(milliseconds(self.context.settings.pending_cache));
            self.pending.keep(key, PendingCount { position, counted, until_ms });
        }
        Ok(counted)
    }
}
