//! Turns: a bound of the logical partitions that a projection works on at the same time, over all feed ranges
//! of this process.
//!
//! Readers that write to one logical partition would otherwise refuse each other, and the slowest of them
//! would starve. A turn is given back while a retry waits for the store, so that a feed range whose writes
//! fail does not keep the others waiting.

use tokio::sync::{Semaphore, SemaphorePermit};

/// The turn of a logical partition.
pub(super) struct PartitionTurn<'a> {
    permits: Option<&'a Semaphore>,
    permit: Option<SemaphorePermit<'a>>,
}

impl<'a> PartitionTurn<'a> {
    /// Waits for a turn. The semaphore is fair and never closed, so a permit always comes.
    pub(super) async fn take(permits: &'a Semaphore) -> Self {
        Self { permits: Some(permits), permit: permits.acquire().await.ok() }
    }

    /// A turn that is not bounded, for a replay.
    pub(super) fn unbounded() -> Self {
        Self { permits: None, permit: None }
    }

    /// Gives the turn back for a wait, and takes it again afterwards.
    pub(super) async fn pause_for<T>(&mut self, wait: impl Future<Output = T>) -> T {
        drop(self.permit.take());
        let waited = wait.await;
        if let Some(permits) = self.permits {
            self.permit = permits.acquire().await.ok();
        }
        waited
    }
}
