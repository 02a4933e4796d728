//! Observed store: a decorator that reports duration, request charge and outcome of each operation to
//! observers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{
    CommitPhase, ContainerName, FaultKind, Ledger, OperationKind, OperationRecord, PartitionKey, Store,
    StoreCall, StoreDecorator,
};
use onehop_runtime::trace_context::SpanContext;

/// An observer of store operations, such as metrics and traces.
pub trait StoreObserver: Send + Sync + 'static {
    /// An operation has ended.
    fn on_operation(&self, event: &ObservedOperation<'_>);

    /// A commit to the disk has ended, with its fsync. Several writes may share one.
    fn on_commit(&self, _duration: Duration) {}

    /// A phase of a commit to the disk has ended.
    fn on_commit_phase(&self, _phase: CommitPhase, _duration: Duration) {}
}

/// The event of an operation that has ended.
#[derive(Debug, Clone, Copy)]
pub struct ObservedOperation<'a> {
    /// The container.
    pub container: ContainerName,
    /// The kind of the operation.
    pub kind: OperationKind,
    /// The time that it took.
    pub duration: Duration,
    /// The records of the operation, one for each item of a read of many.
    pub records: &'a [OperationRecord],
    /// The logical partitions that it touched.
    pub scope: OperationScope<'a>,
    /// Why it failed, if it did. A refused write has not failed.
    pub failed: Option<FaultKind>,
    /// The span of its trace, if it is traced.
    pub span: Option<SpanContext>,
}

/// The logical partitions of an operation.
#[derive(Debug, Clone, Copy)]
pub enum OperationScope<'a> {
    /// One logical partition.
    One(&'a PartitionKey),
    /// The key of each item. The records are in this order, or, where items are read at the same time,
    /// nearly.
    Each(&'a [(PartitionKey, String)]),
    /// A query of all of them, or a page of the change feed.
    Across,
}

/// A store that reports its operations to observers.
pub struct ObservedStore {
    store: Arc<dyn Store>,
    observers: Arc<[Arc<dyn StoreObserver>]>,
}

impl ObservedStore {
    /// The same store, observed.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, observers: Arc<[Arc<dyn StoreObserver>]>) -> Self {
        Self { store, observers }
    }

    fn notify(
        &self,
        (container, scope): (ContainerName, OperationScope<'_>),
        kind: OperationKind,
        start: Instant,
        (own, ledger): (&Ledger, &Ledger),
        failed: Option<FaultKind>,
    ) {
        let records = own.take_operations();
        let kind = records.first().map_or(kind, |record| record.kind);
        let (duration, span) = (start.elapsed(), own.span());
        let event = ObservedOperation { container, kind, duration, records: &records, scope, failed, span };
        for observer in self.observers.iter() {
            observer.on_operation(&event);
        }
        ledger.absorb_part(own, records);
    }
}

impl StoreDecorator for ObservedStore {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        let (start, own) = (Instant::now(), ledger.part());
        let (at, kind) = ((call.container(), call.scope()), call.kind());
        let outcome = call.run(&*self.store, &own).await;
        let failed = outcome.as_ref().err().and_then(C::fault).map(|fault| fault.kind);
        self.notify(at, kind, start, (&own, ledger), failed);
        outcome
    }
}
