//! Provisioning: the throughput that each container needs, alone or in a shared database, and what that costs under each
//! way of paying. The most loaded physical partition decides, because throughput is divided evenly among them. Pure.
//!
//! Sources: "Introduction to provisioned throughput", "Provision autoscale throughput", "Pricing model", all of
//! learn.microsoft.com/azure/cosmos-db.

use serde::Serialize;

use super::partitions::{ContainerPartitions, PartitionReport};
use onehop_store::ContainerName;

/// Throughput is provisioned in steps of this many RU/s, and not below the second figure.
const THROUGHPUT_STEP: f64 = 100.0;
const THROUGHPUT_MIN: f64 = 400.0;
/// Autoscale: the step of its maximum, the share that is always billed, and its price beside that of manual throughput.
const AUTOSCALE_STEP: f64 = 1_000.0;
const AUTOSCALE_SHARE_MIN: f64 = 0.1;
const AUTOSCALE_PRICE_FACTOR: f64 = 1.5;
/// RU/s that have to be provisioned for each GB.
const THROUGHPUT_PER_GB: f64 = 1.0;
/// What throughput may be lowered to: the highest ever, divided by this.
const HIGHEST_EVER_DIVISOR: f64 = 100.0;
/// The share that indexes add to the storage of JSON where every property is indexed: an assumption.
const INDEX_SHARE: f64 = 0.2;
const BYTES_A_GB: f64 = 1024.0 * 1024.0 * 1024.0;
const HOURS_A_MONTH: f64 = 730.0;
const SECONDS_AN_HOUR: f64 = 3_600.0;

/// Prices, in one currency; each is optional.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prices {
    /// Of 100 RU/s for an hour.
    pub manual: Option<f64>,
    /// Of 100 RU/s for an hour; without it 1.5 times the manual one.
    pub autoscale: Option<f64>,
    /// Of a million RU.
    pub serverless: Option<f64>,
    /// Of 100 RU/s for an hour, with reserved capacity.
    pub reserved: Option<f64>,
    /// Of a GB for a month.
    pub storage: Option<f64>,
}

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
    pub prices: Prices,
}

/// What has to be provisioned for a traffic.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Provisioning {
    /// The data model whose containers these are.
    pub model: String,
    pub peak_to_mean: f64,
    pub regions: u32,
    pub containers: Vec<ProvisionedContainer>,
    /// RU/s in the mean, of all containers together.
    pub mean: f64,
    /// RU/s of a database whose containers share throughput.
    pub shared: f64,
    pub storage_gb: f64,
    pub bills: Vec<MonthlyBill>,
}

/// One container with throughput of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProvisionedContainer {
    pub container: ContainerName,
    /// As many as the store has, and at most as many as there are logical partitions.
    pub physical_partitions: u32,
    /// RU/s at the peak, of the whole container.
    pub peak: f64,
    /// RU/s at the peak, of its most loaded logical partition.
    pub hottest_logical: f64,
    /// RU/s at the peak, of the physical partition that holds it.
    pub hottest_physical: f64,
    /// RU/s to provision.
    pub provisioned: f64,
    pub storage_gb: f64,
}

/// What a month costs under one way of paying, in all regions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MonthlyBill {
    pub name: &'static str,
    pub amount: f64,
}

impl Provisioning {
    /// Of the traffic of a report on partition keys.
    #[must_use]
    pub fn of(report: &PartitionReport, input: &ProvisioningInput) -> Self {
        let containers: Vec<ProvisionedContainer> =
            report.containers.iter().map(|found| container(found, input)).collect();
        let sum = |value: fn(&ProvisionedContainer) -> f64| -> f64 { containers.iter().map(value).sum() };
        let (peak, storage_gb) = (sum(|found| found.peak), sum(|found| found.storage_gb));
        let largest = containers.iter().map(|found| found.hottest_logical).fold(0.0, f64::max);
        // Each container has a physical partition of the database at least.
        let of_each = containers.iter().map(|found| found.physical_partitions).max().unwrap_or(1);
        let partitions = of_each.max(u32::try_from(containers.len()).unwrap_or(u32::MAX));
        let shared =
            provisioned(hottest(peak, largest, partitions) * f64::from(partitions), storage_gb, input);
        let mean = peak / input.peak_to_mean;
        Self {
            model: report.model.clone(),
            peak_to_mean: input.peak_to_mean,
            regions: input.regions,
            bills: bills(&containers, mean, storage_gb, input),
            containers,
            mean,
            shared,
            storage_gb,
        }
    }
}

fn container(found: &ContainerPartitions, input: &ProvisioningInput) -> ProvisionedContainer {
    let largest_of = |value: fn(&super::partitions::Load) -> f64| {
        found.loads.iter().map(value).fold(0.0, f64::max) * input.peak_to_mean
    };
    let (peak, hottest_logical) = (largest_of(|load| load.throughput), largest_of(|load| load.largest));
    let logical = u32::try_from(found.logical_partitions).unwrap_or(u32::MAX);
    let physical_partitions = input.physical_partitions.min(logical).max(1);
    let hottest_physical = hottest(peak, hottest_logical, physical_partitions);
    let storage_gb = found.total_bytes as f64 / BYTES_A_GB * (1.0 + INDEX_SHARE);
    ProvisionedContainer {
        container: found.container,
        physical_partitions,
        peak,
        hottest_logical,
        hottest_physical,
        provisioned: provisioned(hottest_physical * f64::from(physical_partitions), storage_gb, input),
        storage_gb,
    }
}

/// RU/s of the physical partition with the most loaded logical partition, and its even part of the rest.
fn hottest(throughput: f64, largest: f64, physical_partitions: u32) -> f64 {
    largest + (throughput - largest).max(0.0) / f64::from(physical_partitions)
}

/// In steps, and not below the floors.
fn provisioned(throughput: f64, storage_gb: f64, input: &ProvisioningInput) -> f64 {
    let floors =
        [THROUGHPUT_MIN, storage_gb * THROUGHPUT_PER_GB, input.highest_throughput / HIGHEST_EVER_DIVISOR];
    let wanted = floors.into_iter().fold(throughput, f64::max);
    (wanted / THROUGHPUT_STEP).ceil() * THROUGHPUT_STEP
}

fn bills(
    containers: &[ProvisionedContainer],
    mean: f64,
    storage_gb: f64,
    input: &ProvisioningInput,
) -> Vec<MonthlyBill> {
    let Prices { manual, autoscale, serverless, reserved, storage } = input.prices;
    let regions = f64::from(input.regions);
    let hourly = |throughput: f64, price: f64| throughput / 100.0 * price * HOURS_A_MONTH * regions;
    let manual_throughput: f64 = containers.iter().map(|found| found.provisioned).sum();
    // Hours are billed by their highest second, and at 10 % at least.
    let autoscale_throughput: f64 = containers
        .iter()
        .map(|found| {
            let maximum = (found.provisioned / AUTOSCALE_STEP).ceil() * AUTOSCALE_STEP;
            let used = found.hottest_physical * f64::from(found.physical_partitions);
            used.max(maximum * AUTOSCALE_SHARE_MIN)
        })
        .sum();
    let autoscale = autoscale.or(manual.map(|price| price * AUTOSCALE_PRICE_FACTOR));
    let million = mean * SECONDS_AN_HOUR * HOURS_A_MONTH / 1e6;
    let bill = |name, amount: Option<f64>| amount.map(|amount| MonthlyBill { name, amount });
    [
        bill("manual", manual.map(|price| hourly(manual_throughput, price))),
        bill("reserved", reserved.map(|price| hourly(manual_throughput, price))),
        bill("autoscale, each hour with a peak", autoscale.map(|price| hourly(autoscale_throughput, price))),
        // Serverless accounts have one region.
        bill("serverless", serverless.filter(|_| input.regions == 1).map(|price| million * price)),
        bill("storage", storage.map(|price| storage_gb * price * regions)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input() -> ProvisioningInput {
        ProvisioningInput {
            physical_partitions: 4,
            peak_to_mean: 1.0,
            regions: 1,
            highest_throughput: 0.0,
            prices: Prices { manual: Some(0.008), serverless: Some(0.25), ..Prices::default() },
        }
    }

    #[test]
    fn the_hottest_physical_partition_decides() {
        // A logical partition of 2,095 RU/s, in a database of 2,700 RU/s with six physical partitions.
        let of_hottest = hottest(2_700.0, 2_095.0, 6);
        assert!((of_hottest - (2_095.0 + 605.0 / 6.0)).abs() < 1e-9);
        assert_eq!(provisioned(of_hottest * 6.0, 1.0, &input()), 13_200.0);
    }

    #[test]
    fn throughput_has_three_floors() {
        assert_eq!(provisioned(1.0, 1.0, &input()), 400.0);
        assert_eq!(provisioned(1.0, 950.0, &input()), 1_000.0);
        assert_eq!(
            provisioned(1.0, 1.0, &ProvisioningInput { highest_throughput: 80_000.0, ..input() }),
            800.0
        );
    }

    #[test]
    fn each_way_of_paying_with_a_price_has_a_bill() {
        let container = ProvisionedContainer {
            container: ContainerName("posts"),
            physical_partitions: 1,
            peak: 50.0,
            hottest_logical: 10.0,
            hottest_physical: 50.0,
            provisioned: 400.0,
            storage_gb: 1.0,
        };
        let bills = bills(&[container], 50.0, 1.0, &ProvisioningInput { regions: 1, ..input() });
        let shown: Vec<(&str, f64)> =
            bills.iter().map(|bill| (bill.name, (bill.amount * 100.0).round() / 100.0)).collect();
        assert_eq!(
            shown,
            [("manual", 23.36), ("autoscale, each hour with a peak", 8.76), ("serverless", 32.85)]
        );
    }
}
