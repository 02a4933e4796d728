//! A store that tells observers how long each operation took and what it was charged, whoever asked for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{
    ContainerName, FaultKind, Ledger, OperationKind, OperationRecord, PartitionKey, Store, StoreCall,
    StoreDecorator,
};
use onehop_runtime::trace_context::SpanContext;

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

impl StoreDecorator for Observed {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Answer, C::Error> {
        let (start, own) = (Instant::now(), ledger.part());
        let (at, kind) = ((call.container(), call.place()), call.kind());
        let outcome = call.run(&*self.store, &own).await;
        let failed = outcome.as_ref().err().and_then(C::fault).map(|fault| fault.kind);
        self.tell(at, kind, start, (&own, ledger), failed);
        outcome
    }
}
