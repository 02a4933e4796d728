//! Hot partitions as clients of the operations API see them: how load spreads over logical partitions.

use async_graphql::{ComplexObject, ID, Result, SimpleObject};
use onehop_store::{ContainerName, RequestCharge};

use super::errors::items_of;
use crate::blog::containers::{POSTS, USERS};
use crate::blog::ids::{PostId, UserId};
use crate::graphql::{ChargeSource, GlobalId};
use crate::telemetry::{self, HotKey, PartitionKeyExposure};

/// The load of a container since this process started.
#[derive(Debug, Clone, PartialEq, SimpleObject)]
#[graphql(complex)]
pub struct ContainerPartitions {
    /// The container's name.
    container: String,
    /// The number of its physical partitions.
    physical_partitions: u32,
    /// Operations of this process, including its projections. Each item of a read of many counts as one.
    operations: f64,
    /// Their charge, in request units.
    request_charge: f64,
    /// The part of it for no single logical partition: queries of all of them, and the change feed.
    request_charge_across: f64,
    /// Whether the service measured the charges or a model estimated them; null before the first operation.
    charge_source: Option<ChargeSource>,
    /// Whether partition keys are shown. They are not where they are made of user input.
    keys_told: bool,
    #[graphql(skip)]
    hottest: Vec<LogicalPartition>,
}

/// The load of a logical partition since this process started. The two charges differ by at most a
/// 256th of the container's, and every logical partition that takes more is listed.
#[derive(Debug, Clone, PartialEq, SimpleObject)]
pub struct LogicalPartition {
    /// The partition key.
    key: String,
    /// The user or the post whose partition it is, as `node` takes it; null for other partitions.
    id: Option<ID>,
    /// Operations on it, so many at least.
    operations: f64,
    /// Their charge at least, in request units.
    request_charge: f64,
    /// Their charge at most, in request units.
    request_charge_max: f64,
    /// The part of `requestCharge` in the container's request charge, 0 to 1.
    share: f64,
}

#[ComplexObject]
impl ContainerPartitions {
    #[graphql(complexity = "first.clamp(1, 100) as usize * child_complexity")]
    /// The logical partitions with the highest request charge, the hottest first; empty where keys are not
    /// shown.
    async fn hottest(
        &self,
        #[graphql(desc = "The number of logical partitions, 1 to 100.", default = 10)] first: i32,
    ) -> Result<&[LogicalPartition]> {
        let items = items_of(first)?;
        Ok(&self.hottest[..items.min(self.hottest.len())])
    }
}

impl ContainerPartitions {
    pub(super) fn of(load: &telemetry::ContainerLoad, physical_partitions: u32) -> Self {
        let (container, charge) = (load.container, load.charge);
        Self {
            container: container.to_string(),
            physical_partitions,
            operations: load.operations as f64,
            request_charge: hundredths(charge.0),
            request_charge_across: hundredths(load.charge_across.0),
            charge_source: load.source.map(Into::into),
            keys_told: load.keys_told != PartitionKeyExposure::None,
            hottest: load.hottest.iter().map(|hot| LogicalPartition::of(hot, container, charge)).collect(),
        }
    }
}

impl LogicalPartition {
    fn of(hot: &telemetry::HotPartition, container: ContainerName, of_all: RequestCharge) -> Self {
        let id = match hot.key {
            HotKey::Id(id) if container == USERS => Some(GlobalId::User(UserId(id))),
            HotKey::Id(id) if container == POSTS => Some(GlobalId::Post(PostId(id))),
            HotKey::Id(_) | HotKey::One(_) => None,
        };
        Self {
            key: match hot.key {
                HotKey::Id(id) => id.to_string(),
                HotKey::One(key) => key.to_owned(),
            },
            id: id.map(|id| ID(id.encode())),
            operations: hot.operations as f64,
            request_charge: hundredths(hot.charge_min.0),
            request_charge_max: hundredths(hot.charge_max.0),
            share: if of_all.0 > 0.0 { (hot.charge_min.0 / of_all.0).min(1.0) } else { 0.0 },
        }
    }
}

/// Request charges have two decimals, and their sums, too.
pub(super) fn hundredths(charge: f64) -> f64 {
    (charge * 100.0).round() / 100.0
}
