//! Microsoft's in-memory Cosmos DB emulator as the other end of the real protocol, in this process. Test
//! binaries that need it include this file.
//!
//! It is a functional double and no measure of cost or speed. It never lets a `ttl` run out, shows no deletes
//! in the change feed, and checks no composite index.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use azure_core::credentials::Secret;
use azure_core::http::{AsyncRawResponse, HttpClient, Request};
use azure_data_cosmos::fault_injection::FaultInjectionRule;
use azure_data_cosmos::{
    AccountEndpoint, AccountReference, CosmosClient, CosmosRuntimeBuilder, RoutingStrategy, options::Region,
};
use azure_data_cosmos_driver::in_memory_emulator::{
    ConsistencyLevel, ContainerConfig, EmulatorStore, InMemoryEmulatorHttpClient, RequestObserver,
    VirtualAccountConfig, VirtualRegion, WriteMode,
};
use azure_data_cosmos_driver::models::PartitionKeyDefinition;
use onehop_store::cosmos::{AccountReader, Consistency, CosmosStore, RetryPolicy, default_options, encoding};
use onehop_store::{ContainerName, ContainerSpec};

use crate::feed_requests::FeedRequests;
use crate::request_counts::RequestCounts;
use crate::request_log::RequestLog;

const GATEWAY: &str = "https://eastus.emulator.local";
const SECOND_GATEWAY: &str = "https://westus.emulator.local";
pub const DATABASE: &str = "onehop";
/// The emulator checks no key.
const KEY: &str = "dGVzdGtleQ==";
/// No test waits for the service.
const PATIENCE: RetryPolicy = RetryPolicy {
    throttled_wait_max: Duration::from_millis(20),
    throttled_retries_max: 3,
    operation_max: Duration::from_secs(10),
    moved_retries_max: 12,
    contended_retries_max: 1,
    wait_first: Duration::from_millis(1),
};

/// An account in these regions, the first of which is written to.
fn account(regions: &[(&str, &str)]) -> VirtualAccountConfig {
    let region = |(name, gateway): &(&str, &str)| VirtualRegion::new(name, gateway.parse().expect("a URL"));
    VirtualAccountConfig::new(regions.iter().map(region).collect())
        .expect("an account")
        .with_consistency(ConsistencyLevel::Session)
        .with_throttling_enabled(false)
}

/// The emulator behind the HTTP client of `azure_core`.
#[derive(Debug)]
struct EmulatedAccount(Arc<InMemoryEmulatorHttpClient>);

#[async_trait]
impl HttpClient for EmulatedAccount {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        let failed = |error| azure_core::Error::new(azure_core::error::ErrorKind::Io, error);
        self.0.execute_request(request).await.map_err(failed)
    }
}

/// An account with one database. A clone is the same account.
#[derive(Clone)]
pub struct Emulator {
    http: Arc<InMemoryEmulatorHttpClient>,
    specs: Vec<ContainerSpec>,
}

impl Emulator {
    /// An account whose containers have this many physical partitions.
    pub fn new(specs: &[ContainerSpec], physical_partitions: u32) -> Self {
        let http = InMemoryEmulatorHttpClient::new(account(&[("East US", GATEWAY)]));
        Self::over(http, specs, physical_partitions)
    }

    /// The same, whose requests for pages of a change feed are recorded.
    pub fn recording(
        requests: &Arc<FeedRequests>,
        specs: &[ContainerSpec],
        physical_partitions: u32,
    ) -> Self {
        Self::observed_by(Arc::clone(requests) as _, specs, physical_partitions)
    }

    /// The same, whose requests are logged.
    pub fn logged(specs: &[ContainerSpec], physical_partitions: u32, log: &Arc<RequestLog>) -> Self {
        Self::observed_by(Arc::clone(log) as _, specs, physical_partitions)
    }

    fn observed_by(
        observer: Arc<dyn RequestObserver>,
        specs: &[ContainerSpec],
        physical_partitions: u32,
    ) -> Self {
        let http = InMemoryEmulatorHttpClient::new(account(&[("East US", GATEWAY)]));
        Self::over(http.with_request_observer(observer), specs, physical_partitions)
    }

    /// An account without containers, in two regions.
    pub fn in_two_regions(write_mode: WriteMode) -> Self {
        let account = account(&[("East US", GATEWAY), ("West US", SECOND_GATEWAY)]);
        Self::over(InMemoryEmulatorHttpClient::new(account.with_write_mode(write_mode)), &[], 1)
    }

    fn over(http: InMemoryEmulatorHttpClient, specs: &[ContainerSpec], physical_partitions: u32) -> Self {
        let http = Arc::new(http);
        let store = http.store();
        store.create_database(DATABASE);
        let config = ContainerConfig::new().with_partition_count(physical_partitions);
        for spec in specs {
            let paths: Vec<String> = spec.key_properties().map(|property| format!("/{property}")).collect();
            let key = match paths.as_slice() {
                [first, second] => PartitionKeyDefinition::from((first.clone(), second.clone())),
                _ => PartitionKeyDefinition::from(format!("/{}", spec.partition_key)),
            };
            store.create_container_with_config(DATABASE, spec.name.as_str(), key, config.clone());
        }
        Self { http, specs: specs.to_vec() }
    }

    /// A reader of the account's resource.
    pub fn account_reader(&self) -> AccountReader {
        let http = Arc::new(EmulatedAccount(Arc::clone(&self.http)));
        AccountReader::with_key(http, GATEWAY.parse().expect("a URL"), KEY)
    }

    /// The store behind the protocol, with physical partitions that can be split and merged.
    pub fn store(&self) -> Arc<EmulatorStore> {
        self.http.store()
    }

    /// A client as one process has it, behind these faults.
    pub async fn client(
        &self,
        faults: Vec<Arc<FaultInjectionRule>>,
        retry_policy: RetryPolicy,
    ) -> CosmosClient {
        self.client_observed_by(Arc::default(), faults, retry_policy).await
    }

    async fn client_observed_by(
        &self,
        requests: Arc<RequestCounts>,
        faults: Vec<Arc<FaultInjectionRule>>,
        retry_policy: RetryPolicy,
    ) -> CosmosClient {
        let builder = if faults.is_empty() {
            self.http.runtime_builder()
        } else {
            self.http.runtime_builder_with_fault_rules(faults)
        };
        let runtime = CosmosRuntimeBuilder::from(builder).build().await.expect("a runtime");
        let endpoint: AccountEndpoint = GATEWAY.parse().expect("a URL");
        let account = AccountReference::with_authentication_key(endpoint, Secret::new(KEY));
        CosmosClient::builder()
            .with_runtime(runtime)
            .with_diagnostics_handler(requests)
            .with_default_operation_options(default_options(retry_policy))
            .with_binary_encoding_options(encoding(true))
            .build(account, RoutingStrategy::ProximityTo(Region::EAST_US))
            .await
            .expect("a client")
    }

    /// A store as one process has it.
    pub async fn open(&self) -> CosmosStore {
        self.open_behind(Vec::new()).await
    }

    /// A store whose requests are counted.
    pub async fn open_counted(&self, requests: &Arc<RequestCounts>) -> CosmosStore {
        let client = self.client_observed_by(Arc::clone(requests), Vec::new(), PATIENCE).await;
        CosmosStore::with_client(client, DATABASE, &self.specs, Consistency::Account, PATIENCE)
            .await
            .expect("the containers are there")
    }

    /// A store whose requests meet these faults.
    pub async fn open_behind(&self, faults: Vec<Arc<FaultInjectionRule>>) -> CosmosStore {
        self.open_with(faults, PATIENCE).await
    }

    pub async fn open_with(
        &self,
        faults: Vec<Arc<FaultInjectionRule>>,
        retry_policy: RetryPolicy,
    ) -> CosmosStore {
        let client = self.client(faults, retry_policy).await;
        CosmosStore::with_client(client, DATABASE, &self.specs, Consistency::Account, retry_policy)
            .await
            .expect("the containers are there")
    }

    /// The ids of a container's physical partitions.
    pub fn physical_partitions(&self, container: ContainerName) -> Vec<u32> {
        // Every partition descends from all of no parents.
        self.store().child_partition_ids(DATABASE, container.as_str(), &[])
    }

    /// Splits one physical partition of a container in two, and waits until that is done.
    pub async fn split(&self, container: ContainerName, partition: u32) {
        let store = self.store();
        store.split_partition(DATABASE, container.as_str(), partition, Duration::ZERO);
        store.wait_for_split(DATABASE, container.as_str(), partition).await;
    }

    /// Merges two neighbouring physical partitions of a container, and waits until that is done.
    pub async fn merge(&self, container: ContainerName, one: u32, other: u32) {
        let store = self.store();
        store
            .merge_partitions_and_wait(DATABASE, container.as_str(), one, other, Duration::ZERO)
            .await
            .expect("merged");
    }
}

/// Another database of an account.
pub async fn open_database(client: CosmosClient, database: &str, specs: &[ContainerSpec]) -> CosmosStore {
    CosmosStore::with_client(client, database, specs, Consistency::Account, PATIENCE)
        .await
        .expect("the containers are there")
}
