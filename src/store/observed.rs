//! A store that tells observers how long each operation took and what it was charged, whoever asked for it.

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

    /// A commit to the disk has ended, with its fsync. Several writes may share one.
    fn committed(&self, _duration: Duration) {}
}

/// What is told of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Operated<'a> {
    pub container: ContainerName,
    pub kind: OperationKind,
    pub duration: Duration,
    /// What it did, one record for each item where it read many.
    pub records: &'a [OperationRecord],
    /// Where it did that.
    pub place: OperationPlace<'a>,
    /// Why it failed, if it did. A refused write has not failed.
    pub failed: Option<FaultKind>,
    /// Under which it is traced, if it is.
    pub span: Option<SpanContext>,
}

/// The logical partitions of an operation.
#[derive(Debug, Clone, Copy)]
pub enum OperationPlace<'a> {
    One(&'a PartitionKey),
    /// That of each item. The records are in this order, or, where items are read at the same time, nearly.
    Each(&'a [(PartitionKey, String)]),
    /// A query of all of them, or a page of the change feed.
    Across,
}

/// A store under observation.
pub struct Observed {
    store: Arc<dyn Store>,
    observers: Arc<[Arc<dyn StoreObserver>]>,
}

impl Observed {
    /// The same store, observed.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, observers: Arc<[Arc<dyn StoreObserver>]>) -> Self {
        Self { store, observers }
    }

    fn tell(
        &self,
        (container, place): (ContainerName, OperationPlace<'_>),
        kind: OperationKind,
        start: Instant,
        (own, ledger): (&Ledger, &Ledger),
        failed: Option<FaultKind>,
    ) {
        let records = own.operations();
        let kind = records.first().map_or(kind, |record| record.kind);
        let (duration, span) = (start.elapsed(), own.span());
        let operated = Operated { container, kind, duration, records: &records, place, failed, span };
        for observer in self.observers.iter() {
            observer.operated(&operated);
        }
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

fn place_of<'a>(query: &Query<'a>) -> (ContainerName, OperationPlace<'a>) {
    match *query {
        Query::Partition { container, partition_key, .. } => (container, OperationPlace::One(partition_key)),
        Query::Equality { container, .. } | Query::Newest { container, .. } => {
            (container, OperationPlace::Across)
        }
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
        let place = (container, OperationPlace::One(partition_key));
        self.tell(place, OperationKind::PointRead, start, (&own, ledger), fault_of(&outcome));
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
        let place = (container, OperationPlace::Each(keys));
        self.tell(place, OperationKind::PointRead, start, (&own, ledger), fault_of(&outcome));
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
        let place = (container, OperationPlace::One(partition_key));
        self.tell(place, OperationKind::Batch, start, (&own, ledger), failure_of(&outcome));
        outcome
    }

    async fn batch(&self, batch: Batch, ledger: &Ledger) -> Result<Vec<Option<ETag>>, WriteError> {
        let (start, own, container) = (Instant::now(), ledger.part(), batch.container);
        let partition_key = batch.partition_key.clone();
        let outcome = self.store.batch(batch, &own).await;
        let place = (container, OperationPlace::One(&partition_key));
        self.tell(place, OperationKind::Batch, start, (&own, ledger), failure_of(&outcome));
        outcome
    }

    async fn query(&self, query: &Query<'_>, ledger: &Ledger) -> Result<QueryPage, Fault> {
        let (start, own) = (Instant::now(), ledger.part());
        let outcome = self.store.query(query, &own).await;
        self.tell(place_of(query), OperationKind::Query, start, (&own, ledger), fault_of(&outcome));
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
        let place = (container, OperationPlace::One(partition_key));
        self.tell(place, OperationKind::Count, start, (&own, ledger), fault_of(&outcome));
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
        let place = (request.container, OperationPlace::Across);
        self.tell(place, OperationKind::ChangeFeed, start, (&own, ledger), fault_of(&outcome));
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
        ledger: &Ledger,
    ) -> Result<(u64, Option<i64>), Fault> {
        self.store.pending_changes(request, at_most, ledger).await
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
