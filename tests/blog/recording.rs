//! A store that remembers which logical partitions were read, and can be told to fail.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use onehop::store::{
    Batch, ContainerName, Continuation, ETag, Fault, FaultKind, FeedPage, FeedRange, FeedRequest, Item,
    Ledger, PartitionKey, Query, QueryPage, Store, WriteError, WriteOp,
};
use tokio::sync::{Notify, watch};

/// What a read touched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touched {
    LogicalPartition(ContainerName, PartitionKey),
    EveryPartition(ContainerName),
}

pub struct Recording {
    store: Arc<dyn Store>,
    touched: Mutex<BTreeSet<Touched>>,
    fails: AtomicBool,
    holds: AtomicBool,
    /// Told when a query is held.
    pub held: Notify,
}

impl Recording {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            touched: Mutex::default(),
            fails: AtomicBool::new(false),
            holds: AtomicBool::new(false),
            held: Notify::new(),
        }
    }

    /// What was read since this was last asked.
    pub fn take_touched(&self) -> BTreeSet<Touched> {
        std::mem::take(&mut self.touched.lock().unwrap())
    }

    /// From now on queries of lists fail.
    pub fn fail(&self) {
        self.fails.store(true, Ordering::SeqCst);
    }

    /// From now on queries of lists are not answered.
    pub fn hold(&self) {
        self.holds.store(true, Ordering::SeqCst);
    }

    fn touch(&self, touched: Touched) {
        self.touched.lock().unwrap().insert(touched);
    }
}

#[async_trait]
impl Store for Recording {
    async fn read(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        id: &str,
        ledger: &Ledger,
    ) -> Result<Option<Item>, Fault> {
        self.touch(Touched::LogicalPartition(container, partition_key.clone()));
        self.store.read(container, partition_key, id, ledger).await
    }

    async fn read_many(
        &self,
        container: ContainerName,
        keys: &[(PartitionKey, String)],
        ledger: &Ledger,
    ) -> Result<Vec<Option<Item>>, Fault> {
        for (partition_key, _) in keys {
            self.touch(Touched::LogicalPartition(container, partition_key.clone()));
        }
        self.store.read_many(container, keys, ledger).await
    }

    async fn write(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        operation: WriteOp,
        ledger: &Ledger,
    ) -> Result<Option<ETag>, WriteError> {
        self.store.write(container, partition_key, operation, ledger).await
    }

    async fn batch(&self, batch: Batch, ledger: &Ledger) -> Result<Vec<Option<ETag>>, WriteError> {
        self.store.batch(batch, ledger).await
    }

    async fn query(&self, query: &Query<'_>, ledger: &Ledger) -> Result<QueryPage, Fault> {
        if self.holds.load(Ordering::SeqCst) {
            self.held.notify_one();
            return std::future::pending().await;
        }
        if self.fails.load(Ordering::SeqCst) {
            let fault = Fault::new(FaultKind::Throttled, "secret: too many requests at 10.0.0.7");
            return Err(fault.with_retry_after(Duration::from_millis(40)));
        }
        self.touch(match query {
            Query::Partition { container, partition_key, .. } => {
                Touched::LogicalPartition(*container, (*partition_key).clone())
            }
            Query::Equality { container, .. } | Query::Newest { container, .. } => {
                Touched::EveryPartition(*container)
            }
        });
        self.store.query(query, ledger).await
    }

    async fn count(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        item_type: &str,
        ledger: &Ledger,
    ) -> Result<u64, Fault> {
        self.touch(Touched::LogicalPartition(container, partition_key.clone()));
        self.store.count(container, partition_key, item_type, ledger).await
    }

    async fn feed_ranges(&self, container: ContainerName) -> Result<Vec<FeedRange>, Fault> {
        self.store.feed_ranges(container).await
    }

    fn parts_of(&self, whole: &FeedRange, present: &[FeedRange]) -> Option<Vec<FeedRange>> {
        self.store.parts_of(whole, present)
    }

    async fn read_change_feed(&self, request: &FeedRequest<'_>, ledger: &Ledger) -> Result<FeedPage, Fault> {
        self.store.read_change_feed(request, ledger).await
    }

    async fn change_feed_end(
        &self,
        container: ContainerName,
        range: &FeedRange,
        ledger: &Ledger,
    ) -> Result<Continuation, Fault> {
        self.store.change_feed_end(container, range, ledger).await
    }

    async fn pending_changes(
        &self,
        request: &FeedRequest<'_>,
        at_most: u64,
        ledger: &Ledger,
    ) -> Result<(u64, Option<i64>), Fault> {
        self.store.pending_changes(request, at_most, ledger).await
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
