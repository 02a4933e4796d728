//! A store decorator for tests: fails or loses chosen writes, and records every operation.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use onehop_store::{
    ContainerName, Fault, FaultKind, Ledger, OperationRecord, OperationScope, PartitionKey, Store, StoreCall,
    StoreDecorator, WriteOp,
};

use crate::operations::Operations;

type FaultPlan = Box<dyn FnMut(ContainerName, &PartitionKey, &[WriteOp]) -> WriteFault + Send>;
type ConcurrentWriter =
    Box<dyn FnMut(ContainerName, &PartitionKey, &[WriteOp]) -> Option<BoxFuture<'static, ()>> + Send>;

/// The fate of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteFault {
    Pass,
    /// It fails before anything is written.
    Fail(FaultKind),
    /// It is written, and the answer is lost.
    Lose,
}

pub struct FailingStore {
    inner: Arc<dyn Store>,
    judge: Mutex<Option<FaultPlan>>,
    rival: Mutex<Option<ConcurrentWriter>>,
    ledger: Ledger,
    operations_under_way: Operations,
}

impl FailingStore {
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self {
            inner,
            judge: Mutex::default(),
            rival: Mutex::default(),
            ledger: Ledger::new(),
            operations_under_way: Operations::default(),
        }
    }

    /// The store without its failures.
    pub fn unfailing(&self) -> Arc<dyn Store> {
        Arc::clone(&self.inner)
    }

    /// Runs the write of a concurrent writer before each write for which `rival` returns one.
    pub fn contend(
        &self,
        rival: impl FnMut(ContainerName, &PartitionKey, &[WriteOp]) -> Option<BoxFuture<'static, ()>>
        + Send
        + 'static,
    ) {
        *self.rival.lock().expect("no panic while locked") = Some(Box::new(rival));
    }

    /// Has every write judged from now on.
    pub fn judge(
        &self,
        judge: impl FnMut(ContainerName, &PartitionKey, &[WriteOp]) -> WriteFault + Send + 'static,
    ) {
        *self.judge.lock().expect("no panic while locked") = Some(Box::new(judge));
    }

    /// Lets every write pass again.
    pub fn mend(&self) {
        *self.judge.lock().expect("no panic while locked") = None;
    }

    /// A number that changes while operations are under way, and with each that was done: for a virtual
    /// clock.
    pub fn progress(&self) -> usize {
        self.operations_under_way.progress()
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
    ) -> WriteFault {
        let mut judge = self.judge.lock().expect("no panic while locked");
        judge.as_mut().map_or(WriteFault::Pass, |judge| judge(container, partition_key, operations))
    }

    async fn contended(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        operations: &[WriteOp],
    ) {
        let write = {
            let mut rival = self.rival.lock().expect("no panic while locked");
            rival.as_mut().and_then(|rival| rival(container, partition_key, operations))
        };
        if let Some(write) = write {
            write.await;
        }
    }
}

fn fault(kind: FaultKind) -> Fault {
    Fault::new(kind, "the test says so")
}

impl StoreDecorator for FailingStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        let _under_way = self.operations_under_way.begin();
        let mut verdict = WriteFault::Pass;
        if let (OperationScope::One(partition_key), false) = (call.scope(), call.writes().is_empty()) {
            self.contended(call.container(), partition_key, call.writes()).await;
            verdict = self.verdict(call.container(), partition_key, call.writes());
        }
        if let WriteFault::Fail(kind) = verdict {
            return Err(fault(kind).into());
        }
        let own = Ledger::new();
        let answer = call.run(&*self.inner, &own).await;
        // Its records go to the caller's ledger and to this store's.
        ledger.absorb(&own);
        self.ledger.absorb(&own);
        if verdict == WriteFault::Lose { Err(fault(FaultKind::Ambiguous).into()) } else { answer }
    }
}
