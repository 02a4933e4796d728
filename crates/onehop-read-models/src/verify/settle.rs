//! Settling of a verification: the read models catch up first.

use async_trait::async_trait;
use onehop_change_feed::{Processor, ProcessorError};
use onehop_store::{Fault, FaultKind};

/// Waits until the read models have caught up with the writes so far.
#[async_trait]
pub trait Settle: Send + Sync {
    /// Returns when no change is pending, or after a bounded time.
    ///
    /// # Errors
    /// A fault of the store.
    async fn settle(&self) -> Result<(), Fault>;
}

/// Settles by draining the change feed.
#[async_trait]
impl Settle for Processor {
    async fn settle(&self) -> Result<(), Fault> {
        // A repair may have written items that projections have cached.
        self.invalidate_cached_reads();
        match self.drain().await {
            Ok(()) => Ok(()),
            // Data that never rest are looked at in their present state.
            Err(ProcessorError::NotDrained) => {
                tracing::warn!("the change feed was not drained: late changes may be reported as drifts");
                Ok(())
            }
            // Full scans report unreadable items.
            Err(error) if error.is_damage() => {
                tracing::warn!(%error, "the change feed was not drained");
                Ok(())
            }
            Err(error) => Err(Fault::new(FaultKind::Unavailable, error.to_string())),
        }
    }
}
