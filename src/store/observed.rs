//! A store that tells an observer how long each operation took and what it was charged, whoever asked for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::watch;

use super::{
    Batch, ContainerName, Continuation, ETag, Fault, FaultKind, FeedPage, FeedRange, FeedRequest, Item,
    Ledger, OperationKind, OperationRecord, PartitionKey, Query, QueryPage, Store, WriteError, WriteMarks,
    WriteOp,
};
use crate::span::SpanContext;

/// Hears of every operation on a store.
pub trait StoreObserver: Send + Sync + 'static {
    /// An operation has ended.
    fn operated(&self, operated: &Operated<'_>);
}

/// What is told of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Operated<'a> {
    pub container: ContainerName,
    pub kind: OperationKind,
    pub duration: Duration,
    /// What it did, one record for each item where it read many.
    pub records: &'a [OperationRecord],
    /// Why it failed, if it did. A refused write has not failed.
    pub failed: Option<FaultKind>,
    /// Under which it is traced, if it is.
    pub span: Option<SpanContext>,
}

/// A store under observation.
pub struct Observed {
    store: Arc<dyn Store>,
    observer: Arc<dyn StoreObserver>,
}

impl Observed {
    /// The same store, observed.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, observer: Arc<dyn StoreObserver>) -> Self {
        Self { store, observer }
    }

    fn tell(
        &self,
        container: ContainerName,
        kind: OperationKind,
        start: Instant,
        (own, ledger): (&Ledger, &Ledger),
        failed: Option<FaultKind>,
    ) {
        let records = own.operations();
        let kind = records.first().map_or(kind, |record| record.kind);
        let (duration, span) = (start.elapsed(), own.span());
        self.observer.operated(&Operated { container, kind, duration, records: &records, failed, span });
        ledger.absorb(own);
    }
}

fn fault_of<T>(outcome: &Result<T, Fault>) -> Option<FaultKind> {
    outcome.as_ref().err().map(|fault| fault.kind)
}

fn failure_of<T>(outcome: &Result<T, WriteError>) -> Option<FaultKind> {
    match outcome {
        Err(WriteError::Fault(fault)) => Some(fault.kind),
        Ok(_) | Err(WriteError::Rejected { .. }) => None,
    }
}

fn container_of(query: &Query<'_>) -> ContainerName {
    match query {
        Query::Partition { container, .. }
        | Query::Equality { container, .. }
        | Query::Newest { container, .. } => *container,
    }
}

#[async_trait]
impl Store for Observed {
    async fn read(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        id: &str,
        ledger: &Ledger,
    ) -> Result<Option<Item>, Fault> {
        let (start, own) = (Instant::now(), ledger.part());
        let outcome = self.store.read(container, partition_key, id, &own).await;
        self.tell(container, OperationKind::PointRead, start, (&own, ledger), fault_of(&outcome));
        outcome
    }

    async fn read_many(
        &self,
        container: ContainerName,
        keys: &[(PartitionKey, String)],
        ledger: &Ledger,
    ) -> Result<Vec<Option<Item>>, Fault> {
        let (start, own) = (Instant::now(), ledger.part());
        let outcome = self.store.read_many(container, keys, &own).await;
        self.tell(container, OperationKind::PointRead, start, (&own, ledger), fault_of(&outcome));
        outcome
    }

    async fn write(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        operation: WriteOp,
        ledger: &Ledger,
    ) -> Result<Option<ETag>, WriteError> {
        let (start, own) = (Instant::now(), ledger.part());
        let outcome = self.store.write(container, partition_key, operation, &own).await;
        self.tell(container, OperationKind::Batch, start, (&own, ledger), failure_of(&outcome));
        outcome
    }

    async fn batch(&self, batch: Batch, ledger: &Ledger) -> Result<Vec<Option<ETag>>, WriteError> {
        let (start, own, container) = (Instant::now(), ledger.part(), batch.container);
        let outcome = self.store.batch(batch, &own).await;
        self.tell(container, OperationKind::Batch, start, (&own, ledger), failure_of(&outcome));
        outcome
    }

    async fn query(&self, query: &Query<'_>, ledger: &Ledger) -> Result<QueryPage, Fault> {
        let (start, own) = (Instant::now(), ledger.part());
        let outcome = self.store.query(query, &own).await;
        let container = container_of(query);
        self.tell(container, OperationKind::Query, start, (&own, ledger), fault_of(&outcome));
        outcome
    }

    async fn count(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        item_type: &str,
        ledger: &Ledger,
    ) -> Result<u64, Fault> {
        let (start, own) = (Instant::now(), ledger.part());
        let outcome = self.store.count(container, partition_key, item_type, &own).await;
        self.tell(container, OperationKind::Count, start, (&own, ledger), fault_of(&outcome));
        outcome
    }

    async fn feed_ranges(&self, container: ContainerName) -> Result<Vec<FeedRange>, Fault> {
        self.store.feed_ranges(container).await
    }

    fn parts_of(&self, whole: &FeedRange, present: &[FeedRange]) -> Option<Vec<FeedRange>> {
        self.store.parts_of(whole, present)
    }

    async fn read_change_feed(&self, request: &FeedRequest<'_>, ledger: &Ledger) -> Result<FeedPage, Fault> {
        let (start, own) = (Instant::now(), ledger.part());
        let outcome = self.store.read_change_feed(request, &own).await;
        let container = request.container;
        self.tell(container, OperationKind::ChangeFeed, start, (&own, ledger), fault_of(&outcome));
        outcome
    }

    async fn change_feed_end(
        &self,
        container: ContainerName,
        range: &FeedRange,
        ledger: &Ledger,
    ) -> Result<Continuation, Fault> {
        self.store.change_feed_end(container, range, ledger).await
    }

    fn feed_end_at_hand(&self, container: ContainerName) -> Result<Option<Continuation>, Fault> {
        self.store.feed_end_at_hand(container)
    }

    fn is_past(&self, at: &Continuation, end: &Continuation) -> bool {
        self.store.is_past(at, end)
    }

    async fn pending_changes(
        &self,
        request: &FeedRequest<'_>,
        at_most: u64,
    ) -> Result<(u64, Option<i64>), Fault> {
        self.store.pending_changes(request, at_most).await
    }

    fn write_marks(&self) -> Option<&WriteMarks> {
        self.store.write_marks()
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
