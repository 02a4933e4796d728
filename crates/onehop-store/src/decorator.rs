//! Store decorators: one hook around every operation of a store, and a [`Store`] made of it.
//!
//! A decorator names the wrapped store and its work around an operation. The rest of the port is forwarded
//! here, in one place. So no decorator loses a capability of the wrapped store: [`Store`] has no default
//! methods, and a new method has to be forwarded here before anything compiles.

use async_trait::async_trait;
use tokio::sync::watch;

use super::store_call::{
    ChangeFeedPlaceRead, ChangeFeedRead, CountQuery, ItemWrite, PageQuery, PointRead, PointReads, StoreCall,
    TransactionalBatch,
};
use super::{
    Batch, ContainerName, Continuation, ETag, Fault, FeedPage, FeedRange, FeedRequest, Item, Ledger,
    PartitionKey, Query, QueryPage, SignalScope, Store, WriteError, WriteMarks, WriteOp,
};

/// A decorator of a store. It is a [`Store`] by itself.
pub trait StoreDecorator: Send + Sync + 'static {
    /// The store that it wraps. Feed ranges, counts of pending changes, signals and readiness are asked there
    /// directly.
    fn inner(&self) -> &dyn Store;

    /// Runs one operation that writes to a ledger, with [`StoreCall::run`].
    fn around<'a, C: StoreCall<'a>>(
        &self,
        call: C,
        ledger: &Ledger,
    ) -> impl Future<Output = Result<C::Output, C::Error>> + Send;
}

#[async_trait]
impl<D: StoreDecorator> Store for D {
    async fn read(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        id: &str,
        ledger: &Ledger,
    ) -> Result<Option<Item>, Fault> {
        self.around(PointRead { container, partition_key, id }, ledger).await
    }

    async fn read_many(
        &self,
        container: ContainerName,
        keys: &[(PartitionKey, String)],
        ledger: &Ledger,
    ) -> Result<Vec<Option<Item>>, Fault> {
        self.around(PointReads { container, keys }, ledger).await
    }

    async fn write(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        operation: WriteOp,
        ledger: &Ledger,
    ) -> Result<Option<ETag>, WriteError> {
        self.around(ItemWrite { container, partition_key, operation }, ledger).await
    }

    async fn batch(&self, batch: Batch, ledger: &Ledger) -> Result<Vec<Option<ETag>>, WriteError> {
        let partition_key = &batch.partition_key.clone();
        self.around(TransactionalBatch { batch, partition_key }, ledger).await
    }

    async fn query(&self, query: &Query<'_>, ledger: &Ledger) -> Result<QueryPage, Fault> {
        self.around(PageQuery(query), ledger).await
    }

    async fn count(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        item_type: &str,
        ledger: &Ledger,
    ) -> Result<u64, Fault> {
        self.around(CountQuery { container, partition_key, item_type }, ledger).await
    }

    async fn feed_ranges(&self, container: ContainerName) -> Result<Vec<FeedRange>, Fault> {
        self.inner().feed_ranges(container).await
    }

    fn parts_of(&self, whole: &FeedRange, present: &[FeedRange]) -> Option<Vec<FeedRange>> {
        self.inner().parts_of(whole, present)
    }

    async fn read_change_feed(&self, request: &FeedRequest<'_>, ledger: &Ledger) -> Result<FeedPage, Fault> {
        self.around(ChangeFeedRead(request), ledger).await
    }

    async fn change_feed_end(
        &self,
        container: ContainerName,
        range: &FeedRange,
        ledger: &Ledger,
    ) -> Result<Continuation, Fault> {
        self.around(ChangeFeedPlaceRead { container, range, since_ms: None }, ledger).await
    }

    async fn change_feed_since(
        &self,
        container: ContainerName,
        range: &FeedRange,
        since_ms: i64,
        ledger: &Ledger,
    ) -> Result<Continuation, Fault> {
        self.around(ChangeFeedPlaceRead { container, range, since_ms: Some(since_ms) }, ledger).await
    }

    fn local_feed_end(&self, container: ContainerName) -> Result<Option<Continuation>, Fault> {
        self.inner().local_feed_end(container)
    }

    fn is_past(&self, at: &Continuation, end: &Continuation) -> bool {
        self.inner().is_past(at, end)
    }

    fn holds(&self, range: &FeedRange, end: &Continuation) -> bool {
        self.inner().holds(range, end)
    }

    fn counts_locally(&self) -> bool {
        self.inner().counts_locally()
    }

    async fn pending_changes(
        &self,
        request: &FeedRequest<'_>,
        at_most: u64,
        ledger: &Ledger,
    ) -> Result<(u64, Option<i64>), Fault> {
        self.inner().pending_changes(request, at_most, ledger).await
    }

    fn write_marks(&self) -> Option<&WriteMarks> {
        self.inner().write_marks()
    }

    fn change_signal(&self, scope: &SignalScope<'_>) -> Option<watch::Receiver<u64>> {
        self.inner().change_signal(scope)
    }

    fn physical_partitions(&self, container: ContainerName) -> u32 {
        self.inner().physical_partitions(container)
    }

    async fn ready(&self) -> Result<(), Fault> {
        self.inner().ready().await
    }
}
