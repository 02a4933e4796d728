//! The embedded store over a simulated disk, under the contract.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use onehop_runtime::clock::ManualClock;
use onehop_store::Store;
use onehop_store::embedded::simulated::{InterruptedStore, NoFaults, SimulatedDisk, SimulatedParts};
use onehop_store::embedded::{Durability, EmbeddedConfig, EmbeddedStore};
use tokio::task::JoinSet;

use crate::contract::adapters::OF_THE_EMBEDDED_STORE;
use crate::contract::harness::{Adapter, Capabilities, SPECS, START_MS, Subject};

/// The embedded store over a simulated disk.
pub async fn simulated() -> Subject {
    subject_of(Durability::Sync, 4).await
}

/// The same with a single physical partition, and without fsync.
pub async fn simulated_relaxed() -> Subject {
    subject_of(Durability::Relaxed, 1).await
}

async fn subject_of(durability: Durability, physical_partitions: u16) -> Subject {
    let mut config = EmbeddedConfig::new("a simulated disk");
    config.edits_from_bytes = 1;
    config.durability = durability;
    config.physical_partitions = Some(physical_partitions);
    config.cache_bytes = 8 * 1024 * 1024;
    let adapter = Simulated {
        config,
        clock: Arc::new(ManualClock::new(START_MS)),
        disk: SimulatedDisk::new(Arc::new(NoFaults)),
        store: Mutex::new(None),
        writers: Mutex::new(JoinSet::new()),
    };
    Subject::new(Box::new(adapter)).await
}

struct Simulated {
    config: EmbeddedConfig,
    clock: Arc<ManualClock>,
    disk: SimulatedDisk,
    store: Mutex<Option<Arc<EmbeddedStore>>>,
    writers: Mutex<JoinSet<()>>,
}

#[async_trait]
impl Adapter for Simulated {
    fn capabilities(&self) -> Capabilities {
        OF_THE_EMBEDDED_STORE
    }

    async fn open(&self) -> Arc<dyn Store> {
        *self.store.lock().expect("no test panicked") = None;
        let writers = std::mem::take(&mut *self.writers.lock().expect("no test panicked"));
        writers.join_all().await;
        let spawn = |writer| {
            self.writers.lock().expect("no test panicked").spawn(writer);
        };
        let parts = SimulatedParts { disk: &self.disk, spawn: &spawn };
        let store = EmbeddedStore::open_simulated(&self.config, SPECS, self.clock.clone(), &parts);
        let store = Arc::new(store.expect("the store opens"));
        *self.store.lock().expect("no test panicked") = Some(Arc::clone(&store));
        Arc::new(InterruptedStore::new(store))
    }

    async fn advance_ms(&self, by_ms: i64) {
        self.clock.advance_ms(by_ms);
    }

    async fn purge_expired(&self) -> usize {
        let store = self.store.lock().expect("no test panicked").clone().expect("an open store");
        store.purge_expired(usize::MAX).await.expect("purged")
    }
}
