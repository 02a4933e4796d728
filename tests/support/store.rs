//! The store under a test: the embedded one in a temporary directory, or, where `ONEHOP_TEST_STORE` is `cosmos`, Azure
//! Cosmos DB as Microsoft's in-memory emulator has it.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::sync::Arc;

use onehop::store::embedded::{Durability, EmbeddedConfig, EmbeddedStore};
use onehop::store::{Clock, ContainerSpec, Store};
use tempfile::TempDir;

use super::emulator::Emulator;

/// Physical partitions of each container.
const PHYSICAL_PARTITIONS: u16 = 4;

/// Whatever has to live as long as the store.
pub enum Keeper {
    Directory(TempDir),
    Emulator(Emulator),
}

/// Whether tests run over Azure Cosmos DB: its time is its own, items never expire in the emulator, and a directory
/// there is none.
pub fn is_cosmos() -> bool {
    match std::env::var("ONEHOP_TEST_STORE").as_deref() {
        Err(_) | Ok("embedded") => false,
        Ok("cosmos") => true,
        Ok(other) => panic!("ONEHOP_TEST_STORE is {other:?}, and neither embedded nor cosmos"),
    }
}

/// A fresh, empty store with these containers.
pub async fn open(specs: &[ContainerSpec], clock: Arc<dyn Clock>) -> (Arc<dyn Store>, Keeper) {
    if is_cosmos() {
        let emulator = Emulator::new(specs, u32::from(PHYSICAL_PARTITIONS));
        return (Arc::new(emulator.open().await), Keeper::Emulator(emulator));
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = EmbeddedConfig {
        durability: Durability::Relaxed,
        physical_partitions: Some(PHYSICAL_PARTITIONS),
        ..EmbeddedConfig::new(directory.path())
    };
    let store = EmbeddedStore::open(&config, specs, clock).expect("the store opens");
    (Arc::new(store), Keeper::Directory(directory))
}
