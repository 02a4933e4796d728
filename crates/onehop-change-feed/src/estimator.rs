//! Estimator: pending changes and lag of a processor's leases, read from outside, without being an instance
//! of it.
//!
//! It reads the leases, and looks at the change feed behind each checkpoint, up to a limit. The caller's
//! ledger has all of that.

use std::sync::Arc;

use futures::future::try_join_all;
use tokio_util::sync::CancellationToken;

use super::context::ProcessorContext;
use super::lease::{LeaseItem, StoredLease};
use super::settings::Settings;
use onehop_runtime::clock::Clock;
use onehop_store::{ContainerName, Fault, FeedRange, FeedRequest, Ledger, Store};

/// An estimator of one processor.
pub struct Estimator {
    context: ProcessorContext,
}

/// The estimate of a lease.
#[derive(Debug, Clone, PartialEq)]
pub struct LeaseEstimate {
    /// The feed range.
    pub range: FeedRange,
    /// The instance that owns it; `None` when it was released.
    pub owner: Option<String>,
    /// Changes after the checkpoint, counted up to the limit.
    pub pending_changes: u64,
    /// The age of the oldest of them, in milliseconds; 0 without any.
    pub lag_ms: u64,
}

impl Estimator {
    /// An estimator of the processor with this name ([`Settings::processor`]).
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, processor: impl Into<String>) -> Self {
        let settings = Settings { processor: processor.into(), ..Settings::new("estimator") };
        Self { context: ProcessorContext::new(store, clock, settings, CancellationToken::new()) }
    }

    /// The estimates of all leases of a source container: changes of these types (`None` for all), up to
    /// `at_most` in each range.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn estimate(
        &self,
        container: ContainerName,
        types: Option<&[&str]>,
        at_most: u64,
        ledger: &Ledger,
    ) -> Result<Vec<LeaseEstimate>, Fault> {
        let leases = StoredLease::list(&self.context, ledger).await?;
        let own =
            leases.into_iter().map(|stored| stored.item).filter(|item| item.container == container.as_str());
        let estimate = |item: LeaseItem| async move {
            let request = FeedRequest {
                container,
                range: &item.range,
                continuation: item.continuation.as_ref(),
                types,
                limit: self.context.settings.page_items_max,
            };
            let (pending_changes, oldest_ms) =
                self.context.store.pending_changes(&request, at_most, ledger).await?;
            let now_ms = self.context.clock.now_ms();
            let lag_ms = oldest_ms.map_or(0, |oldest_ms| now_ms.saturating_sub(oldest_ms));
            let lag_ms = u64::try_from(lag_ms).unwrap_or(0);
            Ok(LeaseEstimate {
                owner: item.owner.clone(),
                pending_changes,
                lag_ms,
                range: item.range.clone(),
            })
        };
        try_join_all(own.map(estimate)).await
    }
}
