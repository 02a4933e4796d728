//! Operations under way: how a test with a virtual clock knows that a store still works in another thread.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the running and the ended operations.
#[derive(Debug, Default)]
pub struct Operations {
    under_way: AtomicUsize,
    progress: AtomicUsize,
}

/// An operation, until it is dropped.
pub struct OperationUnderWay<'a>(&'a Operations);

impl Operations {
    /// Begins an operation.
    pub fn begin(&self) -> OperationUnderWay<'_> {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        OperationUnderWay(self)
    }

    /// A number that changes with each call while an operation is under way, and with the end of each
    /// operation.
    pub fn progress(&self) -> usize {
        if self.under_way.load(Ordering::SeqCst) > 0 {
            self.progress.fetch_add(1, Ordering::SeqCst);
        }
        self.progress.load(Ordering::SeqCst)
    }
}

impl Drop for OperationUnderWay<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
        self.0.progress.fetch_add(1, Ordering::SeqCst);
    }
}
