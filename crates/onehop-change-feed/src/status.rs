//! What the processor says about itself. Counting is done in memory; only the number of pending changes asks the
//! store, and never the lease container: what is said of other instances is as old as the last tick.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::try_join_all;
use serde::Serialize;

use super::instance::{Instance, KnownLease};
use super::range_feed::RangeFeed;
use super::reader::RangeReader;
use super::settings::{Sharing, milliseconds};
use onehop_store::{Continuation, Fault, Ledger, RequestCharge};

/// How one projection is doing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectionStatus {
    pub projection: &'static str,
    /// The container whose change feed it follows.
    pub source: &'static str,
    /// Whether every feed range has a reader, here or in another instance that is alive.
    pub running: bool,
    /// Changes that wait, counted up to [`PENDING_COUNT_MAX`] in each feed range.
    pub pending_changes: u64,
    /// The age of the oldest change that waits, in milliseconds; 0 when none does.
    pub lag_ms: u64,
    /// Logical partitions whose changes are parked.
    pub dead_letters: u64,
    /// Changes projected by this instance since the start.
    pub changes: u64,
    /// What this instance was charged for the projection since the start.
    pub request_charge: RequestCharge,
    /// The last failure since the start, also one that a retry mended.
    pub last_error: Option<String>,
}

/// How the reading of one feed range for one projection is doing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseStatus {
    pub projection: &'static str,
    pub container: &'static str,
    /// The feed range, in the store's own words.
    pub range: String,
    /// Who holds the lease, as of the last tick; `None` when nobody does.
    pub owner: Option<String>,
    /// Whether this instance holds it.
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

/// Where everything stands at one look.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Standing {
    pub projections: Vec<ProjectionStatus>,
    /// Of all projections.
    pub leases: Vec<LeaseStatus>,
}

/// Whether somebody follows the change feed for a projection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Following {
    pub projection: &'static str,
    /// Whether every feed range has a reader, here or in another instance that is alive.
    pub running: bool,
}

/// Pending changes that are counted in one feed range.
pub const PENDING_COUNT_MAX: u64 = 10_000;

impl Instance {
    pub(super) fn following(&self) -> Vec<Following> {
        let known = self.known();
        let now_ms = self.host.clock.now_ms();
        let runs = |lease: &KnownLease| match self.held.get(&lease.item.id) {
            Some(reader) => reader.seen.running.load(Ordering::Relaxed),
            None => lease.item.live_owner(now_ms).is_some(),
        };
        let following = |projection: &'static str| {
            let mut leases =
                known.iter().filter(|lease| lease.runner.projection.name() == projection).peekable();
            Following { projection, running: leases.peek().is_some() && leases.all(runs) }
        };
        self.runners.iter().map(|runner| following(runner.projection.name())).collect()
    }

    pub(super) async fn leases(&self) -> Result<Vec<LeaseStatus>, Fault> {
        let known = self.known();
        try_join_all(known.iter().map(|lease| self.lease(lease))).await
    }

    async fn lease(&self, KnownLease { runner, item }: &KnownLease) -> Result<LeaseStatus, Fault> {
        let reader = self.held.get(&item.id);
        let (count, oldest_ms) = self.pending(runner, item, reader.as_deref()).await?;
        let lag_ms = oldest_ms.map_or(0, |oldest_ms| self.host.clock.now_ms().saturating_sub(oldest_ms));
        let seen = reader.as_ref().map(|reader| &reader.seen);
        let counted = |counter: fn(&super::reader::Seen) -> &AtomicU64| {
            seen.map_or(0, |seen| counter(seen).load(Ordering::Relaxed))
        };
        Ok(LeaseStatus {
            projection: runner.projection.name(),
            container: runner.projection.source().as_str(),
            range: item.range.0.clone(),
            owner: item.owner.clone(),
            mine: reader.is_some(),
            epoch: item.epoch,
            changes: counted(|seen| &seen.changes),
            errors: counted(|seen| &seen.errors),
            pending_changes: count,
            lag_ms: u64::try_from(lag_ms).unwrap_or(0),
            last_error: seen
                .and_then(|seen| seen.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        })
    }

    pub(super) async fn standing(&self) -> Result<Standing, Fault> {
        let leases = self.leases().await?;
        let projections = self.statuses(&leases);
        Ok(Standing { projections, leases })
    }

    fn statuses(&self, leases: &[LeaseStatus]) -> Vec<ProjectionStatus> {
        let status = |(runner, Following { running, .. }): (&Arc<super::runner::Runner>, Following)| {
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
        self.runners.iter().zip(self.following()).map(status).collect()
    }

    /// Whether nothing waits in the ranges whose leases others hold, behind the checkpoints that the last tick saw.
    pub(super) async fn others_are_drained(&self) -> Result<bool, Fault> {
        for KnownLease { runner, item } in self.known().iter() {
            if self.held.get(&item.id).is_none() {
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
        let now_ms = self.host.clock.now_ms();
        let cached = self.host.settings.sharing != Sharing::Alone;
        if cached && let Some(counted) = self.pending.get(&item.id, position.as_ref(), now_ms) {
            return Ok(counted);
        }
        let feed = RangeFeed { runner: Arc::clone(runner), range: item.range.clone() };
        let counted = feed.pending(position.as_ref(), PENDING_COUNT_MAX, &Ledger::new()).await?;
        if cached {
            let until_ms = now_ms.saturating_add(milliseconds(self.host.settings.pending_cache));
            self.pending.keep(&item.id, Counted { position, counted, until_ms });
        }
        Ok(counted)
    }
}

/// Counts of pending changes, so that a status asked for often does not read the feeds as often.
#[derive(Debug, Default)]
pub(super) struct PendingCache(Mutex<HashMap<String, Counted>>);

#[derive(Debug)]
struct Counted {
    position: Option<Continuation>,
    counted: (u64, Option<i64>),
    until_ms: i64,
}

impl PendingCache {
    fn get(&self, lease: &str, position: Option<&Continuation>, now_ms: i64) -> Option<(u64, Option<i64>)> {
        let cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = cache.get(lease)?;
        let fresh = counted.position.as_ref() == position && now_ms < counted.until_ms;
        fresh.then_some(counted.counted)
    }

    fn keep(&self, lease: &str, counted: Counted) {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.insert(lease.to_owned(), counted);
    }
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    changes: AtomicU64,
    charged: Mutex<f64>,
    last_error: Mutex<Option<String>>,
}

impl Counters {
    pub(super) fn add_changes(&self, changes: usize) {
        self.changes.fetch_add(changes as u64, Ordering::Relaxed);
    }

    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    pub(super) fn add_charge(&self, ledger: &Ledger) {
        self.add_charge_part(ledger, 1);
    }

    /// Adds this projection's part of what so many were charged together.
    pub(super) fn add_charge_part(&self, ledger: &Ledger, parts: usize) {
        *self.charged.lock().unwrap_or_else(PoisonError::into_inner) += ledger.total().0 / parts as f64;
    }

    pub(super) fn charge(&self) -> RequestCharge {
        RequestCharge(*self.charged.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn note_error(&self, error: &str) {
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_owned());
    }

    pub(super) fn last_error(&self) -> Option<String> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
