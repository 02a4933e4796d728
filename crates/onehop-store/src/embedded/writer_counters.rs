//! Counters of the writer: commits, requests, and the observers that hear of commits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::phase_timer::PhaseTimer;
use crate::StoreObserver;

/// The work of the writer of a store since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statistics {
    /// Commits to the disk; with [`Durability::Sync`](super::Durability::Sync) each is one fsync.
    pub commits: u64,
    /// Writes and batches that were asked for, the refused ones included.
    pub requests: u64,
}

#[derive(Default)]
pub(super) struct WriterCounters {
    commits: AtomicU64,
    requests: AtomicU64,
    /// The observers of commits.
    observers: OnceLock<Arc<[Arc<dyn StoreObserver>]>>,
}

impl WriterCounters {
    pub(super) fn statistics(&self) -> Statistics {
        Statistics {
            commits: self.commits.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
        }
    }

    /// Has them hear of commits from now on, unless others do already.
    pub(super) fn observe(&self, observers: Arc<[Arc<dyn StoreObserver>]>) {
        let _ = self.observers.set(observers);
    }

    /// Counts requests that were asked for.
    pub(super) fn on_requests(&self, requests: u64) {
        self.requests.fetch_add(requests, Ordering::Relaxed);
    }

    /// Counts a commit before it is done.
    pub(super) fn on_commit_begun(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    /// A commit is done: observers hear of it.
    pub(super) fn on_commit(&self, duration: Duration) {
        for observer in self.observers.get().into_iter().flat_map(|observers| observers.iter()) {
            observer.on_commit(duration);
        }
    }

    /// A commit has been answered: observers hear of its phases.
    pub(super) fn on_phases(&self, timer: &PhaseTimer) {
        for observer in self.observers.get().into_iter().flat_map(|observers| observers.iter()) {
            timer.durations().for_each(|(phase, duration)| observer.on_commit_phase(phase, duration));
        }
    }
}
