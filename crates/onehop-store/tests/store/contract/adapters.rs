//! The adapters under the contract.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use azure_data_cosmos::DatabaseClient;
use onehop_runtime::clock::ManualClock;
use onehop_store::cosmos::provision::{self, DesiredState};
use onehop_store::cosmos::{
    BackgroundSettings, Consistency, CosmosSettings, CosmosStore, Credential, RetryPolicy, client_of,
};
use onehop_store::embedded::{Durability, EmbeddedConfig, EmbeddedStore};
use onehop_store::{Indexing, Store};
use tempfile::TempDir;

use crate::contract::harness::{Adapter, Capabilities, DrainedPages, SPECS, START_MS, Subject};
use onehop_testing::account_model::{
    AccountFaults, AccountModel, AccountStore, FaultPoint, ModelConsistency, NoFaults, Outcome,
};
use onehop_testing::emulator::Emulator;

#[cfg(feature = "simulation")]
pub use crate::contract::simulated::{simulated, simulated_relaxed};

/// The embedded store as it comes.
pub async fn embedded() -> Subject {
    subject_of(Durability::Sync, 4).await
}

/// The embedded store with a single physical partition, and without fsync.
pub async fn embedded_relaxed() -> Subject {
    subject_of(Durability::Relaxed, 1).await
}

async fn subject_of(durability: Durability, physical_partitions: u16) -> Subject {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut config = EmbeddedConfig::new(directory.path());
    config.durability = durability;
    config.physical_partitions = Some(physical_partitions);
    config.cache_bytes = 8 * 1024 * 1024;
    config.edits_from_bytes = 1;
    let clock = Arc::new(ManualClock::new(START_MS));
    let adapter = Embedded { config, clock, store: Mutex::new(None), _directory: directory };
    Subject::new(Box::new(adapter)).await
}

/// The capabilities of the embedded store, over any engine.
pub const OF_THE_EMBEDDED_STORE: Capabilities = Capabilities {
    reopen: true,
    move_time: true,
    exact_times: true,
    purge: true,
    signal: true,
    verbatim: true,
    any_id: true,
    drained_pages: DrainedPages::All,
    orders_batches: true,
    charges_all: true,
};

struct Embedded {
    config: EmbeddedConfig,
    clock: Arc<ManualClock>,
    store: Mutex<Option<Arc<EmbeddedStore>>>,
    _directory: TempDir,
}

#[async_trait]
impl Adapter for Embedded {
    fn capabilities(&self) -> Capabilities {
        OF_THE_EMBEDDED_STORE
    }

    async fn open(&self) -> Arc<dyn Store> {
        let mut current = self.store.lock().expect("no test panicked");
        *current = None;
        let store =
            EmbeddedStore::open_with(&self.config, SPECS, self.clock.clone()).expect("the store opens");
        let store = Arc::new(store);
        *current = Some(Arc::clone(&store));
        store
    }

    async fn advance_ms(&self, by_ms: i64) {
        self.clock.advance_ms(by_ms);
    }

    async fn purge_expired(&self) -> usize {
        let store = self.store.lock().expect("no test panicked").clone().expect("an open store");
        store.purge_expired(usize::MAX).await.expect("purged")
    }
}

/// Azure Cosmos DB as Microsoft's in-memory emulator has it, with four physical partitions.
pub async fn cosmos() -> Subject {
    Subject::new(Box::new(Cosmos(Emulator::new(SPECS, 4)))).await
}

/// A database of its own in the account that `ONEHOP_TEST_COSMOS_ENDPOINT` names. Its key is in
/// `ONEHOP_TEST_COSMOS_KEY`, and `ONEHOP_TEST_COSMOS_BINARY=false` keeps to JSON as text.
pub async fn account() -> (Subject, Database) {
    let variable = |name: &str| std::env::var(name).ok();
    let name = format!("onehop-test-{}", uuid::Uuid::now_v7());
    let settings = CosmosSettings {
        endpoint: variable("ONEHOP_TEST_COSMOS_ENDPOINT").expect("ONEHOP_TEST_COSMOS_ENDPOINT is set"),
        database: name.clone(),
        credential: Credential::Key(
            variable("ONEHOP_TEST_COSMOS_KEY").expect("ONEHOP_TEST_COSMOS_KEY is set"),
        ),
        preferred_regions: Vec::new(),
        consistency: Consistency::Account,
        binary_encoding: variable("ONEHOP_TEST_COSMOS_BINARY").is_none_or(|binary| binary != "false"),
        background: BackgroundSettings::default(),
        retry_policy: RetryPolicy::default(),
    };
    let client = client_of(&settings).await.expect("a client");
    let wanted = DesiredState::new(&name, SPECS, Indexing::Needed, None);
    for step in &wanted.everything().steps {
        provision::apply(&client, &name, step).await.expect("the database is made");
    }
    let database = Database(client.database_client(name));
    (Subject::new(Box::new(Account(settings))).await, database)
}

/// A database that a test leaves behind where it fails.
pub struct Database(DatabaseClient);

impl Database {
    pub async fn delete(self) {
        self.0.delete(None).await.expect("the database is deleted");
    }
}

struct Account(CosmosSettings);

#[async_trait]
impl Adapter for Account {
    fn capabilities(&self) -> Capabilities {
        OF_THE_SERVICE
    }

    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(CosmosStore::connect(&self.0, SPECS).await.expect("the containers are there"))
    }

    async fn advance_ms(&self, _by_ms: i64) {
        unimplemented!("the service has its own time")
    }

    async fn purge_expired(&self) -> usize {
        unimplemented!("the service purges on its own")
    }
}

/// The model of an account, with four physical partitions and without faults. An opening connects a process.
pub async fn account_model() -> Subject {
    let clock = Arc::new(ManualClock::new(START_MS));
    let account = AccountModel::new(SPECS, 4, clock.clone(), Arc::new(NoFaults));
    Subject::new(Box::new(Model { account, clock, process: None })).await
}

/// The same for one process, whose reads lagging replicas answer: it sees its writes by its session alone.
pub async fn account_model_lagging() -> Subject {
    let clock = Arc::new(ManualClock::new(START_MS));
    let account = AccountModel::new(SPECS, 4, clock.clone(), Arc::new(AlwaysLagging));
    let process = Some(account.connect(ModelConsistency::Session));
    Subject::new(Box::new(Model { account, clock, process })).await
}

/// Lagging replicas answer every read, and never get a write.
struct AlwaysLagging;

impl AccountFaults for AlwaysLagging {
    fn next(&self, _point: &FaultPoint<'_>) -> Outcome {
        Outcome { lag: Duration::MAX, is_lagging: true, ..Outcome::default() }
    }
}

struct Model {
    account: Arc<AccountModel>,
    clock: Arc<ManualClock>,
    /// The process that stays connected; `None` where each opening connects anew.
    process: Option<AccountStore>,
}

#[async_trait]
impl Adapter for Model {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            move_time: true,
            purge: true,
            drained_pages: DrainedPages::WithRoom,
            verbatim: true,
            orders_batches: true,
            charges_all: true,
            ..OF_THE_SERVICE
        }
    }

    async fn open(&self) -> Arc<dyn Store> {
        match &self.process {
            Some(store) => Arc::new(store.clone()),
            None => self.account.store(ModelConsistency::Session),
        }
    }

    async fn advance_ms(&self, by_ms: i64) {
        self.clock.advance_ms(by_ms);
    }

    async fn purge_expired(&self) -> usize {
        self.account.purge_expired()
    }
}

const OF_THE_SERVICE: Capabilities = Capabilities {
    reopen: true,
    move_time: false,
    exact_times: false,
    purge: false,
    signal: true,
    verbatim: false,
    any_id: false,
    drained_pages: DrainedPages::Empty,
    orders_batches: false,
    charges_all: false,
};

struct Cosmos(Emulator);

#[async_trait]
impl Adapter for Cosmos {
    fn capabilities(&self) -> Capabilities {
        OF_THE_SERVICE
    }

    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.0.open().await)
    }

    async fn advance_ms(&self, _by_ms: i64) {
        unimplemented!("the service has its own time")
    }

    async fn purge_expired(&self) -> usize {
        unimplemented!("the service purges on its own")
    }
}
