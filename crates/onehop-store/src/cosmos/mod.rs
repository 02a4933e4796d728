//! The adapter for Azure Cosmos DB for NoSQL, on Microsoft's `azure_data_cosmos`.
//!
//! Point reads, writes and batches are one request each; query shapes become parametrised SQL (`sql`), scoped
//! to one logical partition wherever the shape names one. Every answer's request charge goes into the ledger
//! as the service measured it, with the charges of the client's own retries. `error_mapping` maps errors of
//! the service to faults.
//!
//! A request that was throttled (429) or whose physical partition moved (410) is sent again within the
//! configured [`RetryPolicy`] (`retries`); the client repeats unanswered requests. So a write whose first
//! answer was lost may come back as a refusal (409, 412, 404, and within a batch 207) although it happened: a
//! writer has to recognise its own write.
//!
//! Items carry `_ts` in whole seconds. Their bodies come back with the same properties and values, not byte
//! for byte.

mod account;
mod all_versions;
mod batch;
mod client;
mod container;
mod document;
mod error_mapping;
mod feed;
mod feed_parts;
mod items;
mod log_sequence;
pub mod provision;
mod queries;
mod retries;
mod service_response;
mod settings;
mod signals;
mod sql;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use azure_data_cosmos::feed::FeedScope;
use azure_data_cosmos::options::OperationOptions;
use azure_data_cosmos::{CosmosClient, DatabaseClient};
use futures::{StreamExt, TryStreamExt};
use onehop_runtime::clock::{Clock, SystemClock};
use tokio::sync::watch;

pub use account::{AccountReader, WriteRegions};
pub use all_versions::AllVersionsFeed;
pub use client::{client_of, default_options, encoding};
pub use queries::query_text;
pub use settings::{BackgroundSettings, Consistency, CosmosSettings, Credential, RetryPolicy};

use client::{background_options, read_options};
use container::{CosmosContainer, is_addressable, key};
use error_mapping::{OperationContext, fault_of};
use provision::ThroughputSharing;
use service_response::ServiceResponse;
use sql::{QueryShape, Sql, top};

use super::document::{can_exist, check_keyset, is_indexable};
use super::{
    BackgroundBudget, Batch, ContainerName, ContainerSpec, Continuation, ETag, Fault, FaultKind, FeedPage,
    FeedRange, FeedRequest, Item, Ledger, OperationKind, PartitionKey, Query, QueryPage, RequestCharge,
    SignalScope, Store, WriteError, WriteMarks, WriteOp,
};

/// Point reads of one `read_many` that are under way at the same time.
const READS_AT_ONCE: usize = 32;
/// The id that `ready` reads: an item that is not there.
const READY_ID: &str = "ready";

/// The containers of a database in an account. A clone shares them.
#[derive(Clone)]
pub struct CosmosStore {
    database: Arc<DatabaseClient>,
    containers: Arc<[CosmosContainer]>,
    retry_policy: RetryPolicy,
    consistency: Consistency,
    reads: OperationOptions,
    background: BackgroundSettings,
    background_reads: OperationOptions,
    background_writes: OperationOptions,
    background_budget: Option<Arc<BackgroundBudget>>,
}

impl CosmosStore {
    /// Connects to the account, and looks up the containers.
    ///
    /// # Errors
    /// An account that does not answer or refuses access; a container that does not exist or has another
    /// partition key.
    pub async fn connect(settings: &CosmosSettings, specs: &[ContainerSpec]) -> Result<Self, Fault> {
        let client = client_of(settings).await?;
        let store =
            Self::with_client(client, &settings.database, specs, settings.consistency, settings.retry_policy)
                .await?;
        Ok(store.with_background(settings.background, Arc::new(SystemClock)))
    }

    /// The same over a client that is there already. Its default options should be [`default_options`], its
    /// encoding [`encoding`].
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn with_client(
        client: CosmosClient,
        database: &str,
        specs: &[ContainerSpec],
        consistency: Consistency,
        retry_policy: RetryPolicy,
    ) -> Result<Self, Fault> {
        let database = client.database_client(database.to_owned());
        let mut containers = Vec::with_capacity(specs.len());
        for spec in specs {
            let client = database
                .container_client(spec.name.as_str().to_owned(), None)
                .await
                .map_err(|error| not_found(spec, fault_of(error, OperationContext::Reading)))?;
            containers.push(CosmosContainer::open(*spec, client, &retry_policy).await?);
        }
        let background = BackgroundSettings::default();
        Ok(Self {
            database: Arc::new(database),
            containers: containers.into(),
            retry_policy,
            consistency,
            reads: read_options(consistency),
            background,
            background_reads: background_options(Some(consistency), background),
            background_writes: background_options(None, background),
            background_budget: None,
        })
    }

    /// The same store, whose reads are as recent as this.
    #[must_use]
    pub fn with_consistency(&self, consistency: Consistency) -> Self {
        let background_reads = background_options(Some(consistency), self.background);
        Self { consistency, reads: read_options(consistency), background_reads, ..self.clone() }
    }

    /// The same store with limits of background work.
    #[must_use]
    pub fn with_background(self, background: BackgroundSettings, clock: Arc<dyn Clock>) -> Self {
        let budget = |rate| Arc::new(BackgroundBudget::new(clock, rate));
        Self {
            background,
            background_reads: background_options(Some(self.consistency), background),
            background_writes: background_options(None, background),
            background_budget: background.ru_per_second.map(budget),
            ..self
        }
    }

    /// Where the request units of a container come from.
    ///
    /// # Errors
    /// The service did not answer, or the credential may not read throughput: roles of the data plane do not
    /// permit it.
    pub async fn throughput_sharing(&self, container: ContainerName) -> Result<ThroughputSharing, Fault> {
        let container = self.container(container)?;
        let sharing = ThroughputSharing::of(&self.database, &container.client).await;
        sharing.map_err(|error| fault_of(error, OperationContext::Reading))
    }

    /// The budget of background work, for a [`BackgroundStore`](crate::BackgroundStore); `None` without a
    /// limit.
    #[must_use]
    pub fn background_budget(&self) -> Option<Arc<BackgroundBudget>> {
        self.background_budget.clone()
    }

    /// The options of a read for this ledger.
    fn read_options(&self, ledger: &Ledger) -> OperationOptions {
        if ledger.is_background() { self.background_reads.clone() } else { self.reads.clone() }
    }

    /// The options of a write for this ledger.
    fn write_options(&self, ledger: &Ledger) -> OperationOptions {
        if ledger.is_background() { self.background_writes.clone() } else { OperationOptions::default() }
    }

    fn container(&self, name: ContainerName) -> Result<&CosmosContainer, Fault> {
        let found = self.containers.iter().find(|container| container.spec.name == name);
        found.ok_or_else(|| Fault::no_container(name))
    }
}

#[async_trait]
impl Store for CosmosStore {
    async fn read(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        id: &str,
        ledger: &Ledger,
    ) -> Result<Option<Item>, Fault> {
        let container = self.container(container)?;
        let answered = if is_addressable(partition_key, id) {
            self.read_item(container, partition_key, id, ledger).await
        } else {
            ServiceResponse { charge: RequestCharge::default(), outcome: Ok(None) }
        };
        let items = usize::from(matches!(answered.outcome, Ok(Some(_))));
        ledger.record(container.record(OperationKind::PointRead, items, answered.charge, 1));
        answered.outcome
    }

    async fn read_many(
        &self,
        container: ContainerName,
        keys: &[(PartitionKey, String)],
        ledger: &Ledger,
    ) -> Result<Vec<Option<Item>>, Fault> {
        // Collected first: a lazy stream over borrowing closures cannot move between threads.
        let reads: Vec<_> = keys.iter().map(|(key, id)| self.read(container, key, id, ledger)).collect();
        futures::stream::iter(reads).buffered(READS_AT_ONCE).try_collect().await
    }

    async fn write(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        operation: WriteOp,
        ledger: &Ledger,
    ) -> Result<Option<ETag>, WriteError> {
        let container = self.container(container)?;
        self.run_write(container, partition_key, &operation, ledger).await
    }

    async fn batch(&self, batch: Batch, ledger: &Ledger) -> Result<Vec<Option<ETag>>, WriteError> {
        let container = self.container(batch.container)?;
        self.run_batch(container, &batch, ledger).await
    }

    async fn query(&self, query: &Query<'_>, ledger: &Ledger) -> Result<QueryPage, Fault> {
        match *query {
            Query::Partition { container, partition_key, item_type, order_by, direction, after, limit } => {
                let container = self.container(container)?;
                check_keyset(after)?;
                let top = top(limit);
                if !can_exist(partition_key.as_str(), "") || !is_indexable(item_type) {
                    return Ok(QueryPage::default());
                }
                let order_by = order_of(&container.spec, item_type, order_by)?;
                let shape = QueryShape { item_type, equality: None, order_by, direction, after, top };
                let answered =
                    self.page(container, FeedScope::partition(key(partition_key)), shape, ledger).await;
                container.finish_query(answered, false, ledger)
            }
            Query::Equality { container, path, value, item_type, order_by, direction, after, limit } => {
                let container = self.container(container)?;
                check_keyset(after)?;
                let top = top(limit);
                if !container.spec.equality.contains(&path) {
                    return Err(no_index(&container.spec, path));
                }
                if !is_indexable(value) || !is_indexable(item_type) {
                    return Ok(QueryPage::default());
                }
                let order_by = order_of(&container.spec, item_type, order_by)?;
                let equality = Some((path, value));
                let shape = QueryShape { item_type, equality, order_by, direction, after, top };
                let answered = self.page(container, FeedScope::full_container(), shape, ledger).await;
                container.finish_query(answered, true, ledger)
            }
            Query::Newest { container, item_type, order_by, direction, after, limit } => {
                let container = self.container(container)?;
                check_keyset(after)?;
                let top = top(limit);
                if !container.spec.newest_types.contains(&item_type) {
                    return Err(no_index(&container.spec, item_type));
                }
                let order_by = order_of(&container.spec, item_type, order_by)?;
                let shape = QueryShape { item_type, equality: None, order_by, direction, after, top };
                let answered = self.page(container, FeedScope::full_container(), shape, ledger).await;
                container.finish_query(answered, true, ledger)
            }
        }
    }

    async fn count(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        item_type: &str,
        ledger: &Ledger,
    ) -> Result<u64, Fault> {
        let container = self.container(container)?;
        if !can_exist(partition_key.as_str(), "") || !is_indexable(item_type) {
            return Ok(0);
        }
        let scope = FeedScope::partition(key(partition_key));
        let ServiceResponse { charge, outcome } = self
            .run_sql::<u64>(container, &scope, &Sql::count(&container.spec, item_type), usize::MAX, ledger)
            .await;
        ledger.record(container.record(OperationKind::Count, 1, charge, 1));
        Ok(outcome?.into_iter().sum())
    }

    async fn feed_ranges(&self, container: ContainerName) -> Result<Vec<FeedRange>, Fault> {
        let ranges = self.container(container)?.look_up_ranges(true).await?;
        Ok(ranges.iter().map(|range| FeedRange(range.to_string())).collect())
    }

    fn parts_of(&self, whole: &FeedRange, present: &[FeedRange]) -> Option<Vec<FeedRange>> {
        feed::parts_of(whole, present)
    }

    async fn read_change_feed(&self, request: &FeedRequest<'_>, ledger: &Ledger) -> Result<FeedPage, Fault> {
        let container = self.container(request.container)?;
        self.read_feed(container, request, ledger).await
    }

    async fn change_feed_end(
        &self,
        container: ContainerName,
        range: &FeedRange,
        ledger: &Ledger,
    ) -> Result<Continuation, Fault> {
        self.feed_end(self.container(container)?, range, ledger).await
    }

    async fn change_feed_since(
        &self,
        container: ContainerName,
        range: &FeedRange,
        since_ms: i64,
        _ledger: &Ledger,
    ) -> Result<Continuation, Fault> {
        self.feed_since(self.container(container)?, range, since_ms).await
    }

    /// Only the service knows where its feeds end.
    fn local_feed_end(&self, _container: ContainerName) -> Result<Option<Continuation>, Fault> {
        Ok(None)
    }

    /// Continuations are the service's own and cannot be compared; the log sequence numbers of pages and
    /// writes can.
    fn is_past(&self, at: &Continuation, end: &Continuation) -> bool {
        log_sequence::is_past(at, end)
    }

    fn holds(&self, range: &FeedRange, end: &Continuation) -> bool {
        log_sequence::holds(range, end)
    }

    fn counts_locally(&self) -> bool {
        false
    }

    async fn pending_changes(
        &self,
        request: &FeedRequest<'_>,
        at_most: u64,
        ledger: &Ledger,
    ) -> Result<(u64, Option<i64>), Fault> {
        let container = self.container(request.container)?;
        self.count_pending(container, request, at_most, ledger).await
    }

    /// Other processes write as well.
    fn write_marks(&self) -> Option<&WriteMarks> {
        None
    }

    /// Writes of this process. Others write, too: a reader has to poll beside it.
    fn change_signal(&self, scope: &SignalScope<'_>) -> Option<watch::Receiver<u64>> {
        self.container(scope.container).ok()?.signals.subscribe(scope)
    }

    fn physical_partitions(&self, container: ContainerName) -> u32 {
        self.container(container).map_or(1, |container| container.physical_partitions.load(Ordering::Relaxed))
    }

    async fn ready(&self) -> Result<(), Fault> {
        let Some(container) = self.containers.first() else { return Ok(()) };
        let (key, ledger) = (PartitionKey::from(READY_ID), Ledger::new());
        self.read_item(container, &key, READY_ID, &ledger).await.outcome.map(drop)
    }
}

/// The property of an order of a type: of the order that a query names, or of the main order.
fn order_of(
    spec: &ContainerSpec,
    item_type: &str,
    order_by: Option<&'static str>,
) -> Result<Option<&'static str>, Fault> {
    spec.order_index(item_type, order_by)?;
    Ok(order_by.or_else(|| spec.order_of(item_type)))
}

fn no_index(spec: &ContainerSpec, what: &str) -> Fault {
    Fault::new(FaultKind::Internal, format!("the container {} has no index for {what}", spec.name))
}

fn not_found(spec: &ContainerSpec, fault: Fault) -> Fault {
    let kind = fault.kind;
    let message = format!("the container {} cannot be opened (`onehop provision` makes it)", spec.name);
    Fault::new(kind, message).with_source(fault)
}
