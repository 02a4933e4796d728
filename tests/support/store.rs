//! The store under a test: the embedded one in a temporary directory, or, where `ONEHOP_TEST_STORE` is
//! `cosmos`, Azure Cosmos DB as Microsoft's in-memory emulator has it.

use std::path::Path;
use std::sync::Arc;

use onehop::app::Member;
use onehop::app::{App, AppOptions, OpenStore, container_specs};
use onehop_change_feed::Sharing;
use onehop_runtime::clock::Clock;
use onehop_store::embedded::{Durability, EmbeddedConfig, EmbeddedStore};
use onehop_store::{ContainerSpec, Store};
use tempfile::TempDir;

use onehop_testing::emulator::Emulator;

/// Physical partitions of each container.
const PHYSICAL_PARTITIONS: u16 = 4;

/// Values that have to live as long as the store.
pub enum Keeper {
    Directory(TempDir),
    Emulator(Emulator),
}

/// Whether tests run over Azure Cosmos DB: its time is its own, items never expire in the emulator, and there
/// is no directory.
pub fn is_cosmos() -> bool {
    match std::env::var("ONEHOP_TEST_STORE").as_deref() {
        Err(_) | Ok("embedded") => false,
        Ok("cosmos") => true,
        Ok(other) => panic!("ONEHOP_TEST_STORE is {other:?}, and neither embedded nor cosmos"),
    }
}

/// A fresh, empty store with these containers.
pub async fn open(specs: &[ContainerSpec], clock: Arc<dyn Clock>) -> (Arc<dyn Store>, Keeper) {
    let keeper = keep(specs);
    (keeper.open(specs, clock).await.store(), keeper)
}

/// An empty account or directory.
pub fn keep(specs: &[ContainerSpec]) -> Keeper {
    if is_cosmos() {
        return Keeper::Emulator(Emulator::new(specs, u32::from(PHYSICAL_PARTITIONS)));
    }
    Keeper::Directory(tempfile::tempdir().expect("a temporary directory"))
}

impl Keeper {
    /// Opens the store, or opens it again.
    pub async fn open(&self, specs: &[ContainerSpec], clock: Arc<dyn Clock>) -> OpenStore {
        match self {
            Self::Emulator(emulator) => OpenStore::Cosmos(Arc::new(emulator.open().await)),
            Self::Directory(directory) => {
                let config = EmbeddedConfig {
                    durability: Durability::Relaxed,
                    physical_partitions: Some(PHYSICAL_PARTITIONS),
                    cache_bytes: 8 * 1024 * 1024,
                    ..EmbeddedConfig::new(directory.path())
                };
                let store = EmbeddedStore::open_with(&config, specs, clock).expect("the store opens");
                OpenStore::Embedded(Arc::new(store))
            }
        }
    }

    /// An app over the store, as a process has it.
    pub async fn app(&self, options: AppOptions) -> App {
        let store = self.open(&container_specs(), Arc::clone(&options.clock)).await;
        let member = match self {
            Self::Directory(_) => Member::alone(),
            Self::Emulator(_) => Member { owner: "test".to_owned(), sharing: Sharing::with_others() },
        };
        App::over(&store, member, options).await.expect("the app opens")
    }

    /// The directory that holds the data.
    ///
    /// # Panics
    /// The store has no directory.
    pub fn directory(&self) -> &Path {
        match self {
            Self::Directory(directory) => directory.path(),
            Self::Emulator(_) => panic!("an account has no directory"),
        }
    }
}
