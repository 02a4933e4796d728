//! The embedded adapter: a document store on an LSM tree (fjall 3) in one directory, for one process.
//!
//! One thread writes; it commits an item, its index entries and its change log entry at once, and concurrent
//! commits share one fsync. Reads run where they are called, on a snapshot: they take microseconds where the data is
//! in the cache, and a disk read where it is not. Physical partitions are modelled: items are placed by a hash of
//! their partition key, and a query without a partition key visits every one. Request charges are estimates.

mod charges;
mod directory;
mod document;
mod engine;
mod feed;
mod keys;
mod open;
mod reader;
mod writer;

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot, watch};

pub use directory::OpenError;
pub use engine::Durability;
pub use open::{EmbeddedConfig, PHYSICAL_PARTITIONS_DEFAULT, PHYSICAL_PARTITIONS_MAX};

use super::batch::check_operation;
use super::{
    Batch, ChargeSource, Clock, ContainerName, ContainerSpec, ETag, Fault, FaultKind, FeedPage, FeedRange,
    FeedRequest, Item, Ledger, OperationKind, OperationRecord, PartitionKey, Query, QueryPage, Rejection,
    RequestCharge, Store, WriteError, WriteOp, limits,
};
use directory::Directory;
use engine::{Engine, Space};
use writer::{Condition, Intent, Operation, Request};

/// A container of this store.
struct Container {
    id: keys::ContainerId,
    spec: ContainerSpec,
    signal: watch::Receiver<u64>,
}

/// A document store in a directory.
pub struct EmbeddedStore {
    directory: Directory,
    engine: Arc<Engine>,
    containers: Vec<Container>,
    partitions: u16,
    clock: Arc<dyn Clock>,
    requests: Option<mpsc::Sender<Request>>,
    writer: Option<std::thread::JoinHandle<()>>,
}

impl EmbeddedStore {
    fn container(&self, name: ContainerName) -> Result<&Container, Fault> {
        self.containers
            .iter()
            .find(|container| container.spec.name == name)
            .ok_or_else(|| Fault::new(FaultKind::Internal, format!("there is no container {name}")))
    }

    /// The directory that holds the data.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        self.directory.path()
    }

    /// The bytes that the data takes on the disk.
    ///
    /// # Errors
    /// A fault when the engine cannot say.
    pub fn disk_bytes(&self) -> Result<u64, Fault> {
        self.engine.disk_bytes()
    }

    /// Deletes up to `at_most` items whose time is over, and returns how many. They were invisible before.
    ///
    /// # Errors
    /// A fault of the engine.
    pub async fn purge_expired(&self, at_most: usize) -> Result<usize, Fault> {
        let (from, to) = keys::expiry_range(self.clock.now_ms());
        let expired = {
            let view = self.engine.view();
            let entries = view.range(Space::Index, &from, &to).take(at_most);
            entries
                .map(|entry| entry.key().map(|key| keys::parse_expiry_entry(&key)))
                .collect::<Result<Vec<_>, _>>()?
        };
        let purged = expired.len();
        for (container, partition_key, id) in expired.into_iter().flatten() {
            let operations = vec![Operation { id, intent: Intent::Purge }];
            let physical = keys::physical_partition(&partition_key, self.partitions);
            match self.submit(container, partition_key, physical, operations).await {
                Ok(_) => {}
                Err(WriteError::Fault(fault)) => return Err(fault),
                Err(WriteError::Rejected { .. }) => {
                    return Err(Fault::new(FaultKind::Internal, "a purge was refused"));
                }
            }
        }
        Ok(purged)
    }

    async fn submit(
        &self,
        container: keys::ContainerId,
        partition_key: String,
        physical: u16,
        operations: Vec<Operation>,
    ) -> Result<Vec<Option<ETag>>, WriteError> {
        let stopped = || Fault::new(FaultKind::Unavailable, "the store's writer has stopped");
        let (reply, answer) = oneshot::channel();
        let request = Request { container, partition_key, physical, operations, reply };
        self.requests.as_ref().ok_or_else(stopped)?.send(request).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Reads the JSON of the operations, checks their keys, and has the writer do them.
    async fn run_batch(
        &self,
        batch: Batch,
        single: bool,
        ledger: &Ledger,
    ) -> Result<Vec<Option<ETag>>, WriteError> {
        let container = self.container(batch.container)?;
        let rejected = |operation, reason| WriteError::Rejected { operation, reason };
        let partition_key = batch.partition_key.as_str();
        if partition_key.len() > limits::PARTITION_KEY_BYTES_MAX {
            return Err(rejected(0, Rejection::KeyMismatch));
        }
        let mut charge = 0.0;
        let mut kind = OperationKind::Batch;
        let mut operations = Vec::with_capacity(batch.operations.len());
        let items = u32::try_from(batch.operations.len()).unwrap_or(u32::MAX);
        for (position, operation) in batch.operations.into_iter().enumerate() {
            if single {
                kind = kind_of(&operation);
            }
            let (operation, operation_charge) = prepare(&container.spec, partition_key, operation)
                .map_err(|reason| rejected(position, reason))?;
            charge += operation_charge.0;
            operations.push(operation);
        }
        let physical = keys::physical_partition(partition_key, self.partitions);
        let outcome = self.submit(container.id, partition_key.to_owned(), physical, operations).await;
        let refused = outcome.is_err();
        record(ledger, batch.container, kind, if refused { 0 } else { items }, 1, RequestCharge(charge));
        outcome
    }
}

fn kind_of(operation: &WriteOp) -> OperationKind {
    match operation {
        WriteOp::Create(_) => OperationKind::Create,
        WriteOp::Upsert(_) => OperationKind::Upsert,
        WriteOp::Replace { .. } => OperationKind::Replace,
        WriteOp::Delete { .. } => OperationKind::Delete,
    }
}

/// Turns an operation of the port into one of the writer, with its estimated charge.
fn prepare(
    spec: &ContainerSpec,
    partition_key: &str,
    operation: WriteOp,
) -> Result<(Operation, RequestCharge), Rejection> {
    check_operation(&operation)?;
    let bytes = operation.body_bytes();
    let number = |if_match: Option<ETag>| if_match.map(|etag| etag.number().unwrap_or(0));
    let (item, condition) = match operation {
        WriteOp::Create(item) => (item, Condition::MustNotExist),
        WriteOp::Upsert(item) => (item, Condition::Any),
        WriteOp::Replace { item, if_match } => (item, Condition::MustExist { if_match: number(if_match) }),
        WriteOp::Delete { id, if_match } => {
            let intent = Intent::Delete { if_match: number(if_match) };
            return Ok((Operation { id, intent }, charges::write(bytes, 0)));
        }
    };
    let document = document::read_document(spec, &item.body).map_err(|_| Rejection::KeyMismatch)?;
    let same_id = document.id.as_deref() == Some(item.id.as_str());
    if !same_id || document.partition_key.as_deref() != Some(partition_key) {
        return Err(Rejection::KeyMismatch);
    }
    let indexed = 2 + spec.equality.len() + usize::from(spec.order_by.is_some());
    let intent = Intent::Put { condition, facts: document.facts, body: item.body };
    Ok((Operation { id: item.id, intent }, charges::write(bytes, indexed)))
}

fn record(
    ledger: &Ledger,
    container: ContainerName,
    kind: OperationKind,
    items: u32,
    physical_partitions: u32,
    charge: RequestCharge,
) {
    let source = ChargeSource::Estimated;
    ledger.record(OperationRecord { container, kind, items, physical_partitions, charge, source });
}

fn items_count(items: &[Item]) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}

#[async_trait]
impl Store for EmbeddedStore {
    async fn read(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        id: &str,
        ledger: &Ledger,
    ) -> Result<Option<Item>, Fault> {
        let item = {
            let container = self.container(container)?;
            reader::read(&self.engine, container.id, partition_key.as_str(), id, self.clock.now_ms())?
        };
        let bytes = item.as_ref().map_or(0, |item| item.body.len());
        let items = u32::from(item.is_some());
        record(ledger, container, OperationKind::PointRead, items, 1, charges::point_read(bytes));
        Ok(item)
    }

    async fn write(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        operation: WriteOp,
        ledger: &Ledger,
    ) -> Result<Option<ETag>, WriteError> {
        let batch = Batch { container, partition_key: partition_key.clone(), operations: vec![operation] };
        let etags = self.run_batch(batch, true, ledger).await?;
        Ok(etags.into_iter().next().flatten())
    }

    async fn batch(&self, batch: Batch, ledger: &Ledger) -> Result<Vec<Option<ETag>>, WriteError> {
        batch.check_limits().map_err(|(operation, reason)| WriteError::Rejected { operation, reason })?;
        if batch.operations.is_empty() {
            return Ok(Vec::new());
        }
        self.run_batch(batch, false, ledger).await
    }

    async fn query(&self, query: &Query<'_>, ledger: &Ledger) -> Result<QueryPage, Fault> {
        let now_ms = self.clock.now_ms();
        let (name, physical_partitions, (items, has_more)) = match query {
            Query::Partition { container, partition_key, item_type, direction, after, limit } => {
                let id = self.container(*container)?.id;
                let prefix = keys::live_prefix(id, partition_key.as_str(), item_type);
                let limit = (*limit).min(limits::PAGE_ITEMS_MAX);
                let page = reader::partition_page(&self.engine, &prefix, *direction, *after, limit, now_ms)?;
                (*container, 1, page)
            }
            Query::Equality { container, path, value, item_type, direction, after, limit } => {
                let Container { id, spec, .. } = self.container(*container)?;
                let index = spec.equality.iter().position(|indexed| indexed == path).ok_or_else(|| {
                    Fault::new(FaultKind::Internal, format!("{container} has no index on {path}"))
                })?;
                let index = u8::try_from(index).unwrap_or(u8::MAX);
                let prefix = |physical| keys::equality_prefix(*id, physical, index, value, item_type);
                let fan_out = self.fan_out(*id, item_type, prefix, *direction, *after, *limit, now_ms);
                (*container, u32::from(self.partitions), fan_out.page()?)
            }
            Query::Newest { container, item_type, after, limit } => {
                let Container { id, spec, .. } = self.container(*container)?;
                if !spec.newest_types.contains(item_type) {
                    let message = format!("{container} has no index on the newest {item_type}");
                    return Err(Fault::new(FaultKind::Internal, message));
                }
                let prefix = |physical| keys::newest_prefix(*id, physical, item_type);
                let direction = super::Direction::NewestFirst;
                let fan_out = self.fan_out(*id, item_type, prefix, direction, *after, *limit, now_ms);
                (*container, u32::from(self.partitions), fan_out.page()?)
            }
        };
        let bytes = items.iter().map(|item| item.body.len()).sum();
        let charge = charges::query(physical_partitions, items.len(), bytes);
        record(ledger, name, OperationKind::Query, items_count(&items), physical_partitions, charge);
        Ok(QueryPage { items, has_more })
    }

    async fn count(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        item_type: &str,
        ledger: &Ledger,
    ) -> Result<u64, Fault> {
        let id = self.container(container)?.id;
        let prefix = keys::live_prefix(id, partition_key.as_str(), item_type);
        let items = reader::count(&self.engine, &prefix, self.clock.now_ms())?;
        record(ledger, container, OperationKind::Count, 1, 1, charges::count(items));
        Ok(items)
    }

    async fn feed_ranges(&self, container: ContainerName) -> Result<Vec<FeedRange>, Fault> {
        self.container(container)?;
        Ok((0..self.partitions).map(feed::range_of).collect())
    }

    async fn read_change_feed(&self, request: &FeedRequest<'_>, ledger: &Ledger) -> Result<FeedPage, Fault> {
        let id = self.container(request.container)?.id;
        let physical = feed::parse_range(request.range, self.partitions)?;
        let page = feed::page(&self.engine, id, physical, request, self.clock.now_ms())?;
        let bytes = page.changes.iter().map(|change| change.item.body.len()).sum();
        let items = u32::try_from(page.changes.len()).unwrap_or(u32::MAX);
        let charge = charges::change_feed(bytes);
        record(ledger, request.container, OperationKind::ChangeFeed, items, 1, charge);
        Ok(page)
    }

    async fn pending_changes(
        &self,
        request: &FeedRequest<'_>,
        at_most: u64,
    ) -> Result<(u64, Option<i64>), Fault> {
        let id = self.container(request.container)?.id;
        let physical = feed::parse_range(request.range, self.partitions)?;
        feed::pending(&self.engine, id, physical, request, at_most)
    }

    fn change_signal(&self, container: ContainerName) -> Option<watch::Receiver<u64>> {
        self.container(container).ok().map(|container| container.signal.clone())
    }

    fn physical_partitions(&self, _container: ContainerName) -> u32 {
        u32::from(self.partitions)
    }

    async fn ready(&self) -> Result<(), Fault> {
        self.engine.get(Space::Meta, writer::META_SEQUENCE)?;
        match &self.requests {
            Some(requests) if !requests.is_closed() => Ok(()),
            _ => Err(Fault::new(FaultKind::Unavailable, "the store's writer has stopped")),
        }
    }
}

impl EmbeddedStore {
    #[expect(clippy::too_many_arguments, reason = "the parts of a query, named once")]
    fn fan_out<'a>(
        &'a self,
        container: keys::ContainerId,
        item_type: &'a str,
        prefix: impl Fn(u16) -> Vec<u8>,
        direction: super::Direction,
        after: Option<&'a super::Keyset>,
        limit: usize,
        now_ms: i64,
    ) -> reader::FanOut<'a> {
        let prefixes = (0..self.partitions).map(prefix).collect();
        let limit = limit.min(limits::PAGE_ITEMS_MAX);
        reader::FanOut {
            engine: &self.engine,
            container,
            item_type,
            prefixes,
            direction,
            after,
            limit,
            now_ms,
        }
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the store's writer panicked");
        }
    }
}
