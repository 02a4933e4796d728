//! What the processor says about itself. Counting is done in memory; only the number of pending changes asks the
//! store, and never the lease container.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::store::{Ledger, RequestCharge};

/// How one projection is doing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectionStatus {
    pub projection: &'static str,
    /// The container whose change feed it follows.
    pub source: &'static str,
    /// Whether a reader of every feed range is running.
    pub running: bool,
    /// Changes that wait, counted up to [`PENDING_COUNT_MAX`] in each feed range.
    pub pending_changes: u64,
    /// The age of the oldest change that waits, in milliseconds; 0 when none does.
    pub lag_ms: u64,
    /// Logical partitions whose changes are parked.
    pub dead_letters: u64,
    /// Changes projected since the start.
    pub changes: u64,
    /// What the projection was charged since the start.
    pub request_charge: RequestCharge,
    /// The last failure since the start, also one that a retry mended.
    pub last_error: Option<String>,
}

/// Pending changes that are counted in one feed range.
pub const PENDING_COUNT_MAX: u64 = 10_000;

#[derive(Debug, Default)]
pub(super) struct Counters {
    changes: AtomicU64,
    running: AtomicU32,
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
        *self.charged.lock().unwrap_or_else(PoisonError::into_inner) += ledger.total().0;
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

    pub(super) fn running(&self) -> u32 {
        self.running.load(Ordering::Relaxed)
    }

    /// Counts a reader as running until the guard is dropped.
    pub(super) fn run(&self) -> Running<'_> {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running(self)
    }
}

pub(super) struct Running<'a>(&'a Counters);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}
