//! Hot partitions: the load of this process by logical partition. It keeps totals of each container, and the
//! keys with the highest request charge (heavy hitters), in bounded memory. Keys are kept only where the
//! composition root declares them public.

use parking_lot::{Mutex, MutexGuard};

use uuid::Uuid;

use onehop_runtime::space_saving::{HeavyHitter, SpaceSaving};
use onehop_store::{
    ChargeSource, ContainerName, ObservedOperation, OperationRecord, OperationScope, PartitionKey,
    RequestCharge, StoreObserver,
};

/// Logical partitions of a container whose charges are kept apart. The estimate for a partition is too high
/// by at most this part of the container's charge, and every partition with more is there.
pub const COUNTERS_MAX: usize = 256;

/// Exposure of the partition keys of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionKeyExposure {
    /// UUIDs; other keys are not kept.
    Ids,
    /// The only one there is.
    One(&'static str),
    /// No keys: they are made of typed text, or internal.
    None,
}

/// The load of one container since the start.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerLoad {
    pub container: ContainerName,
    /// Each item of a read of many counts as one.
    pub operations: u64,
    pub charge: RequestCharge,
    /// The part of it for no single logical partition: queries of all of them, and the change feed.
    pub charge_across: RequestCharge,
    /// `None` before the first operation.
    pub source: Option<ChargeSource>,
    pub keys_told: PartitionKeyExposure,
    /// The surely highest charges first.
    pub hottest: Vec<HotPartition>,
}

/// The load of one logical partition. An operation on a key that is not among the hottest may be forgotten.
#[derive(Debug, Clone, PartialEq)]
pub struct HotPartition {
    pub key: HotKey,
    /// This many at least.
    pub operations: u64,
    pub charge_min: RequestCharge,
    pub charge_max: RequestCharge,
}

/// A partition key that may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HotKey {
    Id(Uuid),
    One(&'static str),
}

/// Hears of every operation on the store, and keeps sums.
#[derive(Debug)]
pub struct HotPartitions {
    containers: Vec<ContainerSums>,
}

#[derive(Debug)]
struct ContainerSums {
    name: ContainerName,
    keys_told: PartitionKeyExposure,
    sums: Mutex<PartitionSums>,
}

#[derive(Debug)]
struct PartitionSums {
    operations: u64,
    charge: f64,
    charge_across: f64,
    source: Option<ChargeSource>,
    sketch: SpaceSaving,
}

impl HotPartitions {
    /// Of these containers, and no others.
    #[must_use]
    pub fn new(containers: impl IntoIterator<Item = (ContainerName, PartitionKeyExposure)>) -> Self {
        let container = |(name, keys_told)| {
            let counters_max = if keys_told == PartitionKeyExposure::Ids { COUNTERS_MAX } else { 1 };
            let sums = Mutex::new(PartitionSums {
                operations: 0,
                charge: 0.0,
                charge_across: 0.0,
                source: None,
                sketch: SpaceSaving::new(counters_max),
            });
            ContainerSums { name, keys_told, sums }
        };
        Self { containers: containers.into_iter().map(container).collect() }
    }

    /// The load of each container, in the given order, with this many logical partitions at most.
    #[must_use]
    pub fn containers(&self, hottest_max: usize) -> Vec<ContainerLoad> {
        self.containers.iter().map(|container| container.load(hottest_max)).collect()
    }
}

impl StoreObserver for HotPartitions {
    fn on_operation(&self, operated: &ObservedOperation<'_>) {
        let Some(container) = self.containers.iter().find(|known| known.name == operated.container) else {
            return;
        };
        match operated.scope {
            OperationScope::One(key) => {
                let key = container.keys_told.fold(key);
                container.sums().add(operated.records.iter().map(|record| (key, record)), false);
            }
            OperationScope::Each(keys) => {
                // Keys are read before the lock is taken.
                let keys: Vec<Option<u128>> =
                    keys.iter().map(|(key, _)| container.keys_told.fold(key)).collect();
                let keys = keys.into_iter().chain(std::iter::repeat(None));
                container.sums().add(keys.zip(operated.records), false);
            }
            OperationScope::Across => {
                container.sums().add(operated.records.iter().map(|record| (None, record)), true);
            }
        }
    }
}

impl PartitionKeyExposure {
    /// A key as a number, if it may be shown.
    fn fold(self, key: &PartitionKey) -> Option<u128> {
        match self {
            Self::Ids => Uuid::try_parse(key.as_str()).ok().map(|id| id.as_u128()),
            Self::One(only) => (only == key.as_str()).then_some(0),
            Self::None => None,
        }
    }

    fn unfold(self, key: u128) -> Option<HotKey> {
        match self {
            Self::Ids => Some(HotKey::Id(Uuid::from_u128(key))),
            Self::One(only) => Some(HotKey::One(only)),
            Self::None => None,
        }
    }
}

impl ContainerSums {
    fn sums(&self) -> MutexGuard<'_, PartitionSums> {
        self.sums.lock()
    }

    fn load(&self, hottest_max: usize) -> ContainerLoad {
        let (sums, heaviest) = {
            let sums = self.sums();
            (
                (sums.operations, sums.charge, sums.charge_across, sums.source),
                sums.sketch.heaviest(hottest_max),
            )
        };
        let (operations, charge, charge_across, source) = sums;
        let hot = |heavy: HeavyHitter| {
            Some(HotPartition {
                key: self.keys_told.unfold(heavy.key)?,
                operations: heavy.times,
                charge_min: RequestCharge(heavy.weight_min),
                charge_max: RequestCharge(heavy.weight_max),
            })
        };
        ContainerLoad {
            container: self.name,
            operations,
            charge: RequestCharge(charge),
            charge_across: RequestCharge(charge_across),
            source,
            keys_told: self.keys_told,
            hottest: heaviest.into_iter().filter_map(hot).collect(),
        }
    }
}

impl PartitionSums {
    fn add<'a>(
        &mut self,
        operations: impl Iterator<Item = (Option<u128>, &'a OperationRecord)>,
        is_across: bool,
    ) {
        for (key, record) in operations {
            // A service that says nothing of a charge must not spoil the sums.
            let charge = record.charge.0.max(0.0);
            self.operations += 1;
            self.charge += charge;
            self.source = Some(record.source);
            if is_across {
                self.charge_across += charge;
            }
            if let Some(key) = key {
                self.sketch.add(key, charge);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use onehop_store::OperationKind;

    const POSTS: ContainerName = ContainerName("posts");
    const ACCOUNTS: ContainerName = ContainerName("accounts");

    fn loads() -> HotPartitions {
        HotPartitions::new([(POSTS, PartitionKeyExposure::Ids), (ACCOUNTS, PartitionKeyExposure::None)])
    }

    fn id(number: u128) -> String {
        Uuid::from_u128(number).to_string()
    }

    /// An operation with a record for each of these charges.
    fn operate(loads: &HotPartitions, container: ContainerName, scope: OperationScope<'_>, charges: &[f64]) {
        let kind = OperationKind::PointRead;
        let record = |charge: &f64| OperationRecord {
            container,
            kind,
            items: 1,
            physical_partitions: 1,
            charge: RequestCharge(*charge),
            source: ChargeSource::Estimated,
            basis: onehop_store::ChargeBasis::default(),
        };
        let records: Vec<OperationRecord> = charges.iter().map(record).collect();
        let duration = Duration::ZERO;
        let operated = ObservedOperation {
            container,
            kind,
            duration,
            records: &records,
            scope,
            failed: None,
            span: None,
        };
        loads.on_operation(&operated);
    }

    fn sums(load: &ContainerLoad) -> (u64, f64, f64) {
        (load.operations, load.charge.0, load.charge_across.0)
    }

    fn hottest(load: &ContainerLoad) -> Vec<(u128, u64, f64)> {
        let hot = |hot: &HotPartition| match hot.key {
            HotKey::Id(id) => (id.as_u128(), hot.operations, hot.charge_min.0),
            HotKey::One(key) => panic!("{key} is not an id"),
        };
        load.hottest.iter().map(hot).collect()
    }

    #[test]
    fn an_operation_counts_for_its_partition_keys_only() {
        let loads = loads();
        let [one, two] = [1, 2].map(|number| PartitionKey::from(&*id(number)));
        operate(&loads, POSTS, OperationScope::One(&one), &[4.0]);
        let both = [(one.clone(), "a".to_owned()), (two, "b".to_owned())];
        operate(&loads, POSTS, OperationScope::Each(&both), &[1.0, 2.0]);
        operate(&loads, POSTS, OperationScope::Across, &[8.0]);
        let load = loads.containers(9).remove(0);
        assert_eq!(sums(&load), (4, 15.0, 8.0));
        assert_eq!(hottest(&load), [(1, 2, 5.0), (2, 1, 2.0)]);
        assert_eq!(hottest(&loads.containers(1)[0]), [(1, 2, 5.0)]);
    }

    #[test]
    fn a_confidential_key_is_not_kept() {
        let loads = loads();
        let [name, id] = ["ada", &id(1)].map(PartitionKey::from);
        for key in [&name, &id] {
            operate(&loads, ACCOUNTS, OperationScope::One(key), &[1.0]);
        }
        operate(&loads, POSTS, OperationScope::One(&name), &[1.0]);
        let shown = loads.containers(9);
        assert_eq!((shown[0].operations, shown[1].operations), (1, 2));
        assert!(shown.iter().all(|load| load.hottest.is_empty()), "{shown:?}");
        assert!(!format!("{loads:?}").contains("ada"));
    }

    #[test]
    fn a_charge_that_is_none_spoils_no_sum() {
        let loads = loads();
        let key = PartitionKey::from(&*id(1));
        operate(&loads, POSTS, OperationScope::One(&key), &[f64::NAN, -1.0, 3.0]);
        let load = loads.containers(9).remove(0);
        assert_eq!((sums(&load), hottest(&load)), ((3, 3.0, 0.0), vec![(1, 3, 3.0)]));
    }
}
