//! Store decorator that waits while an account throttles: reads that the adapter gives back to its caller are
//! sent again. A study reads whole databases, and cannot go on from the middle.

use std::sync::Arc;
use std::time::Duration;

use onehop_store::{Ledger, Store, StoreCall, StoreDecorator};

/// Attempts of a read after transient faults.
pub(super) const ATTEMPTS_MAX: u32 = 600;
/// Before it is sent again, where the store names no delay.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// A store that sends reads again after transient faults.
pub struct RetryingStore(pub Arc<dyn Store>);

impl StoreDecorator for RetryingStore {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        let attempts_max = if call.kind().writes() { 1 } else { ATTEMPTS_MAX };
        let mut attempts = 1;
        loop {
            let error = match call.clone().run(&*self.0, ledger).await {
                Err(error) if attempts < attempts_max => error,
                outcome => return outcome,
            };
            let Some(delay) = C::fault(&error)
                .filter(|fault| fault.kind.is_transient())
                .map(|fault| fault.retry_after.unwrap_or(PAUSE))
            else {
                return Err(error);
            };
            attempts += 1;
            tokio::time::sleep(delay).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use onehop_runtime::clock::ManualClock;
    use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore};
    use onehop_store::{ContainerName, ContainerSpec, Fault, FaultKind, NewItem, PartitionKey, WriteOp};

    const THINGS: ContainerName = ContainerName("things");

    /// Refuses this number of calls.
    struct Throttled {
        store: EmbeddedStore,
        refusals: AtomicU32,
    }

    impl StoreDecorator for Throttled {
        fn inner(&self) -> &dyn Store {
            &self.store
        }

        async fn around<'a, C: StoreCall<'a>>(
            &self,
            call: C,
            ledger: &Ledger,
        ) -> Result<C::Output, C::Error> {
            let refused =
                self.refusals.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            if refused.is_ok() {
                return Err(Fault::new(FaultKind::Throttled, "429").with_retry_after(Duration::ZERO).into());
            }
            call.run(&self.store, ledger).await
        }
    }

    fn throttled(directory: &std::path::Path, refusals: u32) -> RetryingStore {
        let config = EmbeddedConfig { physical_partitions: Some(1), ..EmbeddedConfig::new(directory) };
        let spec = ContainerSpec {
            name: THINGS,
            partition_key: "home",
            order_by: None,
            orders: &[],
            ttl_s: None,
            equality: &[],
            newest_types: &[],
            soft_deletes: true,
        };
        let store = EmbeddedStore::open_with(&config, &[spec], Arc::new(ManualClock::new(0))).unwrap();
        RetryingStore(Arc::new(Throttled { store, refusals: AtomicU32::new(refusals) }))
    }

    #[tokio::test]
    async fn a_throttled_read_is_sent_again_and_a_write_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let store = throttled(directory.path(), 3);
        let key = PartitionKey::from("h");
        assert!(store.read(THINGS, &key, "a", &Ledger::new()).await.unwrap().is_none());

        let directory = tempfile::tempdir().unwrap();
        let store = throttled(directory.path(), 1);
        let item = NewItem::encode("a", &serde_json::json!({"id": "a", "type": "thing", "home": "h"}));
        assert!(store.write(THINGS, &key, WriteOp::Create(item), &Ledger::new()).await.is_err());
    }
}
