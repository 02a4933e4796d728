//! Settling of a verification: the change feed is drained first.

use std::sync::Arc;

use async_trait::async_trait;

use onehop_change_feed::{Processor, ProcessorError};
use onehop_read_models::verify::Settle;
use onehop_store::{Fault, FaultKind};

/// Settles by draining the change feed.
pub struct DrainedChangeFeed(pub Arc<Processor>);

#[async_trait]
impl Settle for DrainedChangeFeed {
    async fn settle(&self) -> Result<(), Fault> {
        // A repair may have written items that projections have cached.
        self.0.invalidate_cached_reads();
        match self.0.drain().await {
            Ok(()) => Ok(()),
            // A blog that never rests is looked at in its present state.
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
