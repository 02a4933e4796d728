//! A store that fails when a test says so, and keeps a ledger of all it did.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use onehop::store::{
    Batch, ContainerName, Continuation, ETag, Fault, FaultKind, FeedPage, FeedRange, FeedRequest, Item,
    Ledger, OperationRecord, PartitionKey, Query, QueryPage, Store, WriteError, WriteOp,
};
use tokio::sync::watch;

type Judge = Box<dyn FnMut(ContainerName, &PartitionKey, &[WriteOp]) -> Verdict + Send>;

/// What happens to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// It fails before anything is written.
    Fail(FaultKind),
    /// It is written, and the answer is lost.
    Lose,
}

pub struct FailingStore {
    inner: Arc<dyn Store>,
    judge: Mutex<Option<Judge>>,
    ledger: Ledger,
}

impl FailingStore {
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, judge: Mutex::new(None), ledger: Ledger::new() }
    }

    /// Has every write judged from now on.
    pub fn judge(
        &self,
        judge: impl FnMut(ContainerName, &PartitionKey, &[WriteOp]) -> Verdict + Send + 'static,
    ) {
        *self.judge.lock().expect("no panic while locked") = Some(Box::new(judge));
    }

    /// Lets every write pass again.
    pub fn mend(&self) {
        *self.judge.lock().expect("no panic while locked") = None;
    }

    /// All operations so far.
    pub fn operations(&self) -> Vec<OperationRecord> {
        self.ledger.operations()
    }

    fn verdict(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        operations: &[WriteOp],
    ) -> Verdict {
        let mut judge = self.judge.lock().expect("no panic while locked");
        judge.as_mut().map_or(Verdict::Pass, |judge| judge(container, partition_key, operations))
    }

    /// Runs an operation with a ledger of its own, whose records go to the caller's and to this store's.
    fn note(&self, own: &Ledger, ledger: &Ledger) {
        ledger.absorb(own);
        self.ledger.absorb(own);
    }
}

fn fault(kind: FaultKind) -> WriteError {
    Fault::new(kind, "the test says so").into()
}

#[async_trait]
impl Store for FailingStore {
    async fn read(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        id: &str,
        ledger: &Ledger,
    ) -> Result<Option<Item>, Fault> {
        let own = Ledger::new();
        let answer = self.inner.read(container, partition_key, id, &own).await;
        self.note(&own, ledger);
        answer
    }

    async fn write(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        operation: WriteOp,
        ledger: &Ledger,
    ) -> Result<Option<ETag>, WriteError> {
        let verdict = self.verdict(container, partition_key, std::slice::from_ref(&operation));
        if let Verdict::Fail(kind) = verdict {
            return Err(fault(kind));
        }
        let own = Ledger::new();
        let answer = self.inner.write(container, partition_key, operation, &own).await;
        self.note(&own, ledger);
        if verdict == Verdict::Lose { Err(fault(FaultKind::Ambiguous)) } else { answer }
    }

    async fn batch(&self, batch: Batch, ledger: &Ledger) -> Result<Vec<Option<ETag>>, WriteError> {
        let verdict = self.verdict(batch.container, &batch.partition_key, &batch.operations);
        if let Verdict::Fail(kind) = verdict {
            return Err(fault(kind));
        }
        let own = Ledger::new();
        let answer = self.inner.batch(batch, &own).await;
        self.note(&own, ledger);
        if verdict == Verdict::Lose { Err(fault(FaultKind::Ambiguous)) } else { answer }
    }

    async fn query(&self, query: &Query<'_>, ledger: &Ledger) -> Result<QueryPage, Fault> {
        let own = Ledger::new();
        let answer = self.inner.query(query, &own).await;
        self.note(&own, ledger);
        answer
    }

    async fn count(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        item_type: &str,
        ledger: &Ledger,
    ) -> Result<u64, Fault> {
        self.inner.count(container, partition_key, item_type, ledger).await
    }

    async fn feed_ranges(&self, container: ContainerName) -> Result<Vec<FeedRange>, Fault> {
        self.inner.feed_ranges(container).await
    }

    fn parts_of(&self, whole: &FeedRange, present: &[FeedRange]) -> Option<Vec<FeedRange>> {
        self.inner.parts_of(whole, present)
    }

    async fn read_change_feed(&self, request: &FeedRequest<'_>, ledger: &Ledger) -> Result<FeedPage, Fault> {
        self.inner.read_change_feed(request, ledger).await
    }

    async fn change_feed_end(
        &self,
        container: ContainerName,
        range: &FeedRange,
        ledger: &Ledger,
    ) -> Result<Continuation, Fault> {
        self.inner.change_feed_end(container, range, ledger).await
    }

    async fn pending_changes(
        &self,
        request: &FeedRequest<'_>,
        at_most: u64,
        ledger: &Ledger,
    ) -> Result<(u64, Option<i64>), Fault> {
        self.inner.pending_changes(request, at_most, ledger).await
    }

    fn change_signal(&self, container: ContainerName) -> Option<watch::Receiver<u64>> {
        self.inner.change_signal(container)
    }

    fn physical_partitions(&self, container: ContainerName) -> u32 {
        self.inner.physical_partitions(container)
    }

    async fn ready(&self) -> Result<(), Fault> {
        self.inner.ready().await
    }
}
