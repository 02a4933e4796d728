//! A store decorator for tests: stops before chosen operations until the test resumes them.

use std::sync::Arc;

use onehop_store::{
    ContainerName, Ledger, OperationKind, OperationScope, PartitionKey, Store, StoreCall, StoreDecorator,
};
use tokio::sync::Notify;

/// An operation that is about to run.
#[derive(Debug, Clone, Copy)]
pub struct PendingOperation<'a> {
    pub container: ContainerName,
    pub kind: OperationKind,
    pub place: OperationScope<'a>,
}

impl PendingOperation<'_> {
    /// Whether it is within this logical partition, and no other.
    pub fn is_in(&self, container: ContainerName, key: &PartitionKey) -> bool {
        self.container == container && matches!(self.place, OperationScope::One(one) if one == key)
    }
}

type OperationFilter = Box<dyn Fn(PendingOperation<'_>) -> bool + Send + Sync>;

pub struct SteppedStore {
    inner: Arc<dyn Store>,
    stops: OperationFilter,
    stopped: Notify,
    resumed: Notify,
}

impl SteppedStore {
    /// A store that stops before the operations for which `stops` answers true. One at a time may stop.
    pub fn new(
        inner: Arc<dyn Store>,
        stops: impl Fn(PendingOperation<'_>) -> bool + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (stopped, resumed) = (Notify::new(), Notify::new());
        Arc::new(Self { inner, stops: Box::new(stops), stopped, resumed })
    }

    /// Comes when an operation has stopped.
    pub async fn until_stopped(&self) {
        self.stopped.notified().await;
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.resumed.notify_one();
    }
}

impl StoreDecorator for SteppedStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        let operation =
            PendingOperation { container: call.container(), kind: call.kind(), place: call.scope() };
        if (self.stops)(operation) {
            self.stopped.notify_one();
            self.resumed.notified().await;
        }
        call.run(&*self.inner, ledger).await
    }
}
