//! A store that also tells a meter what was done through it. The change feed processor keeps its ledgers to itself; this
//! is how the charges of its projections are found out.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;

use crate::changefeed::LEASES;
use crate::store::{
    Batch, ContainerName, ETag, Fault, FeedPage, FeedRange, FeedRequest, Item, Ledger, OperationKind,
    PartitionKey, Query, QueryPage, RequestCharge, Store, WriteError, WriteOp,
};

/// A store and its meter.
pub struct Metered {
    store: Arc<dyn Store>,
    caused: Mutex<RequestCharge>,
}

impl Metered {
    /// A meter that shows nothing yet.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, caused: Mutex::default() }
    }

    /// What following so far was charged for the changes themselves: reading them and writing what they bring about.
    /// Left out is what would also be charged without them, or once for many: looking for changes where there are
    /// none, and checkpoints.
    #[must_use]
    pub fn caused(&self) -> RequestCharge {
        *self.caused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell<T>(&self, own: &Ledger, ledger: &Ledger, answer: T) -> T {
        let mut caused = self.caused.lock().unwrap_or_else(PoisonError::into_inner);
        for record in own.operations() {
            let is_idle = record.kind == OperationKind::ChangeFeed && record.items == 0;
            if !is_idle && record.container != LEASES {
                *caused = *caused + record.charge;
            }
        }
        ledger.absorb(own);
        answer
    }
}

#[async_trait]
impl Store for Metered {
    async fn read(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        id: &str,
        ledger: &Ledger,
    ) -> Result<Option<Item>, Fault> {
        let own = Ledger::new();
        let answer = self.store.read(container, partition_key, id, &own).await;
        self.tell(&own, ledger, answer)
    }

    async fn read_many(
        &self,
        container: ContainerName,
        keys: &[(PartitionKey, String)],
        ledger: &Ledger,
    ) -> Result<Vec<Option<Item>>, Fault> {
        let own = Ledger::new();
        let answer = self.store.read_many(container, keys, &own).await;
        self.tell(&own, ledger, answer)
    }

    async fn write(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        operation: WriteOp,
        ledger: &Ledger,
    ) -> Result<Option<ETag>, WriteError> {
        let own = Ledger::new();
        let answer = self.store.write(container, partition_key, operation, &own).await;
        self.tell(&own, ledger, answer)
    }

    async fn batch(&self, batch: Batch, ledger: &Ledger) -> Result<Vec<Option<ETag>>, WriteError> {
        let own = Ledger::new();
        let answer = self.store.batch(batch, &own).await;
        self.tell(&own, ledger, answer)
    }

    async fn query(&self, query: &Query<'_>, ledger: &Ledger) -> Result<QueryPage, Fault> {
        let own = Ledger::new();
        let answer = self.store.query(query, &own).await;
        self.tell(&own, ledger, answer)
    }

    async fn count(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        item_type: &str,
        ledger: &Ledger,
    ) -> Result<u64, Fault> {
        let own = Ledger::new();
        let answer = self.store.count(container, partition_key, item_type, &own).await;
        self.tell(&own, ledger, answer)
    }

    async fn read_change_feed(&self, request: &FeedRequest<'_>, ledger: &Ledger) -> Result<FeedPage, Fault> {
        let own = Ledger::new();
        let answer = self.store.read_change_feed(request, &own).await;
        self.tell(&own, ledger, answer)
    }

    async fn feed_ranges(&self, container: ContainerName) -> Result<Vec<FeedRange>, Fault> {
        self.store.feed_ranges(container).await
    }

    fn parts_of(&self, whole: &FeedRange, present: &[FeedRange]) -> Option<Vec<FeedRange>> {
        self.store.parts_of(whole, present)
    }

    async fn pending_changes(
        &self,
        request: &FeedRequest<'_>,
        at_most: u64,
    ) -> Result<(u64, Option<i64>), Fault> {
        self.store.pending_changes(request, at_most).await
    }

    fn change_signal(&self, container: ContainerName) -> Option<watch::Receiver<u64>> {
        self.store.change_signal(container)
    }

    fn physical_partitions(&self, container: ContainerName) -> u32 {
        self.store.physical_partitions(container)
    }

    async fn ready(&self) -> Result<(), Fault> {
        self.store.ready().await
    }
}
