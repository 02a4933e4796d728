//! Planned operations: the kind, the scope and the charge of each operation of a request.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::fan_out_charge::FanOutQueries;
use onehop_store::charges::Calibration;
use onehop_store::{ChargeSource, ContainerName, OperationKind};

/// The operations of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestPlan {
    /// The operations that the request itself waits for, in their order.
    pub operations: Vec<PlannedOperation>,
    /// The operations of the read models because of it.
    pub behind: Vec<PlannedOperation>,
}

/// Operations of one kind with one purpose.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedOperation {
    /// The container.
    pub container: ContainerName,
    /// The kind.
    pub kind: OperationKind,
    /// The purpose: `Comment of Post.comments`.
    pub about: String,
    /// The partitions that each asks.
    pub scope: PlannedScope,
    /// How many there are; with a fraction where not every request has one.
    pub times: f64,
    /// Items that they return or write together.
    pub items: f64,
    /// Bytes of these items.
    pub bytes: f64,
    /// RU of all of them; of a query across partitions with one physical partition.
    pub request_charge: f64,
    /// The queries across physical partitions.
    pub across: Option<FanOutQueries>,
    /// The share of the requests that meet the busiest logical partition.
    pub busiest: BusiestShare,
    /// The measured charge as a multiple of the estimate; `None` where the charge is an estimate.
    pub measured: Option<f64>,
}

/// The partitions that an operation asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PlannedScope {
    /// One item by its id and partition key.
    Item,
    /// One logical partition.
    LogicalPartition,
    /// The logical partitions below the first part of a hierarchical key.
    PartitionPrefix,
    /// All physical partitions.
    AllPartitions,
}

/// The share of operations in the busiest logical partition.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BusiestShare {
    /// With all subjects as popular.
    pub even: f64,
    /// By Zipf's law.
    pub zipf: f64,
}

impl BusiestShare {
    /// The same for any popularity.
    #[must_use]
    pub fn certain(share: f64) -> Self {
        Self { even: share, zipf: share }
    }
}

impl PlannedOperation {
    /// RU with this number of physical partitions.
    #[must_use]
    pub fn charge_at(&self, calibration: &Calibration, physical_partitions: u32) -> f64 {
        self.across.map_or(self.request_charge, |queries| queries.charge_at(calibration, physical_partitions))
    }

    /// Where the charge comes from.
    #[must_use]
    pub fn source(&self) -> ChargeSource {
        if self.measured.is_some() { ChargeSource::Measured } else { ChargeSource::Estimated }
    }

    /// Puts a measured charge in the place of the estimate, of which it is this multiple.
    pub(crate) fn measure(&mut self, factor: f64) {
        self.request_charge *= factor;
        if let Some(queries) = &mut self.across {
            queries.charge *= factor;
        }
        self.measured = Some(factor);
    }

    /// RU by the charge model with this number of physical partitions.
    fn estimate_at(&self, calibration: &Calibration, physical_partitions: u32) -> f64 {
        let Some(factor) = self.measured.filter(|factor| *factor > 0.0) else {
            return self.charge_at(calibration, physical_partitions);
        };
        let mut estimated = self.clone();
        estimated.measure(1.0 / factor);
        estimated.charge_at(calibration, physical_partitions)
    }

    /// The same operations for each of several parents.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.times += other.times;
        self.items += other.items;
        self.bytes += other.bytes;
        self.request_charge += other.request_charge;
        if let (Some(queries), Some(more)) = (&mut self.across, &other.across) {
            queries.add(more);
        }
    }

    /// Whether both have one kind and one purpose.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        (self.container, self.kind, self.scope, &self.about)
            == (other.container, other.kind, other.scope, &other.about)
    }
}

impl RequestPlan {
    /// RU of the request itself.
    #[must_use]
    pub fn charge(&self, calibration: &Calibration, partitions: &dyn Fn(ContainerName) -> u32) -> f64 {
        sum(&self.operations, calibration, partitions)
    }

    /// RU of the request itself by the charge model.
    #[must_use]
    pub fn estimate(&self, calibration: &Calibration, partitions: &dyn Fn(ContainerName) -> u32) -> f64 {
        let estimate = |operation: &PlannedOperation| {
            operation.estimate_at(calibration, partitions(operation.container))
        };
        self.operations.iter().map(estimate).fold(0.0, |sum, charge| sum + charge)
    }

    /// RU of its read models.
    #[must_use]
    pub fn behind_charge(&self, calibration: &Calibration, partitions: &dyn Fn(ContainerName) -> u32) -> f64 {
        sum(&self.behind, calibration, partitions)
    }
}

fn sum(
    operations: &[PlannedOperation],
    calibration: &Calibration,
    partitions: &dyn Fn(ContainerName) -> u32,
) -> f64 {
    let charge =
        |operation: &PlannedOperation| operation.charge_at(calibration, partitions(operation.container));
    operations.iter().map(charge).fold(0.0, |sum, charge| sum + charge)
}

/// Adds an operation to others of its kind and purpose.
pub(super) fn push(operations: &mut Vec<PlannedOperation>, operation: PlannedOperation) {
    match operations.iter_mut().find(|known| known.is_like(&operation)) {
        Some(known) => known.merge(&operation),
        None => operations.push(operation),
    }
}

/// The name of a container for the store. Names of studied containers live as long as the process, each once.
pub(crate) fn interned(name: &str) -> ContainerName {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock();
    let known = names.get(name).copied();
    ContainerName(known.unwrap_or_else(|| {
        let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
        names.insert(name);
        name
    }))
}
