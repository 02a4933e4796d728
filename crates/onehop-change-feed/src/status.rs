//! Status and change feed estimator: pending changes, lag and owner of each lease. Only the number of pending changes is read
//! from the store. The lease container is not read: what concerns other instances is as old as the last balancing round.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::try_join_all;
use serde::Serialize;

use super::counters::PendingCount;
use super::instance::{Instance, LeaseSnapshot};
use super::range_feed::RangeFeed;
use super::reader::RangeReader;
use super::settings::{Sharing, milliseconds};
use onehop_store::{Fault, Ledger, RequestCharge};

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
    /// Changes that wait, counted up to [`PENDING_COUNT_MAX`] in each feed range.
    pub pending_changes: u64,
    /// The age of the oldest change that waits, in milliseconds; 0 when none does.
    pub lag_ms: u64,
    /// Logical partitions with dead letters.
    pub dead_letters: u64,
    /// Changes projected by this instance since the start.
    pub changes: u64,
    /// What this instance was charged for the projection since the start.
    pub request_charge: RequestCharge,
    /// The last failure since the start, also one that a retry mended.
    pub last_error: Option<String>,
}

/// The status of a lease: one feed range, read for one projection.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseStatus {
    /// The name of the projection.
    pub projection: &'static str,
    /// The container.
    pub container: &'static str,
    /// The feed range, in the form of the store.
    pub range: String,
    /// The owner at the last balancing round; `None` without one.
    pub owner: Option<String>,
    /// Whether this instance owns it.
    pub mine: bool,
    /// How often the lease was acquired.
    pub epoch: u64,
    /// Changes projected under this lease since this instance acquired it.
    pub changes: u64,
    /// Pages that failed since this instance acquired it.
    pub errors: u64,
    /// Changes that wait, counted up to [`PENDING_COUNT_MAX`]; another instance's after its last checkpoint.
    pub pending_changes: u64,
    /// The age of the oldest change that waits, in milliseconds; 0 when none does.
    pub lag_ms: u64,
    /// The last failure of a page since this instance acquired it.
    pub last_error: Option<String>,
}

/// The status of all projections and leases at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProcessorStatus {
    /// The status of each projection.
    pub projections: Vec<ProjectionStatus>,
    /// Of all projections.
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
        let now_ms = self.context.clock.now_ms();
        let runs = |lease: &LeaseSnapshot| match self.owned.get(&lease.item.id) {
            Some(reader) => reader.statistics.running.load(Ordering::Relaxed),
            None => lease.item.live_owner(now_ms).is_some(),
        };
        let following = |projection: &'static str| {
            let mut leases =
                known.iter().filter(|lease| lease.runner.projection.name() == projection).peekable();
            ProjectionHealth { projection, running: leases.peek().is_some() && leases.all(runs) }
        };
        self.runners.iter().map(|runner| following(runner.projection.name())).collect()
    }

    pub(super) async fn leases(&self) -> Result<Vec<LeaseStatus>, Fault> {
        let known = self.known();
        try_join_all(known.iter().map(|lease| self.lease(lease))).await
    }

    async fn lease(&self, LeaseSnapshot { runner, item }: &LeaseSnapshot) -> Result<LeaseStatus, Fault> {
        let reader = self.owned.get(&item.id);
        let (count, oldest_ms) = self.pending(runner, item, reader.as_deref()).await?;
        let lag_ms = oldest_ms.map_or(0, |oldest_ms| self.context.clock.now_ms().saturating_sub(oldest_ms));
        let statistics = reader.as_ref().map(|reader| &reader.statistics);
        let counted = |counter: fn(&super::reader::ReaderStatistics) -> &AtomicU64| {
            statistics.map_or(0, |statistics| counter(statistics).load(Ordering::Relaxed))
        };
        Ok(LeaseStatus {
            projection: runner.projection.name(),
            container: runner.projection.source().as_str(),
            range: item.range.0.clone(),
            owner: item.owner.clone(),
            mine: reader.is_some(),
            epoch: item.epoch,
            changes: counted(|statistics| &statistics.changes),
            errors: counted(|statistics| &statistics.errors),
            pending_changes: count,
            lag_ms: u64::try_from(lag_ms).unwrap_or(0),
            last_error: statistics.and_then(|statistics| statistics.last_error.lock().clone()),
        })
    }

    pub(super) async fn processor_status(&self) -> Result<ProcessorStatus, Fault> {
        let leases = self.leases().await?;
        let projections = self.statuses(&leases);
        Ok(ProcessorStatus { projections, leases })
    }

    fn statuses(&self, leases: &[LeaseStatus]) -> Vec<ProjectionStatus> {
        let status =
            |(runner, ProjectionHealth { running, .. }): (&Arc<super::runner::Runner>, ProjectionHealth)| {
                let (name, source) = (runner.projection.name(), runner.projection.source());
                let own = || leases.iter().filter(|lease| lease.projection == name);
                ProjectionStatus {
                    projection: name,
                    source: source.as_str(),
                    running,
                    pending_changes: own().map(|lease| lease.pending_changes).sum(),
                    lag_ms: own().map(|lease| lease.lag_ms).max().unwrap_or(0),
                    dead_letters: runner.dead_letters.count(),
                    changes: runner.counters.changes(),
                    request_charge: runner.counters.charge(),
                    last_error: runner.counters.last_error(),
                }
            };
        self.runners.iter().zip(self.health()).map(status).collect()
    }

    /// Whether nothing waits in the ranges whose leases others hold, behind the checkpoints of the last balancing round.
    pub(super) async fn others_are_drained(&self) -> Result<bool, Fault> {
        for LeaseSnapshot { runner, item } in self.known().iter() {
            if self.owned.get(&item.id).is_none() {
                let feed = RangeFeed { runner: Arc::clone(runner), range: item.range.clone() };
                if feed.pending(item.continuation.as_ref(), 1, &Ledger::new()).await?.0 > 0 {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    async fn pending(
        &self,
        runner: &Arc<super::runner::Runner>,
        item: &super::lease::LeaseItem,
        reader: Option<&RangeReader>,
    ) -> Result<(u64, Option<i64>), Fault> {
        let position = reader.map_or_else(|| item.continuation.clone(), RangeReader::position);
        let now_ms = self.context.clock.now_ms();
        let cached = self.context.settings.sharing != Sharing::Alone;
        if cached && let Some(counted) = self.pending.get(&item.id, position.as_ref(), now_ms) {
            return Ok(counted);
        }
        let feed = RangeFeed { runner: Arc::clone(runner), range: item.range.clone() };
        let counted = feed.pending(position.as_ref(), PENDING_COUNT_MAX, &Ledger::new()).await?;
        if cached {
            let until_ms = now_ms.saturating_add(milliseconds(self.context.settings.pending_cache));
            self.pending.keep(&item.id, PendingCount { position, counted, until_ms });
        }
        Ok(counted)
    }
}
