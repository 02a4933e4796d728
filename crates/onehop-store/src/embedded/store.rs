//! The embedded store: writes go to the writer's queue, reads run where they are called.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::change_signals::ChangeSignals;
use super::directory::Directory;
use super::engine::Engine;
use super::high_water::HighWaterTracker;
use super::item_changes::{FormerVersion, PreparedWrite, WriteChargeRules, kind_of, prepare, written_before};
use super::item_entries::META_SEQUENCE;
use super::key_space::KeySpace;
use super::log_archive::LogArchiver;
use super::opened_after::OpenedAfter;
use super::read_caches::ReadCaches;
use super::reader::{self, PartitionMerge};
use super::write_requests::{ItemChange, WriteOperation, WriteRequest};
use super::writer_counters::WriterCounters;
use super::{feed, keys};
use crate::charges::{Calibration, IndexingPolicy, QueryWork, ReadConsistency, RefusedWrite};
use crate::document::{can_exist, check_text, is_indexable};
use crate::{
    Batch, ChargeBasis, ChargeSource, ContainerName, ContainerSpec, Continuation, ETag, Fault, FaultKind,
    FeedPage, FeedRange, FeedRequest, Item, Ledger, OperationKind, OperationRecord, PartitionKey, Query,
    QueryPage, Rejection, RequestCharge, SignalScope, Store, WriteError, WriteMarks, WriteOp, limits,
};
use onehop_runtime::clock::Clock;

/// A container of this store.
pub(super) struct EmbeddedContainer {
    pub(super) id: keys::ContainerId,
    pub(super) spec: ContainerSpec,
    /// The paths that estimated charges take for indexed.
    pub(super) policy: IndexingPolicy,
    pub(super) signals: Arc<ChangeSignals>,
}

/// A document store in a directory.
pub struct EmbeddedStore {
    pub(super) engine: Arc<Engine>,
    pub(super) containers: Vec<EmbeddedContainer>,
    pub(super) partitions: u16,
    /// The constants of the estimated charges.
    pub(super) calibration: Arc<Calibration>,
    pub(super) opened_after: OpenedAfter,
    pub(super) edits_from_bytes: usize,
    pub(super) disk_reserve_bytes: u64,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) requests: Option<mpsc::Sender<WriteRequest>>,
    pub(super) writer: Option<std::thread::JoinHandle<()>>,
    /// Copies the log, where it is kept.
    pub(super) archiver: Option<Mutex<LogArchiver>>,
    pub(super) counters: Arc<WriterCounters>,
    pub(super) marks: Arc<WriteMarks>,
    pub(super) caches: Arc<ReadCaches>,
    pub(super) high_water: Arc<HighWaterTracker>,
    /// The last field, dropped last: the directory is unlocked when the engine has let go of it. The writer
    /// of a simulation holds it, too, because dropping the store does not wait for it.
    pub(super) directory: Arc<Directory>,
}

impl EmbeddedStore {
    /// The constants of its estimated charges.
    #[must_use]
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    pub(super) fn container(&self, name: ContainerName) -> Result<&EmbeddedContainer, Fault> {
        self.containers
            .iter()
            .find(|container| container.spec.name == name)
            .ok_or_else(|| Fault::no_container(name))
    }

    /// Has the writer do operations, and waits for its answer.
    pub(super) async fn submit(
        &self,
        container: keys::ContainerId,
        partition_key: String,
        physical: u16,
        operations: Vec<WriteOperation>,
    ) -> Result<Vec<Option<ETag>>, WriteError> {
        let stopped = || Fault::new(FaultKind::Unavailable, "the store's writer has stopped");
        let (reply, answer) = oneshot::channel();
        let queued_at = Instant::now();
        let request = WriteRequest { container, partition_key, physical, operations, queued_at, reply };
        self.requests.as_ref().ok_or_else(stopped)?.send(request).await.map_err(|_| stopped())?;
        let lost = |_| Fault::new(FaultKind::Ambiguous, "the store's writer stopped before it answered");
        answer.await.map_err(lost)?
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
        check_text(partition_key, limits::PARTITION_KEY_BYTES_MAX).map_err(|reason| rejected(0, reason))?;
        let mut kind = OperationKind::Batch;
        let mut operations = Vec::with_capacity(batch.operations.len());
        let mut charges = Vec::with_capacity(batch.operations.len());
        // Bodies that this batch writes, where it has several operations.
        let mut written: Vec<(String, Bytes)> = Vec::new();
        let now_ms = self.clock.now_ms();
        let rules = WriteChargeRules { calibration: &self.calibration, policy: &container.policy };
        for (position, operation) in batch.operations.into_iter().enumerate() {
            if single {
                kind = kind_of(&operation);
            }
            // For the charge alone: the writer may find another, and a fault is no reason to refuse the
            // write.
            let before = match written_before(&operation) {
                None => None,
                Some(id) => match written.iter().rev().find(|(own, _)| own == id) {
                    Some((_, body)) => Some((body.clone(), true)),
                    None => {
                        let item = self.begin_read().item(container.id, partition_key, id, now_ms).await;
                        item.ok().flatten().map(|item| (item.body, false))
                    }
                },
            };
            let former =
                before.as_ref().map(|(body, is_of_batch)| FormerVersion { body, is_of_batch: *is_of_batch });
            if !single && let Some(item) = operation.item() {
                written.push((item.id.clone(), item.body.clone()));
            }
            let PreparedWrite { mut operation, charge, conflict } =
                prepare(&container.spec, rules, partition_key, operation, former)
                    .map_err(|reason| rejected(position, reason))?;
            if before.is_some_and(|(_, is_of_batch)| !is_of_batch) {
                self.add_edit(container.id, partition_key, &mut operation);
            }
            charges.push((charge.total().0, conflict.total().0));
            operations.push(operation);
        }
        let physical = keys::physical_partition(partition_key, self.partitions);
        let outcome = self.submit(container.id, partition_key.to_owned(), physical, operations).await;
        let items = if outcome.is_ok() { u32::try_from(charges.len()).unwrap_or(u32::MAX) } else { 0 };
        let charge = RequestCharge(self.charge_of(&charges, &outcome));
        ledger.record(estimate(batch.container, kind, items, 1, charge));
        ledger.wrote(batch.container, &batch.partition_key, None);
        outcome
    }

    /// Adds the difference from the stored item, where a large item changes little.
    fn add_edit(&self, container: keys::ContainerId, partition_key: &str, operation: &mut WriteOperation) {
        if let ItemChange::Put { body, edit, .. } = &mut operation.change
            && body.len() >= self.edits_from_bytes
        {
            *edit = self.begin_read().edit(container, partition_key, &operation.id, body);
        }
    }

    fn record_point_read(&self, ledger: &Ledger, container: ContainerName, item: Option<&Item>) {
        let bytes = item.map_or(0, |item| item.body.len());
        let charge = self.calibration.point_read(bytes, ReadConsistency::OneReplica).total();
        record(ledger, container, OperationKind::PointRead, u32::from(item.is_some()), 1, charge);
    }

    fn record_feed(&self, ledger: &Ledger, container: ContainerName, items: usize, bytes: usize) {
        let charge = self.calibration.change_feed(items, bytes, ReadConsistency::OneReplica).total();
        let items = u32::try_from(items).unwrap_or(u32::MAX);
        record(ledger, container, OperationKind::ChangeFeed, items, 1, charge);
    }

    /// The charge of operations that were done together: their sum. A refused operation is charged as a
    /// refusal, beside the operations before it, which are rolled back.
    fn charge_of(&self, charges: &[(f64, f64)], outcome: &Result<Vec<Option<ETag>>, WriteError>) -> f64 {
        let sum = |charges: &[(f64, f64)]| charges.iter().fold(0.0, |sum, (charge, _)| sum + charge);
        let Err(WriteError::Rejected { operation, reason }) = outcome else { return sum(charges) };
        let position = (*operation).min(charges.len());
        let refusal = match (reason, charges.get(position)) {
            (Rejection::Conflict, Some((_, conflict))) => *conflict,
            _ => self.calibration.refused(RefusedWrite::Precondition).total().0,
        };
        sum(&charges[..position]) + refusal
    }
}

/// The fault behind the failure of a write that cannot be refused.
pub(super) fn fault_of(error: WriteError) -> Fault {
    match error {
        WriteError::Fault(fault) => fault,
        refused @ WriteError::Rejected { .. } => Fault::new(FaultKind::Internal, refused.to_string()),
    }
}

fn record(
    ledger: &Ledger,
    container: ContainerName,
    kind: OperationKind,
    items: u32,
    physical_partitions: u32,
    charge: RequestCharge,
) {
    ledger.record(estimate(container, kind, items, physical_partitions, charge));
}

fn estimate(
    container: ContainerName,
    kind: OperationKind,
    items: u32,
    physical_partitions: u32,
    charge: RequestCharge,
) -> OperationRecord {
    let source = ChargeSource::Estimated;
    let basis = ChargeBasis::default();
    OperationRecord { container, kind, items, physical_partitions, charge, source, basis }
}

/// The conditions of a query's filter that an index serves: the type, soft deletion, the filter value, the
/// end of the previous page.
fn conditions_of(query: &Query<'_>, spec: &ContainerSpec) -> u32 {
    let (equality, after) = match query {
        Query::Partition { after, .. } | Query::Newest { after, .. } => (false, after),
        Query::Equality { after, .. } => (true, after),
    };
    1 + u32::from(spec.soft_deletes) + u32::from(equality) + u32::from(after.is_some())
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
        let (number, now_ms) = (self.container(container)?.id, self.clock.now_ms());
        ledger.touch(|| self.marks.of_partition(number, partition_key.as_str()));
        let item = self
            .begin_read()
            .item(number, partition_key.as_str(), id, now_ms)
            .await
            .map_err(|fault| fault.of_item(container, partition_key.as_str(), id))?;
        self.record_point_read(ledger, container, item.as_ref());
        Ok(item)
    }

    async fn read_many(
        &self,
        container: ContainerName,
        keys: &[(PartitionKey, String)],
        ledger: &Ledger,
    ) -> Result<Vec<Option<Item>>, Fault> {
        let (number, now_ms) = (self.container(container)?.id, self.clock.now_ms());
        let mut read = self.begin_read();
        read.view()?;
        let mut items = Vec::with_capacity(keys.len());
        for (partition_key, id) in keys {
            ledger.touch(|| self.marks.of_partition(number, partition_key.as_str()));
            let item = read
                .item(number, partition_key.as_str(), id, now_ms)
                .await
                .map_err(|fault| fault.of_item(container, partition_key.as_str(), id))?;
            self.record_point_read(ledger, container, item.as_ref());
            items.push(item);
        }
        Ok(items)
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
        let (name, physical_partitions, page) = self.merged_page(query, ledger, now_ms).await?;
        let PartitionMerge { items, has_more, returned } = page;
        let page_bytes: usize = items.iter().map(|item| item.body.len()).sum();
        // Items returned beyond the page were not read: they are taken to be as large as the page's own
        // items.
        let bytes = page_bytes * returned / items.len().max(1);
        let spec = &self.container(name)?.spec;
        let work = QueryWork {
            physical_partitions,
            conditions: conditions_of(query, spec),
            // A composite index serves the order.
            is_ordered: false,
            items: returned,
            bytes,
            ..QueryWork::default()
        };
        let charge = self.calibration.query(&work, ReadConsistency::OneReplica).total();
        let mut record =
            estimate(name, OperationKind::Query, items_count(&items), physical_partitions, charge);
        if !matches!(query, Query::Partition { .. }) {
            let returned = u32::try_from(returned).unwrap_or(u32::MAX);
            record.basis = ChargeBasis { is_across: true, returned, has_more };
        }
        ledger.record(record);
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
        ledger.touch(|| self.marks.of_partition(id, partition_key.as_str()));
        let items = if can_exist(partition_key.as_str(), "") && is_indexable(item_type) {
            let prefix = keys::live_prefix(id, partition_key.as_str(), item_type);
            reader::count(&self.engine, &prefix, self.clock.now_ms())?
        } else {
            0
        };
        let charge = self.calibration.count(1, items, ReadConsistency::OneReplica).total();
        record(ledger, container, OperationKind::Count, 1, 1, charge);
        Ok(items)
    }

    async fn feed_ranges(&self, container: ContainerName) -> Result<Vec<FeedRange>, Fault> {
        self.container(container)?;
        Ok((0..self.partitions).map(feed::range_of).collect())
    }

    /// Physical partitions are fixed when the directory is made.
    fn parts_of(&self, _whole: &FeedRange, _present: &[FeedRange]) -> Option<Vec<FeedRange>> {
        None
    }

    async fn read_change_feed(&self, request: &FeedRequest<'_>, ledger: &Ledger) -> Result<FeedPage, Fault> {
        let id = self.container(request.container)?.id;
        let physical = feed::parse_range(request.range, self.partitions)?;
        let page = feed::page((&self.engine, &self.caches), id, physical, request, self.clock.now_ms())?;
        let bytes = page.changes.iter().map(|change| change.item.body.len()).sum();
        self.record_feed(ledger, request.container, page.changes.len(), bytes);
        Ok(page)
    }

    async fn change_feed_end(
        &self,
        container: ContainerName,
        range: &FeedRange,
        ledger: &Ledger,
    ) -> Result<Continuation, Fault> {
        self.container(container)?;
        feed::parse_range(range, self.partitions)?;
        let end = feed::end(&self.engine)?;
        self.record_feed(ledger, container, 0, 0);
        Ok(end)
    }

    async fn change_feed_since(
        &self,
        container: ContainerName,
        range: &FeedRange,
        since_ms: i64,
        ledger: &Ledger,
    ) -> Result<Continuation, Fault> {
        let id = self.container(container)?.id;
        let physical = feed::parse_range(range, self.partitions)?;
        let since = feed::since(&self.engine, id, physical, since_ms)?;
        self.record_feed(ledger, container, 0, 0);
        Ok(since)
    }

    fn local_feed_end(&self, container: ContainerName) -> Result<Option<Continuation>, Fault> {
        self.container(container)?;
        feed::end(&self.engine).map(Some)
    }

    fn is_past(&self, at: &Continuation, end: &Continuation) -> bool {
        feed::is_past(at, end)
    }

    /// Every range ends where the store does.
    fn holds(&self, _range: &FeedRange, _end: &Continuation) -> bool {
        true
    }

    fn counts_locally(&self) -> bool {
        true
    }

    fn write_marks(&self) -> Option<&WriteMarks> {
        Some(&self.marks)
    }

    async fn pending_changes(
        &self,
        request: &FeedRequest<'_>,
        at_most: u64,
        ledger: &Ledger,
    ) -> Result<(u64, Option<i64>), Fault> {
        let id = self.container(request.container)?.id;
        let physical = feed::parse_range(request.range, self.partitions)?;
        let pending = feed::pending(&self.engine, id, physical, request, at_most)?;
        let items = usize::try_from(pending.0).unwrap_or(usize::MAX);
        self.record_feed(ledger, request.container, items, 0);
        Ok(pending)
    }

    fn change_signal(&self, scope: &SignalScope<'_>) -> Option<watch::Receiver<u64>> {
        self.container(scope.container).ok()?.signals.subscribe(scope, self.partitions)
    }

    fn physical_partitions(&self, _container: ContainerName) -> u32 {
        u32::from(self.partitions)
    }

    async fn ready(&self) -> Result<(), Fault> {
        self.engine.get(KeySpace::Meta, META_SEQUENCE)?;
        // A request without operations: the writer reports whether it takes writes, and mends an engine that
        // cannot write.
        self.submit(0, String::new(), 0, Vec::new()).await.map(drop).map_err(fault_of)
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
        if let Err(error) = self.archive_log() {
            tracing::warn!(%error, "the next opening copies the rest of the log");
        }
    }
}
