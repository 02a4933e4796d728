//! Trials on an account: the items of a trial are written, then its operation runs once.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use azure_data_cosmos::diagnostics::DiagnosticsContext;
use azure_data_cosmos::feed::FeedScope;
use azure_data_cosmos::models::{ChangeFeedItem, PartitionKeyValue};
use azure_data_cosmos::options::{
    BatchOptions, ChangeFeedOptions, ChangeFeedStartFrom, EndToEndOperationLatencyPolicy, ItemReadOptions,
    ItemWriteOptions, MaxItemCountHint, OperationOptions, OperationOptionsBuilder, QueryOptions,
    ReadConsistencyStrategy, ThrottlingRetryOptionsBuilder,
};
use azure_data_cosmos::{
    ContainerClient, CosmosClient, CosmosError, DatabaseClient, PartitionKey, Query, TransactionalBatch,
};
use futures::StreamExt;
use serde_json::{Map, Value};

use onehop_store::ContainerName;
use onehop_store::cosmos::Consistency;
use onehop_study::plans::{Trial, TrialAction, TrialAnswer, TrialItem, TrialQuery, TrialWrite};

/// Patience with throttled operations: a container with 400 RU/s takes some seconds for the items of a page.
const OPERATION_MAX: Duration = Duration::from_secs(60);
const RETRIES_MAX: u32 = 30;
/// Changes of a page.
const FEED_PAGE_ITEMS: u32 = 100;
/// Properties that the service adds.
const SYSTEM_PROPERTIES: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

/// The database of one design.
pub(super) struct TrialDatabase {
    database: DatabaseClient,
    containers: BTreeMap<ContainerName, TriedContainer>,
    reads: OperationOptions,
    writes: OperationOptions,
}

struct TriedContainer {
    client: ContainerClient,
    physical_partitions: u32,
    /// The bodies of the items that are there, by key and id.
    items: BTreeMap<(String, String), Value>,
}

impl TrialDatabase {
    pub(super) fn open(client: &CosmosClient, database: &str, consistency: Consistency) -> Self {
        let throttling = ThrottlingRetryOptionsBuilder::new().with_max_retry_count(RETRIES_MAX).build();
        let writes = OperationOptionsBuilder::new()
            .with_throttling_retry_options(throttling)
            .with_end_to_end_latency_policy(EndToEndOperationLatencyPolicy::new(OPERATION_MAX))
            .build();
        let mut reads = writes.clone();
        reads.read_consistency_strategy = match consistency {
            Consistency::Account => None,
            Consistency::Eventual => Some(ReadConsistencyStrategy::Eventual),
            Consistency::Session => Some(ReadConsistencyStrategy::Session),
            Consistency::LatestCommitted => Some(ReadConsistencyStrategy::LatestCommitted),
        };
        let database = client.database_client(database.to_owned());
        Self { database, containers: BTreeMap::new(), reads, writes }
    }

    /// Runs a trial, and returns the answer.
    pub(super) async fn run(&mut self, trial: &Trial) -> anyhow::Result<TrialAnswer> {
        let (reads, writing) = (self.reads.clone(), self.writes.clone());
        let container = self.container(trial.container).await?;
        for item in trial.items_before() {
            container.ensure(item, &writing).await?;
        }
        let physical_partitions = container.physical_partitions;
        match &trial.action {
            TrialAction::Read(item) => {
                let read = ItemReadOptions::default().with_operation_options(reads);
                let answer = container.client.read_item(key(&item.key)?, &item.id, Some(read)).await?;
                Ok(TrialAnswer {
                    request_charge: charge_of(&answer.diagnostics()),
                    items: 1,
                    bytes: item.bytes(),
                    physical_partitions: 1,
                })
            }
            TrialAction::Query(query) => {
                let scope = scope_of(query)?;
                let (request_charge, found) =
                    container.query::<Map<String, Value>>(query, scope, &reads).await?;
                Ok(TrialAnswer {
                    request_charge,
                    items: found.len(),
                    bytes: found.into_iter().map(bytes_of).sum(),
                    physical_partitions: if query.key.is_empty() { physical_partitions } else { 1 },
                })
            }
            TrialAction::Count(query) => container.count(query, &reads).await,
            TrialAction::Write { writes, .. } => container.write(writes, &writing).await,
            TrialAction::ChangeFeed(_) => container.read_changes(&reads).await,
        }
    }

    async fn container(&mut self, name: ContainerName) -> anyhow::Result<&mut TriedContainer> {
        if !self.containers.contains_key(&name) {
            let client = self.database.container_client(name.as_str().to_owned(), None).await?;
            let ranges = client.read_feed_ranges(None).await?.len();
            let physical_partitions = u32::try_from(ranges).unwrap_or(u32::MAX).max(1);
            let container = TriedContainer { client, physical_partitions, items: BTreeMap::new() };
            self.containers.insert(name, container);
        }
        self.containers.get_mut(&name).context("the container was opened")
    }
}

impl TriedContainer {
    /// Writes an item, unless it is there with the same body.
    async fn ensure(&mut self, item: &TrialItem, options: &OperationOptions) -> anyhow::Result<()> {
        let place = place_of(item);
        if self.items.get(&place) == Some(&item.stored) {
            return Ok(());
        }
        let write = ItemWriteOptions::default().with_operation_options(options.clone());
        self.client.upsert_item(key(&item.key)?, &item.id, item.stored.clone(), Some(write)).await?;
        self.items.insert(place, item.stored.clone());
        Ok(())
    }

    /// Removes an item, whether it is there or not: also one of an earlier run.
    async fn remove(&mut self, item: &TrialItem, options: &OperationOptions) -> anyhow::Result<()> {
        self.items.remove(&place_of(item));
        let write = ItemWriteOptions::default().with_operation_options(options.clone());
        match self.client.delete_item(key(&item.key)?, &item.id, Some(write)).await {
            Err(error) if !error.status().is_not_found() => Err(error.into()),
            _ => Ok(()),
        }
    }

    async fn query<T: serde::de::DeserializeOwned + Send + 'static>(
        &self,
        query: &TrialQuery,
        scope: FeedScope,
        options: &OperationOptions,
    ) -> anyhow::Result<(f64, Vec<T>)> {
        let mut sql = Query::from(query.text.clone());
        for (name, value) in &query.parameters {
            sql = sql.with_parameter(name.clone(), value)?;
        }
        let options = QueryOptions::default().with_operation_options(options.clone());
        let mut pages = self.client.query_items::<T>(sql, scope, Some(options)).await?.into_pages();
        let (mut charge, mut found) = (0.0, Vec::new());
        while let Some(page) = pages.next().await {
            let page = page?;
            charge += charge_of(&page.diagnostics());
            found.extend(page.into_items());
        }
        Ok((charge, found))
    }

    async fn count(&self, query: &TrialQuery, options: &OperationOptions) -> anyhow::Result<TrialAnswer> {
        let (request_charge, counts) = self.query::<u64>(query, scope_of(query)?, options).await?;
        let items = usize::try_from(counts.into_iter().sum::<u64>())?;
        Ok(TrialAnswer { request_charge, items, bytes: 0, physical_partitions: 1 })
    }

    async fn write(
        &mut self,
        writes: &[TrialWrite],
        options: &OperationOptions,
    ) -> anyhow::Result<TrialAnswer> {
        for write in writes {
            if let TrialWrite::Create(item) = write {
                self.remove(item, options).await?;
            }
        }
        let request_charge = match writes {
            [write] => self.write_one(write, options).await?,
            _ => self.write_batch(writes, options).await?,
        };
        for write in writes {
            let place = place_of(write.item());
            match write {
                TrialWrite::Delete(_) => drop(self.items.remove(&place)),
                TrialWrite::Create(item) | TrialWrite::Replace { after: item, .. } => {
                    self.items.insert(place, item.stored.clone());
                }
            }
        }
        let bytes = writes.iter().map(|write| write.item().bytes()).sum();
        Ok(TrialAnswer { request_charge, items: writes.len(), bytes, physical_partitions: 1 })
    }

    async fn write_one(&self, write: &TrialWrite, options: &OperationOptions) -> anyhow::Result<f64> {
        let options = Some(ItemWriteOptions::default().with_operation_options(options.clone()));
        let item = write.item();
        let (key, body) = (key(&item.key)?, item.stored.clone());
        let answer = match write {
            TrialWrite::Create(_) => self.client.create_item(key, &item.id, body, options).await?,
            TrialWrite::Replace { .. } => self.client.replace_item(key, &item.id, body, options).await?,
            TrialWrite::Delete(_) => self.client.delete_item(key, &item.id, options).await?,
        };
        Ok(charge_of(&answer.diagnostics()))
    }

    async fn write_batch(&self, writes: &[TrialWrite], options: &OperationOptions) -> anyhow::Result<f64> {
        let first = writes.first().context("a batch without a write")?;
        let mut batch = TransactionalBatch::new(key(&first.item().key)?);
        for write in writes {
            let item = write.item();
            batch = match write {
                TrialWrite::Create(_) => batch.create_item(item.stored.clone())?,
                TrialWrite::Replace { .. } => {
                    batch.replace_item(item.id.clone(), item.stored.clone(), None)?
                }
                TrialWrite::Delete(_) => batch.delete_item(item.id.clone(), None),
            };
        }
        let options = BatchOptions::default().with_operation_options(options.clone());
        let answer = self.client.execute_transactional_batch(batch, Some(options)).await?;
        let charge = charge_of(&answer.diagnostics());
        let answer = answer.into_model()?;
        let refused = answer.results().iter().find(|result| !result.is_success());
        if let Some(refused) = refused {
            bail!("a write of the batch was refused with the status {}", refused.status_code());
        }
        ensure!(
            answer.results().len() == writes.len(),
            "a batch was answered without a status for each write"
        );
        Ok(charge)
    }

    /// The first page with changes, as a projection reads it.
    async fn read_changes(&self, options: &OperationOptions) -> anyhow::Result<TrialAnswer> {
        let mut options = options.clone();
        options.read_consistency_strategy = Some(ReadConsistencyStrategy::LatestCommitted);
        let limit = NonZeroU32::new(FEED_PAGE_ITEMS).unwrap_or(NonZeroU32::MIN);
        let options = ChangeFeedOptions::default()
            .with_operation_options(options)
            .with_max_item_count(MaxItemCountHint::Limit(limit));
        let (scope, start) = (FeedScope::full_container(), ChangeFeedStartFrom::Beginning);
        let opened = self.client.query_change_feed::<Map<String, Value>>(scope, start, Some(options));
        let mut pages = opened.await?;
        for _ in 0..=self.physical_partitions {
            let page = pages.next().await.context("the change feed broke off")??;
            if page.items().is_empty() {
                continue;
            }
            let request_charge = charge_of(&page.diagnostics());
            let bodies = page.items().iter().filter_map(ChangeFeedItem::current).cloned();
            let (items, bytes) = (page.items().len(), bodies.map(bytes_of).sum());
            return Ok(TrialAnswer { request_charge, items, bytes, physical_partitions: 1 });
        }
        bail!("the change feed has no change")
    }
}

/// Whether the service refused this operation alone, and others may go on.
pub(super) fn is_refusal(error: &anyhow::Error) -> bool {
    let status = error.downcast_ref::<CosmosError>().map(|error| u16::from(error.status().status_code()));
    matches!(status, Some(400 | 404 | 409 | 413 | 501))
}

fn place_of(item: &TrialItem) -> (String, String) {
    (Value::from(item.key.clone()).to_string(), item.id.clone())
}

fn charge_of(diagnostics: &DiagnosticsContext) -> f64 {
    diagnostics.total_request_charge().value()
}

/// Bytes of an item as it was written.
fn bytes_of(mut item: Map<String, Value>) -> usize {
    for property in SYSTEM_PROPERTIES {
        item.remove(property);
    }
    Value::Object(item).to_string().len()
}

/// The logical partition of a query, the prefix of a hierarchical key, or all partitions.
fn scope_of(query: &TrialQuery) -> anyhow::Result<FeedScope> {
    Ok(if query.key.is_empty() {
        FeedScope::full_container()
    } else {
        FeedScope::partition(key(&query.key)?)
    })
}

fn key(values: &[Value]) -> anyhow::Result<PartitionKey> {
    let value = |value: &Value| match value {
        Value::String(text) => Ok(PartitionKeyValue::from(text.clone())),
        Value::Bool(is_true) => Ok(PartitionKeyValue::from(*is_true)),
        Value::Number(number) => {
            let number = number.as_f64().context("a number of a partition key is no 64-bit float")?;
            PartitionKeyValue::try_from(number).map_err(anyhow::Error::from)
        }
        Value::Null | Value::Array(_) | Value::Object(_) => bail!("{value} is no value of a partition key"),
    };
    let values: Vec<PartitionKeyValue> = values.iter().map(value).collect::<anyhow::Result<_>>()?;
    PartitionKey::try_from(values).map_err(anyhow::Error::from)
}
