//! Following: drains the change feed after each write of a study, and charges the write for the work of its
//! projections.

use std::sync::Arc;

use thiserror::Error;

use super::discards::DiscardedChanges;
use super::metered::MeteredStore;
use super::retries::{ATTEMPTS_MAX, PAUSE};
use onehop_change_feed::{PageError, Processor, ProcessorError};
use onehop_store::{Fault, RequestCharge};

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
    /// The changes so far that its writes bring to the change feed in vain.
    #[must_use]
    pub fn discarded(&self) -> DiscardedChanges {
        self.store.discarded()
    }

    /// Drains the change feed. Returns the charge of the processor.
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
    /// [`FollowError::Parked`]: parked changes are missing in the charges. [`FollowError::Store`].
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
            Err(ProcessorError::Page(error)) if error.is_transient() && attempts < ATTEMPTS_MAX => {
                attempts += 1;
                let asked = if let PageError::Fault(fault) = &error { fault.retry_after } else { None };
                tokio::time::sleep(asked.unwrap_or(PAUSE)).await;
            }
            outcome => return Ok(outcome?),
        }
    }
}

#[cfg(test)]
mod tests {
    use onehop_change_feed::{
        IntendedWrite, Projection, ProjectionError, SPECS, Settings, Sharing, Step, StepInput,
    };
    use onehop_runtime::clock::ManualClock;
    use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore};
    use onehop_store::{Change, ContainerName, ContainerSpec, Ledger, NewItem, PartitionKey, Store, WriteOp};
    use tokio_util::sync::CancellationToken;

    use super::*;

    const ORDERS: ContainerName = ContainerName("orders");
    const COPIES: ContainerName = ContainerName("copies");

    /// Copies orders; an order called "poison" cannot be projected.
    struct OrderCopies;

    impl Projection for OrderCopies {
        fn name(&self) -> &'static str {
            "order-copies"
        }

        fn source(&self) -> ContainerName {
            ORDERS
        }

        fn step(&self, change: &Change, _input: StepInput<'_>) -> Result<Step, ProjectionError> {
            if change.id == "poison" {
                return Err(ProjectionError::text("poison"));
            }
            Ok(Step::done().after_writing(vec![IntendedWrite::one(COPIES, key(), upsert(&change.id))]))
        }
    }

    fn key() -> PartitionKey {
        PartitionKey::from("shop")
    }

    fn upsert(id: &str) -> WriteOp {
        let item = serde_json::json!({"id": id, "type": "order", "shopId": "shop"});
        WriteOp::Upsert(NewItem::encode(id.to_owned(), &item))
    }

    async fn follower(directory: &std::path::Path) -> Follower {
        let spec = |name| ContainerSpec {
            name,
            partition_key: "shopId",
            order_by: None,
            orders: &[],
            ttl_s: None,
            equality: &[],
            newest_types: &[],
            soft_deletes: true,
        };
        let specs = [&[spec(ORDERS), spec(COPIES)], SPECS].concat();
        let config = EmbeddedConfig { physical_partitions: Some(1), ..EmbeddedConfig::new(directory) };
        let clock = Arc::new(ManualClock::new(0));
        let store = EmbeddedStore::open_with(&config, &specs, clock.clone()).unwrap();
        let store = Arc::new(MeteredStore::new(Arc::new(store)));
        let settings = Settings { sharing: Sharing::Alone, ..Settings::new("study") };
        let processor = Processor::open(
            Arc::clone(&store) as Arc<dyn Store>,
            clock,
            vec![Arc::new(OrderCopies)],
            settings,
            CancellationToken::new(),
        );
        Follower { processor: processor.await.unwrap(), store }
    }

    #[tokio::test]
    async fn following_is_charged_per_change_and_free_when_idle() {
        let directory = tempfile::tempdir().unwrap();
        let follower = follower(directory.path()).await;
        let ledger = Ledger::new();
        follower.store.write(ORDERS, &key(), upsert("o1"), &ledger).await.unwrap();
        let copy = ledger.total().0;
        let charge = follower.follow().await.unwrap().0;
        assert!(charge > copy, "{charge} for reading the change and writing the copy, {copy}");
        assert_eq!(follower.follow().await.unwrap().0, 0.0);
        assert!(follower.release().await.is_ok());
    }

    #[tokio::test]
    async fn a_parked_change_makes_the_charges_incomplete() {
        let directory = tempfile::tempdir().unwrap();
        let follower = follower(directory.path()).await;
        follower.store.write(ORDERS, &key(), upsert("poison"), &Ledger::new()).await.unwrap();
        follower.follow().await.unwrap();
        assert!(matches!(follower.release().await, Err(FollowError::Parked(1))));
    }
}
