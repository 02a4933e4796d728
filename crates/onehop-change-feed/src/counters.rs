//! Counters of a projection in this instance, and a cache of the estimator's counts. Both are in memory
//! alone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use onehop_store::{Continuation, Ledger, RequestCharge};
use parking_lot::Mutex;

/// Cache of estimates: a status that is requested often does not read the change feeds as often.
#[derive(Debug, Default)]
pub(super) struct PendingCache(Mutex<HashMap<String, PendingCount>>);

/// The number of changes after a position, and when the oldest was written (Unix ms); valid until a moment
/// (monotonic ms).
#[derive(Debug)]
pub(super) struct PendingCount {
    pub(super) position: Option<Continuation>,
    pub(super) counted: (u64, Option<i64>),
    pub(super) until_ms: i64,
}

impl PendingCache {
    pub(super) fn get(
        &self,
        key: &str,
        position: Option<&Continuation>,
        now_ms: i64,
    ) -> Option<(u64, Option<i64>)> {
        let cache = self.0.lock();
        let counted = cache.get(key)?;
        let fresh = counted.position.as_ref() == position && now_ms < counted.until_ms;
        fresh.then_some(counted.counted)
    }

    pub(super) fn keep(&self, key: String, counted: PendingCount) {
        let mut cache = self.0.lock();
        cache.insert(key, counted);
    }
}

/// Counters of one projection in this instance since the start: changes, request charge, last error.
#[derive(Debug, Default)]
pub(super) struct ProjectionCounters {
    changes: AtomicU64,
    charged: Mutex<f64>,
    last_error: Mutex<Option<String>>,
}

impl ProjectionCounters {
    pub(super) fn add_changes(&self, changes: usize) {
        self.changes.fetch_add(changes as u64, Ordering::Relaxed);
    }

    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    pub(super) fn add_charge(&self, ledger: &Ledger) {
        self.add_charge_part(ledger, 1);
    }

    /// Adds this projection's share of a charge that several projections caused together.
    pub(super) fn add_charge_part(&self, ledger: &Ledger, parts: usize) {
        *self.charged.lock() += ledger.total().0 / parts as f64;
    }

    pub(super) fn charge(&self) -> RequestCharge {
        RequestCharge(*self.charged.lock())
    }

    pub(super) fn record_error(&self, error: &str) {
        *self.last_error.lock() = Some(error.to_owned());
    }

    pub(super) fn last_error(&self) -> Option<String> {
        self.last_error.lock().clone()
    }
}
