//! Store calls: the operations of the port as values, which decorators inspect and run.

use futures::future::BoxFuture;

use super::{
    Batch, Change, ContainerName, Continuation, ETag, Fault, FeedPage, FeedRange, FeedRequest, Item, Ledger,
    OperationKind, OperationScope, PartitionKey, Query, QueryPage, Store, WriteError, WriteOp,
};

/// One operation on a store, not yet run. A clone runs it once more.
pub trait StoreCall<'a>: Clone + Send + Sync {
    /// The answer of the operation.
    type Output: Send;
    /// The failure of the operation: a fault, or a refused write.
    type Error: From<Fault> + Send;

    fn container(&self) -> ContainerName;

    /// The kind of the operation, as far as it is known beforehand: [`OperationKind::Batch`] for each write.
    fn kind(&self) -> OperationKind;

    /// The logical partitions that are concerned.
    fn scope(&self) -> OperationScope<'a>;

    /// The writes in it; none of a read.
    fn writes(&self) -> &[WriteOp] {
        &[]
    }

    /// The changes in an answer, if it is a page of the change feed.
    fn changes(answer: &Self::Output) -> &[Change] {
        let _ = answer;
        &[]
    }

    /// Whether an answer to point reads lacks an item.
    fn lacks_items(answer: &Self::Output) -> bool {
        let _ = answer;
        false
    }

    /// The fault behind an error; `None` of a refused write.
    fn fault(error: &Self::Error) -> Option<&Fault>;

    /// Runs it on this store.
    fn run<'r>(
        self,
        store: &'r dyn Store,
        ledger: &'r Ledger,
    ) -> BoxFuture<'r, Result<Self::Output, Self::Error>>
    where
        Self: 'r;
}

#[derive(Clone)]
pub(super) struct PointRead<'a> {
    pub(super) container: ContainerName,
    pub(super) partition_key: &'a PartitionKey,
    pub(super) id: &'a str,
}

impl<'a> StoreCall<'a> for PointRead<'a> {
    type Output = Option<Item>;
    type Error = Fault;

    /// The container of the operation.
    fn container(&self) -> ContainerName {
        self.container
    }

    fn kind(&self) -> OperationKind {
        OperationKind::PointRead
    }

    fn scope(&self) -> OperationScope<'a> {
        OperationScope::One(self.partition_key)
    }

    fn lacks_items(answer: &Self::Output) -> bool {
        answer.is_none()
    }

    fn fault(error: &Fault) -> Option<&Fault> {
        Some(error)
    }

    fn run<'r>(self, store: &'r dyn Store, ledger: &'r Ledger) -> BoxFuture<'r, Result<Self::Output, Fault>>
    where
        Self: 'r,
    {
        store.read(self.container, self.partition_key, self.id, ledger)
    }
}

#[derive(Clone)]
pub(super) struct PointReads<'a> {
    pub(super) container: ContainerName,
    pub(super) keys: &'a [(PartitionKey, String)],
}

impl<'a> StoreCall<'a> for PointReads<'a> {
    type Output = Vec<Option<Item>>;
    type Error = Fault;

    fn container(&self) -> ContainerName {
        self.container
    }

    fn kind(&self) -> OperationKind {
        OperationKind::PointRead
    }

    fn scope(&self) -> OperationScope<'a> {
        OperationScope::Each(self.keys)
    }

    fn lacks_items(answer: &Self::Output) -> bool {
        answer.iter().any(Option::is_none)
    }

    fn fault(error: &Fault) -> Option<&Fault> {
        Some(error)
    }

    fn run<'r>(self, store: &'r dyn Store, ledger: &'r Ledger) -> BoxFuture<'r, Result<Self::Output, Fault>>
    where
        Self: 'r,
    {
        store.read_many(self.container, self.keys, ledger)
    }
}

#[derive(Clone)]
pub(super) struct ItemWrite<'a> {
    pub(super) container: ContainerName,
    pub(super) partition_key: &'a PartitionKey,
    pub(super) operation: WriteOp,
}

impl<'a> StoreCall<'a> for ItemWrite<'a> {
    type Output = Option<ETag>;
    type Error = WriteError;

    fn container(&self) -> ContainerName {
        self.container
    }

    fn kind(&self) -> OperationKind {
        OperationKind::Batch
    }

    fn scope(&self) -> OperationScope<'a> {
        OperationScope::One(self.partition_key)
    }

    fn writes(&self) -> &[WriteOp] {
        std::slice::from_ref(&self.operation)
    }

    fn fault(error: &WriteError) -> Option<&Fault> {
        error.fault()
    }

    fn run<'r>(
        self,
        store: &'r dyn Store,
        ledger: &'r Ledger,
    ) -> BoxFuture<'r, Result<Self::Output, WriteError>>
    where
        Self: 'r,
    {
        store.write(self.container, self.partition_key, self.operation, ledger)
    }
}

#[derive(Clone)]
pub(super) struct TransactionalBatch<'a> {
    pub(super) batch: Batch,
    pub(super) partition_key: &'a PartitionKey,
}

impl<'a> StoreCall<'a> for TransactionalBatch<'a> {
    type Output = Vec<Option<ETag>>;
    type Error = WriteError;

    fn container(&self) -> ContainerName {
        self.batch.container
    }

    fn kind(&self) -> OperationKind {
        OperationKind::Batch
    }

    fn scope(&self) -> OperationScope<'a> {
        OperationScope::One(self.partition_key)
    }

    fn writes(&self) -> &[WriteOp] {
        &self.batch.operations
    }

    fn fault(error: &WriteError) -> Option<&Fault> {
        error.fault()
    }

    fn run<'r>(
        self,
        store: &'r dyn Store,
        ledger: &'r Ledger,
    ) -> BoxFuture<'r, Result<Self::Output, WriteError>>
    where
        Self: 'r,
    {
        store.batch(self.batch, ledger)
    }
}

#[derive(Clone)]
pub(super) struct PageQuery<'a>(pub(super) &'a Query<'a>);

impl<'a> StoreCall<'a> for PageQuery<'a> {
    type Output = QueryPage;
    type Error = Fault;

    fn container(&self) -> ContainerName {
        match self.0 {
            Query::Partition { container, .. }
            | Query::Equality { container, .. }
            | Query::Newest { container, .. } => *container,
        }
    }

    fn kind(&self) -> OperationKind {
        OperationKind::Query
    }

    fn scope(&self) -> OperationScope<'a> {
        match *self.0 {
            Query::Partition { partition_key, .. } => OperationScope::One(partition_key),
            Query::Equality { .. } | Query::Newest { .. } => OperationScope::Across,
        }
    }

    fn fault(error: &Fault) -> Option<&Fault> {
        Some(error)
    }

    fn run<'r>(self, store: &'r dyn Store, ledger: &'r Ledger) -> BoxFuture<'r, Result<Self::Output, Fault>>
    where
        Self: 'r,
    {
        store.query(self.0, ledger)
    }
}

#[derive(Clone)]
pub(super) struct CountQuery<'a> {
    pub(super) container: ContainerName,
    pub(super) partition_key: &'a PartitionKey,
    pub(super) item_type: &'a str,
}

impl<'a> StoreCall<'a> for CountQuery<'a> {
    type Output = u64;
    type Error = Fault;

    fn container(&self) -> ContainerName {
        self.container
    }

    fn kind(&self) -> OperationKind {
        OperationKind::Count
    }

    fn scope(&self) -> OperationScope<'a> {
        OperationScope::One(self.partition_key)
    }

    fn fault(error: &Fault) -> Option<&Fault> {
        Some(error)
    }

    fn run<'r>(self, store: &'r dyn Store, ledger: &'r Ledger) -> BoxFuture<'r, Result<Self::Output, Fault>>
    where
        Self: 'r,
    {
        store.count(self.container, self.partition_key, self.item_type, ledger)
    }
}

#[derive(Clone)]
pub(super) struct ChangeFeedRead<'a>(pub(super) &'a FeedRequest<'a>);

impl<'a> StoreCall<'a> for ChangeFeedRead<'a> {
    type Output = FeedPage;
    type Error = Fault;

    fn container(&self) -> ContainerName {
        self.0.container
    }

    fn kind(&self) -> OperationKind {
        OperationKind::ChangeFeed
    }

    fn scope(&self) -> OperationScope<'a> {
        OperationScope::Across
    }

    fn changes(answer: &FeedPage) -> &[Change] {
        &answer.changes
    }

    fn fault(error: &Fault) -> Option<&Fault> {
        Some(error)
    }

    fn run<'r>(self, store: &'r dyn Store, ledger: &'r Ledger) -> BoxFuture<'r, Result<Self::Output, Fault>>
    where
        Self: 'r,
    {
        store.read_change_feed(self.0, ledger)
    }
}

/// Looks for a place in a change feed.
#[derive(Clone)]
pub(super) struct ChangeFeedPlaceRead<'a> {
    pub(super) container: ContainerName,
    pub(super) range: &'a FeedRange,
    /// The time (Unix ms) whose place is looked for; `None` for the end.
    pub(super) since_ms: Option<i64>,
}

impl<'a> StoreCall<'a> for ChangeFeedPlaceRead<'a> {
    type Output = Continuation;
    type Error = Fault;

    fn container(&self) -> ContainerName {
        self.container
    }

    fn kind(&self) -> OperationKind {
        OperationKind::ChangeFeed
    }

    fn scope(&self) -> OperationScope<'a> {
        OperationScope::Across
    }

    fn fault(error: &Fault) -> Option<&Fault> {
        Some(error)
    }

    fn run<'r>(self, store: &'r dyn Store, ledger: &'r Ledger) -> BoxFuture<'r, Result<Self::Output, Fault>>
    where
        Self: 'r,
    {
        match self.since_ms {
            Some(since_ms) => store.change_feed_since(self.container, self.range, since_ms, ledger),
            None => store.change_feed_end(self.container, self.range, ledger),
        }
    }
}
