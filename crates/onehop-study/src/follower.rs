//! Following: drains the change feed after each write of a study, and charges the write for what its projections did.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use super::metered::MeteredStore;
use onehop_change_feed::{PageError, Processor, ProcessorError};
use onehop_store::{Fault, RequestCharge};

/// How often a drain is continued after a transient fault.
const DRAIN_ATTEMPTS_MAX: u32 = 600;
/// Before it is continued, where the store names no delay.
const DRAIN_PAUSE: Duration = Duration::from_secs(1);

/// A change feed processor that cannot follow.
#[derive(Debug, Error)]
pub enum FollowError {
    #[error("the projections did not follow: {0}")]
    Processor(#[from] ProcessorError),
    #[error(transparent)]
    Store(#[from] Fault),
    #[error("{0} changes could not be projected, so the charges say too little")]
    Parked(u64),
}

/// The projections of a database, which are drained after each write.
pub struct Follower {
    pub processor: Processor,
    /// The store that the processor works on.
    pub store: Arc<MeteredStore>,
}

impl Follower {
    /// Drains the change feed. Returns what the processor was charged for that.
    ///
    /// # Errors
    /// [`FollowError::Processor`].
    pub async fn follow(&self) -> Result<RequestCharge, FollowError> {
        let before = self.store.charge();
        drain(&self.processor).await?;
        Ok(RequestCharge(self.store.charge().0 - before.0))
    }

    /// Ends following and releases the leases.
    ///
    /// # Errors
    /// [`FollowError::Parked`]: what was parked is missing in the charges. [`FollowError::Store`].
    pub async fn release(&self) -> Result<(), FollowError> {
        let parked: u64 = self.processor.status().await?.iter().map(|status| status.dead_letters).sum();
        if parked > 0 {
            return Err(FollowError::Parked(parked));
        }
        self.processor.release().await;
        Ok(())
    }
}

/// Drains the change feed and continues after transient faults.
///
/// # Errors
/// [`FollowError::Processor`].
pub async fn drain(processor: &Processor) -> Result<(), FollowError> {
    let mut attempts = 1;
    loop {
        match processor.drain().await {
            Err(ProcessorError::Page(PageError::Fault(fault)))
                if fault.kind.is_transient() && attempts < DRAIN_ATTEMPTS_MAX =>
            {
                attempts += 1;
                tokio::time::sleep(fault.retry_after.unwrap_or(DRAIN_PAUSE)).await;
            }
            outcome => return Ok(outcome?),
        }
    }
}
