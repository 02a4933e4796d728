//! The store of one simulated process over the account, with one consistency.

use std::sync::Arc;

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt};
use onehop_store::adapter_rules::{can_exist, check_keyset, is_indexable};
use onehop_store::{
    Batch, ContainerName, ContainerSpec, Continuation, ETag, Fault, FaultKind, FeedPage, FeedRange,
    FeedRequest, Item, Ledger, OperationKind, PartitionKey, Query, QueryPage, SignalScope, Store, WriteError,
    WriteMarks, WriteOp,
};
use tokio::sync::watch;

use super::account::{AccountModel, ReadAnswer};
use super::charges::{charge_of_query, charged_as, record};
use super::client::AccountClient;
use super::faults::AccountRequest;
use super::hash_range::{HashRange, parts_of};
use super::queries::QueryShape;
use super::read_view::{ModelConsistency, ReadView};
use super::requests::pause;
use super::writes::{is_addressable, kind_of};
use super::{feed_requests, positions};

/// Point reads of one `read_many` that are under way at the same time, as the adapter has them.
const READS_AT_ONCE: usize = 32;
/// The id that `ready` reads: an item that is not there.
const READY_ID: &str = "ready";

/// The store of a process. A clone is a store of the same process.
#[derive(Clone)]
pub struct AccountStore(AccountClient);

impl AccountModel {
    /// The store of a new process, which reads with this consistency.
    #[must_use]
    pub fn store(self: &Arc<Self>, consistency: ModelConsistency) -> Arc<dyn Store> {
        Arc::new(self.connect(consistency))
    }

    /// The same as [`store`](Self::store). [`AccountStore::with_consistency`] gives further stores of the
    /// process.
    #[must_use]
    pub fn connect(self: &Arc<Self>, consistency: ModelConsistency) -> AccountStore {
        let (account, process) = (Arc::clone(self), Arc::new(self.new_process()));
        AccountStore(AccountClient { account, process, consistency })
    }
}

impl AccountStore {
    /// A store of the same process with another consistency. Both share session tokens and change signals.
    #[must_use]
    pub fn with_consistency(&self, consistency: ModelConsistency) -> Self {
        Self(AccountClient { consistency, ..self.0.clone() })
    }
}

impl AccountClient {
    /// The container of a query, by its place, and the query's shape.
    fn shape_of<'a>(&self, query: &Query<'a>) -> Result<(usize, QueryShape<'a>), Fault> {
        let equality = None;
        match *query {
            Query::Partition { container, partition_key, item_type, order_by, direction, after, limit } => {
                let place = self.account.container(container)?;
                let order = self.account.specs[place].order_index(item_type, order_by)?;
                let partition_key = Some(partition_key);
                let shape = QueryShape { partition_key, item_type, equality, order, direction, after, limit };
                Ok((place, shape))
            }
            Query::Equality { container, path, value, item_type, order_by, direction, after, limit } => {
                let place = self.account.container(container)?;
                let spec = &self.account.specs[place];
                let path_place = spec.equality.iter().position(|indexed| *indexed == path);
                let equality = Some((path_place.ok_or_else(|| no_index(spec, path))?, value));
                let (partition_key, order) = (None, spec.order_index(item_type, order_by)?);
                let shape = QueryShape { partition_key, item_type, equality, order, direction, after, limit };
                Ok((place, shape))
            }
            Query::Newest { container, item_type, order_by, direction, after, limit } => {
                let place = self.account.container(container)?;
                let spec = &self.account.specs[place];
                if !spec.newest_types.contains(&item_type) {
                    return Err(no_index(spec, item_type));
                }
                let (partition_key, order) = (None, spec.order_index(item_type, order_by)?);
                let shape = QueryShape { partition_key, item_type, equality, order, direction, after, limit };
                Ok((place, shape))
            }
        }
    }

    async fn page(
        &self,
        container: usize,
        shape: QueryShape<'_>,
        ledger: &Ledger,
    ) -> Result<QueryPage, Fault> {
        let key = shape.partition_key.map(PartitionKey::as_str);
        let read = |view: &ReadView<'_>| ReadAnswer::of(view.page(shape), view.places(shape.partition_key));
        let answered = self.reading(AccountRequest::Query, container, key, read).await;
        let is_across = shape.partition_key.is_none();
        let partitions = if is_across { self.process.physical_partitions(container) } else { 1 };
        let (items, bytes) =
            answered.as_ref().map_or((0, 0), |answer| (answer.page.items.len(), answer.bytes));
        let calibration = &self.account.calibration;
        let charge = charge_of_query(calibration, (partitions, items, bytes), self.consistency);
        let name = self.account.specs[container].name;
        let mut record = record(name, OperationKind::Query, (items, partitions), charge);
        record.basis.is_across = is_across;
        ledger.record(record);
        answered.map(|answer| answer.page)
    }

    async fn read_item(
        &self,
        (request, container): (AccountRequest, usize),
        partition_key: &PartitionKey,
        id: &str,
    ) -> Result<Option<Item>, Fault> {
        let read = |view: &ReadView<'_>| {
            ReadAnswer::of(view.item(partition_key, id), view.places(Some(partition_key)))
        };
        self.reading(request, container, Some(partition_key.as_str()), read).await
    }
}

#[async_trait]
impl Store for AccountStore {
    async fn read(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        id: &str,
        ledger: &Ledger,
    ) -> Result<Option<Item>, Fault> {
        let place = self.0.account.container(container)?;
        let outcome = if is_addressable(partition_key, id) {
            self.0.read_item((AccountRequest::PointRead, place), partition_key, id).await
        } else {
            Ok(None)
        };
        let item = outcome.as_ref().ok().and_then(Option::as_ref);
        let bytes = item.map_or(0, |item| item.body.len());
        let charge = self.0.account.calibration.point_read(bytes, charged_as(self.0.consistency)).total();
        let items = usize::from(item.is_some());
        ledger.record(record(container, OperationKind::PointRead, (items, 1), charge));
        outcome
    }

    async fn read_many(
        &self,
        container: ContainerName,
        keys: &[(PartitionKey, String)],
        ledger: &Ledger,
    ) -> Result<Vec<Option<Item>>, Fault> {
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
        let place = self.0.account.container(container)?;
        let kind = kind_of(&operation);
        let batch = Batch { container, partition_key: partition_key.clone(), operations: vec![operation] };
        let batch = self.0.check(place, batch)?;
        let etags = self.0.send(place, batch, kind, ledger).await?;
        Ok(etags.into_iter().next().flatten())
    }

    async fn batch(&self, batch: Batch, ledger: &Ledger) -> Result<Vec<Option<ETag>>, WriteError> {
        let place = self.0.account.container(batch.container)?;
        batch.check_limits().map_err(|(operation, reason)| WriteError::Rejected { operation, reason })?;
        let batch = self.0.check(place, batch)?;
        if batch.operations.is_empty() {
            return Ok(Vec::new());
        }
        self.0.send(place, batch, OperationKind::Batch, ledger).await
    }

    async fn query(&self, query: &Query<'_>, ledger: &Ledger) -> Result<QueryPage, Fault> {
        let (container, shape) = self.0.shape_of(query)?;
        check_keyset(shape.after)?;
        let can_be_there = shape.partition_key.is_none_or(|key| can_exist(key.as_str(), ""))
            && shape.equality.is_none_or(|(_, value)| is_indexable(value))
            && is_indexable(shape.item_type);
        if can_be_there { self.0.page(container, shape, ledger).await } else { Ok(QueryPage::default()) }
    }

    async fn count(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        item_type: &str,
        ledger: &Ledger,
    ) -> Result<u64, Fault> {
        let place = self.0.account.container(container)?;
        if !can_exist(partition_key.as_str(), "") || !is_indexable(item_type) {
            return Ok(0);
        }
        let read = |view: &ReadView<'_>| {
            ReadAnswer::of(view.count(partition_key, item_type), view.places(Some(partition_key)))
        };
        let counted = self.0.reading(AccountRequest::Count, place, Some(partition_key.as_str()), read).await;
        let items = counted.as_ref().copied().unwrap_or(0);
        let charge = self.0.account.calibration.count(1, items, charged_as(self.0.consistency)).total();
        ledger.record(record(container, OperationKind::Count, (1, 1), charge));
        counted
    }

    async fn feed_ranges(&self, container: ContainerName) -> Result<Vec<FeedRange>, Fault> {
        let place = self.0.account.container(container)?;
        let read = |view: &ReadView<'_>| {
            let ranges: Vec<HashRange> =
                view.container.partitions.iter().map(|partition| partition.range).collect();
            ReadAnswer::of(ranges, Vec::new())
        };
        let ranges = self.0.reading(AccountRequest::FeedRanges, place, None, read).await?;
        self.0.process.looked_up(place, ranges.len());
        Ok(ranges.into_iter().map(HashRange::feed_range).collect())
    }

    fn parts_of(&self, whole: &FeedRange, present: &[FeedRange]) -> Option<Vec<FeedRange>> {
        parts_of(whole, present)
    }

    async fn read_change_feed(&self, request: &FeedRequest<'_>, ledger: &Ledger) -> Result<FeedPage, Fault> {
        self.0.read_feed(request, ledger).await
    }

    async fn change_feed_end(
        &self,
        container: ContainerName,
        range: &FeedRange,
        ledger: &Ledger,
    ) -> Result<Continuation, Fault> {
        let request = FeedRequest { container, range, continuation: None, types: None, limit: 1 };
        self.0.feed_end(&request, ledger).await
    }

    async fn change_feed_since(
        &self,
        container: ContainerName,
        range: &FeedRange,
        since_ms: i64,
        _ledger: &Ledger,
    ) -> Result<Continuation, Fault> {
        self.0.account.container(container)?;
        pause(std::time::Duration::ZERO).await;
        feed_requests::feed_since(range, since_ms)
    }

    /// Only the service knows where its feeds end.
    fn local_feed_end(&self, _container: ContainerName) -> Result<Option<Continuation>, Fault> {
        Ok(None)
    }

    fn is_past(&self, at: &Continuation, end: &Continuation) -> bool {
        positions::is_past(at, end)
    }

    fn holds(&self, range: &FeedRange, end: &Continuation) -> bool {
        positions::holds(range, end)
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
        self.0.count_pending(request, at_most, ledger).await
    }

    /// Other processes write as well.
    fn write_marks(&self) -> Option<&WriteMarks> {
        None
    }

    /// Writes of this process. Others write, too: a reader has to poll beside it.
    fn change_signal(&self, scope: &SignalScope<'_>) -> Option<watch::Receiver<u64>> {
        let place = self.0.account.place_of(scope.container)?;
        self.0.process.signals(place).subscribe(scope)
    }

    fn physical_partitions(&self, container: ContainerName) -> u32 {
        self.0.account.place_of(container).map_or(1, |place| self.0.process.physical_partitions(place))
    }

    async fn ready(&self) -> Result<(), Fault> {
        if self.0.account.specs.is_empty() {
            return Ok(());
        }
        let key = PartitionKey::from(READY_ID);
        self.0.read_item((AccountRequest::Ready, 0), &key, READY_ID).await.map(drop)
    }
}

fn no_index(spec: &ContainerSpec, what: &str) -> Fault {
    Fault::new(FaultKind::Internal, format!("the container {} has no index for {what}", spec.name))
}
