//! A store that remembers which logical partitions were read, and can be told to fail.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onehop_store::{
    ContainerName, Fault, FaultKind, Ledger, OperationKind, OperationScope, PartitionKey, Store, StoreCall,
    StoreDecorator,
};
use tokio::sync::Notify;

/// The target of a read.
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

    /// The reads since the last call.
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

    fn touch_all(&self, container: ContainerName, scope: OperationScope<'_>) {
        let within = |key: &PartitionKey| Touched::LogicalPartition(container, key.clone());
        let mut touched = self.touched.lock().unwrap();
        match scope {
            OperationScope::One(key) => drop(touched.insert(within(key))),
            OperationScope::Each(keys) => touched.extend(keys.iter().map(|(key, _)| within(key))),
            OperationScope::Across => drop(touched.insert(Touched::EveryPartition(container))),
        }
    }
}

impl StoreDecorator for Recording {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        if call.kind() == OperationKind::Query {
            if self.holds.load(Ordering::SeqCst) {
                self.held.notify_one();
                return std::future::pending().await;
            }
            if self.fails.load(Ordering::SeqCst) {
                let fault = Fault::new(FaultKind::Throttled, "secret: too many requests at 10.0.0.7");
                return Err(fault.with_retry_after(Duration::from_millis(40)).into());
            }
        }
        if !call.kind().writes() && call.kind() != OperationKind::ChangeFeed {
            self.touch_all(call.container(), call.scope());
        }
        call.run(&*self.store, ledger).await
    }
}
