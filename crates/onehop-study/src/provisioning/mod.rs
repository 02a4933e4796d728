//! Provisioning: the throughput that each container of a data model needs, alone or in a shared database, and what that costs under
//! each way of paying. The most loaded physical partition decides, because throughput is divided evenly among them. Pure.
//!
//! Sources: "Introduction to provisioned throughput", "Provision autoscale throughput", "Optimize storage cost", all of
//! learn.microsoft.com/azure/cosmos-db.

mod bills;

use serde::Serialize;

use super::partitions::{ContainerPartitions, Load, PartitionReport};
use onehop_store::ContainerName;

pub use bills::{MonthlyBill, Prices};

/// Throughput is provisioned in steps of this many RU/s, and not below the second figure.
const THROUGHPUT_STEP: f64 = 100.0;
const THROUGHPUT_MIN: f64 = 400.0;
/// RU/s that have to be provisioned for each GB.
const THROUGHPUT_PER_GB: f64 = 1.0;
/// What throughput may be lowered to: the highest ever, divided by this.
const HIGHEST_EVER_DIVISOR: f64 = 100.0;
/// The index share where every property is indexed. "Optimize storage cost in Azure Cosmos DB": the untuned index takes about 10 to
/// 20 % of the size of the items.
pub const INDEX_SHARE_DEFAULT: f64 = 0.2;
const BYTES_A_GB: f64 = 1024.0 * 1024.0 * 1024.0;

/// What provisioning depends on beside the traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProvisioningInput {
    pub physical_partitions: u32,
    /// How many times its mean the traffic is at its peak.
    pub peak_to_mean: f64,
    /// Each region is provisioned and billed in full.
    pub regions: u32,
    /// The highest throughput that a container ever had, RU/s.
    pub highest_throughput: f64,
    /// Size of the indexes as a share of the size of the items.
    pub index_share: f64,
    pub prices: Prices,
}

/// The background load of a container, spread evenly over its physical partitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContainerBackground {
    pub container: ContainerName,
    /// RU/s, whatever the traffic's peak.
    pub throughput: f64,
    /// Whether it keeps throughput of its own where the others share theirs, so that they cannot throttle it.
    pub is_dedicated: bool,
}

/// What has to be provisioned for a traffic under a data model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Provisioning {
    /// The data model whose containers these are, as its plan is called.
    pub model: String,
    pub peak_to_mean: f64,
    pub regions: u32,
    pub containers: Vec<ProvisionedContainer>,
    /// RU/s in the mean, of all containers together, background work included.
    pub mean: f64,
    /// RU/s of containers with throughput of their own, together.
    pub separate: f64,
    /// RU/s of a database whose containers share throughput, with those that are dedicated beside it.
    pub shared: f64,
    /// The smaller of the two, RU/s.
    pub recommended: f64,
    pub recommended_scope: RecommendedScope,
    pub index_share: f64,
    pub storage_gb: f64,
    pub bills: Vec<MonthlyBill>,
}

/// Where throughput is provisioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RecommendedScope {
    /// Each container has its own.
    Separate,
    /// The containers of a database share it.
    Shared,
}

/// One container with throughput of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProvisionedContainer {
    pub container: ContainerName,
    /// As many as the store has, and at most as many as there are logical partitions.
    pub physical_partitions: u32,
    /// RU/s of the traffic at the peak, of the whole container.
    pub peak: f64,
    /// RU/s of background work.
    pub background: f64,
    /// RU/s at the peak, of its most loaded logical partition.
    pub hottest_logical: f64,
    /// RU/s at the peak, of the physical partition that holds it, background work included.
    pub hottest_physical: f64,
    /// RU/s to provision.
    pub provisioned: f64,
    pub decided_by: DecidingFactor,
    pub storage_gb: f64,
    #[serde(skip)]
    is_dedicated: bool,
}

/// Why a container needs the throughput that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DecidingFactor {
    /// The most loaded physical partition, times their number.
    HottestPartition,
    /// No container has less than 400 RU/s.
    Minimum,
    /// 1 RU/s for each GB.
    Storage,
    /// A hundredth of the highest throughput ever.
    HighestEver,
}

impl Provisioning {
    /// Of the traffic of a report on partition keys, and of the background work beside it.
    #[must_use]
    pub fn of(
        model: String,
        report: &PartitionReport,
        background: &[ContainerBackground],
        input: &ProvisioningInput,
    ) -> Self {
        let of_data = |found: &ContainerPartitions| {
            let beside = background.iter().find(|load| load.container == found.container);
            container(found, beside.copied(), input)
        };
        let mut containers: Vec<ProvisionedContainer> = report.containers.iter().map(of_data).collect();
        let known = |load: &&ContainerBackground| {
            report.containers.iter().all(|found| found.container != load.container)
        };
        containers.extend(background.iter().filter(known).map(|load| processor_container(load, input)));
        let sum = |value: fn(&ProvisionedContainer) -> f64| -> f64 { containers.iter().map(value).sum() };
        let separate = sum(|found| found.provisioned);
        let mean = sum(|found| found.peak) / input.peak_to_mean + sum(|found| found.background);
        let storage_gb = sum(|found| found.storage_gb);
        let shared = shared(&containers, input);
        let (recommended, recommended_scope) = if shared < separate {
            (shared, RecommendedScope::Shared)
        } else {
            (separate, RecommendedScope::Separate)
        };
        let bills =
            bills::bills(&bills::BilledUse { containers: &containers, recommended, mean, storage_gb }, input);
        Self {
            model,
            peak_to_mean: input.peak_to_mean,
            regions: input.regions,
            containers,
            mean,
            separate,
            shared,
            recommended,
            recommended_scope,
            index_share: input.index_share,
            storage_gb,
            bills,
        }
    }
}

fn container(
    found: &ContainerPartitions,
    background: Option<ContainerBackground>,
    input: &ProvisioningInput,
) -> ProvisionedContainer {
    let largest_of =
        |value: fn(&Load) -> f64| found.loads.iter().map(value).fold(0.0, f64::max) * input.peak_to_mean;
    let (peak, hottest_logical) = (largest_of(|load| load.throughput), largest_of(|load| load.largest));
    let logical = u32::try_from(found.logical_partitions).unwrap_or(u32::MAX);
    let physical_partitions = input.physical_partitions.min(logical).max(1);
    let storage_gb = found.total_bytes as f64 / BYTES_A_GB * (1.0 + input.index_share);
    let background = background.map_or(0.0, |load| load.throughput);
    let hottest_physical =
        hottest(peak, hottest_logical, physical_partitions) + background / f64::from(physical_partitions);
    let (provisioned, decided_by) =
        provisioned(hottest_physical * f64::from(physical_partitions), storage_gb, input);
    ProvisionedContainer {
        container: found.container,
        physical_partitions,
        peak,
        background,
        hottest_logical,
        hottest_physical,
        provisioned,
        decided_by,
        storage_gb,
        is_dedicated: false,
    }
}

/// A container that holds the processor's state alone: one physical partition.
fn processor_container(load: &ContainerBackground, input: &ProvisioningInput) -> ProvisionedContainer {
    let (provisioned, decided_by) = provisioned(load.throughput, 0.0, input);
    ProvisionedContainer {
        container: load.container,
        physical_partitions: 1,
        peak: 0.0,
        background: load.throughput,
        hottest_logical: 0.0,
        hottest_physical: load.throughput,
        provisioned,
        decided_by,
        storage_gb: 0.0,
        is_dedicated: load.is_dedicated,
    }
}

/// RU/s of a database that all but the dedicated containers share, and of those beside it.
fn shared(containers: &[ProvisionedContainer], input: &ProvisioningInput) -> f64 {
    let sharing: Vec<_> = containers.iter().filter(|found| !found.is_dedicated).collect();
    let sum = |value: fn(&ProvisionedContainer) -> f64| -> f64 {
        sharing.iter().copied().map(value).fold(0.0, |sum, value| sum + value)
    };
    let largest = sharing.iter().map(|found| found.hottest_logical).fold(0.0, f64::max);
    // Each container has a physical partition of the database at least.
    let of_each = sharing.iter().map(|found| found.physical_partitions).max().unwrap_or(1);
    let partitions = of_each.max(u32::try_from(sharing.len()).unwrap_or(u32::MAX)).max(1);
    let hottest = hottest(sum(|found| found.peak) + sum(|found| found.background), largest, partitions);
    let (shared, _) = provisioned(hottest * f64::from(partitions), sum(|found| found.storage_gb), input);
    let dedicated = containers.iter().filter(|found| found.is_dedicated);
    dedicated.fold(shared, |sum, found| sum + found.provisioned)
}

/// RU/s of the physical partition with the most loaded logical partition, and its even part of the rest.
fn hottest(throughput: f64, largest: f64, physical_partitions: u32) -> f64 {
    largest + (throughput - largest).max(0.0) / f64::from(physical_partitions)
}

/// In steps, and not below the floors.
fn provisioned(throughput: f64, storage_gb: f64, input: &ProvisioningInput) -> (f64, DecidingFactor) {
    let floors = [
        (THROUGHPUT_MIN, DecidingFactor::Minimum),
        (storage_gb * THROUGHPUT_PER_GB, DecidingFactor::Storage),
        (input.highest_throughput / HIGHEST_EVER_DIVISOR, DecidingFactor::HighestEver),
    ];
    let needed = (throughput, DecidingFactor::HottestPartition);
    let (wanted, decided_by) =
        floors.into_iter().fold(needed, |most, floor| if floor.0 > most.0 { floor } else { most });
    ((wanted / THROUGHPUT_STEP).ceil() * THROUGHPUT_STEP, decided_by)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASES: ContainerName = ContainerName("leases");

    pub(super) fn input() -> ProvisioningInput {
        ProvisioningInput {
            physical_partitions: 4,
            peak_to_mean: 1.0,
            regions: 1,
            highest_throughput: 0.0,
            index_share: INDEX_SHARE_DEFAULT,
            prices: Prices { manual: Some(0.008), serverless: Some(0.25), ..Prices::default() },
        }
    }

    pub(super) fn data(container: &'static str, peak: f64, hottest_logical: f64) -> ProvisionedContainer {
        let hottest_physical = hottest(peak, hottest_logical, 4);
        let (provisioned, decided_by) = provisioned(hottest_physical * 4.0, 1.0, &input());
        ProvisionedContainer {
            container: ContainerName(container),
            physical_partitions: 4,
            peak,
            background: 0.0,
            hottest_logical,
            hottest_physical,
            provisioned,
            decided_by,
            storage_gb: 1.0,
            is_dedicated: false,
        }
    }

    #[test]
    fn the_hottest_physical_partition_decides() {
        // A logical partition of 2,095 RU/s, in a database of 2,700 RU/s with six physical partitions.
        let of_hottest = hottest(2_700.0, 2_095.0, 6);
        assert!((of_hottest - (2_095.0 + 605.0 / 6.0)).abs() < 1e-9);
        let found = provisioned(of_hottest * 6.0, 1.0, &input());
        assert_eq!(found, (13_200.0, DecidingFactor::HottestPartition));
    }

    #[test]
    fn throughput_has_three_floors_and_steps() {
        assert_eq!(provisioned(1.0, 1.0, &input()), (400.0, DecidingFactor::Minimum));
        assert_eq!(provisioned(400.1, 1.0, &input()), (500.0, DecidingFactor::HottestPartition));
        assert_eq!(provisioned(1.0, 950.0, &input()), (1_000.0, DecidingFactor::Storage));
        let once_high = ProvisioningInput { highest_throughput: 80_000.0, ..input() };
        assert_eq!(provisioned(1.0, 1.0, &once_high), (800.0, DecidingFactor::HighestEver));
    }

    #[test]
    fn a_shared_database_holds_the_hottest_of_all_beside_the_leases() {
        let leases = ContainerBackground { container: LEASES, throughput: 20.0, is_dedicated: true };
        let containers =
            [data("posts", 400.0, 100.0), data("feed", 300.0, 300.0), processor_container(&leases, &input())];
        // 300 RU/s and a quarter of the other 400 in each of four, and 400 RU/s of the leases.
        assert_eq!(shared(&containers, &input()), 1_600.0 + 400.0);
    }

    #[test]
    fn background_work_is_provisioned_with_the_traffic() {
        let load = ContainerBackground { container: LEASES, throughput: 1_001.0, is_dedicated: true };
        let found = processor_container(&load, &input());
        assert_eq!((found.provisioned, found.background), (1_100.0, 1_001.0));
    }
}
