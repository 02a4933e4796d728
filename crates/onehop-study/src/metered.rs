//! Store decorator that meters request charges, including operations with a hidden ledger: the change feed
//! processor keeps its own. It can record in which logical partition each charge arose.

use std::sync::Arc;

use super::discards::{DiscardedChanges, FollowedContainer};
use super::fan_out_charge::FanOutQueries;
use onehop_change_feed::LEASES;
use onehop_store::{
    Change, ChargeSource, ContainerName, Ledger, OperationKind, OperationRecord, OperationScope,
    PartitionKey, RequestCharge, Store, StoreCall, StoreDecorator,
};
use parking_lot::Mutex;

/// A store with a meter of request charges.
pub struct MeteredStore {
    store: Arc<dyn Store>,
    charge: Mutex<RequestCharge>,
    /// The part of the charge for pages of the change feed.
    feed_charge: Mutex<RequestCharge>,
    /// The followed containers, and the changes brought in vain because of writes through this store.
    followed: Vec<FollowedContainer>,
    discarded: Mutex<DiscardedChanges>,
    /// `None` where they are not recorded.
    touches: Option<Mutex<Vec<PartitionAccess>>>,
}

/// The part of one operation that touched one logical partition.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionAccess {
    pub container: ContainerName,
    /// `None`: a query across logical partitions.
    pub partition_key: Option<PartitionKey>,
    pub kind: OperationKind,
    pub source: ChargeSource,
    pub charge: RequestCharge,
    /// The operation, where it was a query across logical partitions.
    pub across: Option<FanOutQueries>,
}

impl MeteredStore {
    /// With a meter at zero.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            charge: Mutex::default(),
            feed_charge: Mutex::default(),
            followed: Vec::new(),
            discarded: Mutex::default(),
            touches: None,
        }
    }

    /// With a meter that also records each touch until [`take_touches`](Self::take_touches).
    #[must_use]
    pub fn with_touches(store: Arc<dyn Store>) -> Self {
        Self { touches: Some(Mutex::default()), ..Self::new(store) }
    }

    /// The same with the containers whose change feed is followed, so that discarded changes are counted.
    #[must_use]
    pub fn following(self, followed: Vec<FollowedContainer>) -> Self {
        Self { followed, ..self }
    }

    /// The changes so far that its writes bring to the change feed in vain.
    #[must_use]
    pub fn discarded(&self) -> DiscardedChanges {
        *self.discarded.lock()
    }

    /// The part of the charge so far for pages of the change feed.
    #[must_use]
    pub fn feed_charge(&self) -> RequestCharge {
        *self.feed_charge.lock()
    }

    /// The charge so far, without the charges that arise even without changes: polling an idle change feed,
    /// and operations on leases (checkpoints).
    #[must_use]
    pub fn charge(&self) -> RequestCharge {
        *self.charge.lock()
    }

    /// Takes the touches since the last time; their charges add up to [`charge`](Self::charge).
    #[must_use]
    pub fn take_touches(&self) -> Vec<PartitionAccess> {
        let Some(touches) = &self.touches else { return Vec::new() };
        std::mem::take(&mut *touches.lock())
    }

    /// `partition_keys`: the keys of the items read or written, one for each record, or several that share
    /// each record evenly. An empty list stands for an operation across logical partitions.
    fn record(&self, own: &Ledger, partition_keys: &[&PartitionKey], ledger: &Ledger) {
        let mut charge = self.charge.lock();
        let records = own.operations();
        for (number, record) in records.iter().enumerate() {
            let is_idle = record.kind == OperationKind::ChangeFeed && record.items == 0;
            if is_idle || record.container == LEASES {
                continue;
            }
            *charge = *charge + record.charge;
            if record.kind == OperationKind::ChangeFeed {
                let mut feed_charge = self.feed_charge.lock();
                *feed_charge = *feed_charge + record.charge;
            }
            let Some(touches) = &self.touches else { continue };
            let shared_by = if records.len() == partition_keys.len() {
                &partition_keys[number..=number]
            } else {
                partition_keys
            };
            let mut touches = touches.lock();
            touches.extend(shares(record, shared_by));
        }
        ledger.absorb(own);
    }
}

fn shares(
    record: &OperationRecord,
    partition_keys: &[&PartitionKey],
) -> impl Iterator<Item = PartitionAccess> {
    let OperationRecord { container, kind, source, .. } = *record;
    let charge = RequestCharge(record.charge.0 / partition_keys.len().max(1) as f64);
    let across = record.basis.is_across.then(|| FanOutQueries {
        charge: charge.0,
        times: 1.0,
        items: f64::from(record.items),
        returned: f64::from(record.basis.returned),
        has_more: record.basis.has_more,
        physical_partitions: record.physical_partitions,
    });
    let elsewhere = partition_keys.is_empty().then_some(None);
    let within = partition_keys.iter().map(|key| Some(PartitionKey::clone(key)));
    elsewhere.into_iter().chain(within).map(move |partition_key| PartitionAccess {
        container,
        partition_key,
        kind,
        source,
        charge,
        across,
    })
}

impl StoreDecorator for MeteredStore {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        let (own, place) = (Ledger::new(), call.scope());
        let discarded = DiscardedChanges::of(&self.followed, call.container(), call.writes());
        let outcome = call.run(&*self.store, &own).await;
        if outcome.is_ok() {
            *self.discarded.lock() += discarded;
        }
        let changes = outcome.as_ref().map_or(&[][..], C::changes);
        self.record(&own, &partition_keys(place, changes), ledger);
        outcome
    }
}

/// The logical partitions of an operation; for a page of the change feed, the partitions of its changes.
fn partition_keys<'k>(place: OperationScope<'k>, changes: &'k [Change]) -> Vec<&'k PartitionKey> {
    match place {
        OperationScope::One(partition_key) => vec![partition_key],
        OperationScope::Each(keys) => keys.iter().map(|(partition_key, _)| partition_key).collect(),
        OperationScope::Across => changes.iter().map(|change| &change.partition_key).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onehop_runtime::clock::ManualClock;
    use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore};
    use onehop_store::{Batch, ChargeBasis, ContainerSpec, Direction, FeedRequest, NewItem, Query, WriteOp};

    fn query(basis: ChargeBasis) -> OperationRecord {
        OperationRecord {
            container: ContainerName("posts"),
            kind: OperationKind::Query,
            items: 4,
            physical_partitions: 2,
            charge: RequestCharge(6.0),
            source: ChargeSource::Estimated,
            basis,
        }
    }

    #[test]
    fn a_query_across_partitions_is_recorded_as_a_fan_out() {
        let record = query(ChargeBasis { is_across: true, returned: 10, has_more: true });
        let touch = shares(&record, &[]).next().unwrap();
        let across = touch.across.unwrap();
        assert_eq!((across.charge, across.returned, across.physical_partitions), (6.0, 10.0, 2));
        assert_eq!(touch.partition_key, None);
    }

    #[test]
    fn a_charge_is_shared_by_its_logical_partitions() {
        let keys = ["a", "b", "a", "c"].map(PartitionKey::from);
        let touched = |keys: &[&PartitionKey]| {
            let record = query(ChargeBasis::default());
            let touches = shares(&record, keys);
            let touch =
                |touch: PartitionAccess| (touch.partition_key.map(|key| key.to_string()), touch.charge.0);
            touches.map(touch).collect::<Vec<_>>()
        };
        let of = |key: &str| (Some(key.to_owned()), 1.5);
        assert_eq!(touched(&keys.each_ref()), [of("a"), of("b"), of("a"), of("c")]);
        assert_eq!(touched(&[]), [(None, 6.0)]);
    }

    const THINGS: ContainerName = ContainerName("things");

    fn specs() -> [ContainerSpec; 2] {
        let spec = |name| ContainerSpec {
            name,
            partition_key: "home",
            order_by: None,
            orders: &[],
            ttl_s: None,
            equality: &[],
            newest_types: &[],
            soft_deletes: true,
        };
        [spec(THINGS), spec(LEASES)]
    }

    fn home() -> PartitionKey {
        PartitionKey::from("h")
    }

    fn create(id: &str) -> WriteOp {
        let item = serde_json::json!({"id": id, "type": "thing", "home": "h"});
        WriteOp::Create(NewItem::encode(id.to_owned(), &item))
    }

    /// Every kind of operation that changes or returns something of a container.
    async fn do_everything(store: &MeteredStore, container: ContainerName, ledger: &Ledger) {
        store.write(container, &home(), create("a"), ledger).await.unwrap();
        let operations = vec![create("b"), create("c")];
        store.batch(Batch { container, partition_key: home(), operations }, ledger).await.unwrap();
        assert!(store.read(container, &home(), "a", ledger).await.unwrap().is_some());
        store.read_many(container, &[(home(), "b".to_owned())], ledger).await.unwrap();
        let query = Query::Partition {
            container,
            partition_key: &home(),
            item_type: "thing",
            direction: Direction::NewestFirst,
            after: None,
            limit: 10,
            order_by: None,
        };
        assert_eq!(store.query(&query, ledger).await.unwrap().items.len(), 3);
        assert_eq!(store.count(container, &home(), "thing", ledger).await.unwrap(), 3);
        assert_eq!(read_feed(store, container, ledger).await, 3);
    }

    fn store(directory: &std::path::Path) -> Arc<dyn Store> {
        let config = EmbeddedConfig { physical_partitions: Some(1), ..EmbeddedConfig::new(directory) };
        Arc::new(EmbeddedStore::open_with(&config, &specs(), Arc::new(ManualClock::new(0))).unwrap())
    }

    /// The number of changes in the container, of its only physical partition.
    async fn read_feed(store: &MeteredStore, container: ContainerName, ledger: &Ledger) -> usize {
        let ranges = store.feed_ranges(container).await.unwrap();
        let request =
            FeedRequest { container, range: &ranges[0], continuation: None, types: None, limit: 10 };
        store.read_change_feed(&request, ledger).await.unwrap().changes.len()
    }

    #[tokio::test]
    async fn leases_and_idle_polls_are_not_counted() {
        let directory = tempfile::tempdir().unwrap();
        let metered = MeteredStore::new(store(directory.path()));
        let (counted, left_out) = (Ledger::new(), Ledger::new());
        assert_eq!(read_feed(&metered, THINGS, &left_out).await, 0);
        do_everything(&metered, LEASES, &left_out).await;
        assert_eq!(metered.charge(), RequestCharge(0.0));
        do_everything(&metered, THINGS, &counted).await;
        let difference = metered.charge().0 - counted.total().0;
        assert!(difference.abs() < 1e-9, "{difference}");
        let kinds = |ledger: &Ledger| ledger.operations().len();
        assert_eq!((kinds(&counted), kinds(&left_out)), (7, 8), "the caller's ledger has everything");
    }

    #[tokio::test]
    async fn every_kind_of_operation_records_its_logical_partition() {
        let directory = tempfile::tempdir().unwrap();
        let (metered, ledger) = (MeteredStore::with_touches(store(directory.path())), Ledger::new());
        do_everything(&metered, THINGS, &ledger).await;
        let touches = metered.take_touches();
        assert!(touches.iter().all(|touch| touch.partition_key == Some(home())), "{touches:?}");
        let sum: f64 = touches.iter().map(|touch| touch.charge.0).sum();
        assert!((sum - ledger.total().0).abs() < 1e-9, "{sum}");
        assert_eq!(metered.take_touches(), [], "each is taken once");
        do_everything(&metered, LEASES, &ledger).await;
        assert_eq!(metered.take_touches(), []);
    }

    /// The charge of the newest five of forty items, on a store with this number of physical partitions.
    async fn newest_five(physical_partitions: u16) -> FanOutQueries {
        let directory = tempfile::tempdir().unwrap();
        let spec = ContainerSpec {
            name: THINGS,
            partition_key: "home",
            order_by: Some("at"),
            orders: &[],
            ttl_s: None,
            equality: &[],
            newest_types: &["thing"],
            soft_deletes: true,
        };
        let config = EmbeddedConfig {
            physical_partitions: Some(physical_partitions),
            ..EmbeddedConfig::new(directory.path())
        };
        let store = EmbeddedStore::open_with(&config, &[spec], Arc::new(ManualClock::new(0))).unwrap();
        let metered = MeteredStore::with_touches(Arc::new(store));
        let ledger = Ledger::new();
        for number in 0..40 {
            let home = PartitionKey::new(number.to_string());
            let at = format!("2026-01-{:02}T00:00:00.000Z", number % 28 + 1);
            let item = serde_json::json!({"id": number.to_string(), "type": "thing", "home": home.as_str(), "at": at});
            let create = WriteOp::Create(NewItem::encode(number.to_string(), &item));
            metered.write(THINGS, &home, create, &ledger).await.unwrap();
        }
        drop(metered.take_touches());
        let query = Query::Newest {
            container: THINGS,
            item_type: "thing",
            after: None,
            limit: 5,
            order_by: None,
            direction: Direction::NewestFirst,
        };
        assert_eq!(metered.query(&query, &ledger).await.unwrap().items.len(), 5);
        metered.take_touches()[0].across.unwrap()
    }

    #[tokio::test]
    async fn a_derived_charge_across_partitions_is_near_the_measured_one() {
        let one = newest_five(1).await;
        let calibration = onehop_store::charges::Calibration::current();
        for partitions in [2, 4] {
            let measured = newest_five(partitions).await;
            let derived = one.charge_at(&calibration, u32::from(partitions));
            assert!((derived / measured.charge - 1.0).abs() < 0.05, "{derived} {measured:?}");
        }
    }
}
