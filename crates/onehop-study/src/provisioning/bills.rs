//! Monthly bills of a provisioned throughput, under each way of paying that has a price. Pure.

use serde::Serialize;

use super::{ProvisionedContainer, ProvisioningInput, THROUGHPUT_STEP};

/// Autoscale: the step of its maximum, the share that is always billed, and its price beside that of manual throughput.
const AUTOSCALE_STEP: f64 = 1_000.0;
const AUTOSCALE_SHARE_MIN: f64 = 0.1;
const AUTOSCALE_PRICE_FACTOR: f64 = 1.5;
/// Azure's month, in which its prices a month are stated.
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

/// What a month costs under one way of paying, in all regions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MonthlyBill {
    pub name: &'static str,
    pub amount: f64,
}

/// What is billed.
pub(super) struct BilledUse<'a> {
    pub containers: &'a [ProvisionedContainer],
    /// RU/s to provision.
    pub recommended: f64,
    /// RU/s in the mean.
    pub mean: f64,
    pub storage_gb: f64,
}

pub(super) fn bills(billed: &BilledUse<'_>, input: &ProvisioningInput) -> Vec<MonthlyBill> {
    let Prices { manual, autoscale, serverless, reserved, storage } = input.prices;
    let regions = f64::from(input.regions);
    let hourly = |throughput: f64, price: f64| throughput / THROUGHPUT_STEP * price * HOURS_A_MONTH * regions;
    let autoscale = autoscale.or(manual.map(|price| price * AUTOSCALE_PRICE_FACTOR));
    // All partitions scale like the most loaded one, or each by itself (dynamic scaling).
    let uniform = autoscaled(billed, |found| found.hottest_physical * f64::from(found.physical_partitions));
    let dynamic = autoscaled(billed, |found| found.peak + found.background);
    let million = billed.mean * SECONDS_AN_HOUR * HOURS_A_MONTH / 1e6;
    let bill = |name, amount: Option<f64>| amount.map(|amount| MonthlyBill { name, amount });
    [
        bill("manual", manual.map(|price| hourly(billed.recommended, price))),
        bill("reserved", reserved.map(|price| hourly(billed.recommended, price))),
        bill("autoscale, each hour with a peak", autoscale.map(|price| hourly(uniform, price))),
        bill(
            "autoscale with dynamic scaling, each hour with a peak",
            autoscale.map(|price| hourly(dynamic, price)),
        ),
        // Serverless accounts have one region.
        bill("serverless", serverless.filter(|_| input.regions == 1).map(|price| million * price)),
        bill("storage", storage.map(|price| billed.storage_gb * price * regions)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// RU/s that autoscale bills in an hour with a peak: the highest second, and 10 % of the maximum at least.
fn autoscaled(billed: &BilledUse<'_>, used: impl Fn(&ProvisionedContainer) -> f64) -> f64 {
    let of_each = billed.containers.iter().map(|found| {
        let maximum = (found.provisioned / AUTOSCALE_STEP).ceil() * AUTOSCALE_STEP;
        used(found).max(maximum * AUTOSCALE_SHARE_MIN)
    });
    of_each.fold(0.0, |sum, throughput| sum + throughput)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{data, input};
    use super::*;

    fn shown(containers: &[ProvisionedContainer], input: &ProvisioningInput) -> Vec<(&'static str, f64)> {
        let billed = BilledUse { containers, recommended: 400.0, mean: 50.0, storage_gb: 1.0 };
        let rounded = |bill: &MonthlyBill| (bill.name, (bill.amount * 100.0).round() / 100.0);
        bills(&billed, input).iter().map(rounded).collect()
    }

    #[test]
    fn each_way_of_paying_with_a_price_has_a_bill() {
        let expected = [
            ("manual", 23.36),
            ("autoscale, each hour with a peak", 8.76),
            ("autoscale with dynamic scaling, each hour with a peak", 8.76),
            ("serverless", 32.85),
        ];
        assert_eq!(shown(&[data("posts", 50.0, 10.0)], &input()), expected);
        let regions = ProvisioningInput { regions: 2, ..input() };
        assert!(shown(&[data("posts", 50.0, 10.0)], &regions).iter().all(|(name, _)| *name != "serverless"));
    }

    #[test]
    fn dynamic_scaling_bills_each_partition_by_itself() {
        let skewed = [data("posts", 600.0, 400.0)];
        let bills = shown(&skewed, &input());
        // 450 RU/s in each of four, or 600 RU/s in all, at 0.012 for 100 RU/s.
        assert_eq!((bills[1].1, bills[2].1), (157.68, 52.56));
    }
}
