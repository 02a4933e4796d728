//! Monthly bills of a provisioned throughput, under each way of paying that has a price. Pure.

use serde::Serialize;

use super::input::{Prices, ProvisioningInput};
use super::need::ThroughputNeed;
use super::plan::PlanNeed;
use crate::azure_limits::{AUTOSCALE_PRICE_FACTOR, AUTOSCALE_SHARE_MIN, MANUAL};

/// Azure's month, in which its prices a month are stated.
const HOURS_A_MONTH: f64 = 730.0;
const SECONDS_AN_HOUR: f64 = 3_600.0;

/// The cost of a month under one way of paying, in all regions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MonthlyBill {
    pub name: &'static str,
    pub amount: f64,
}

/// Whether a serverless account serves a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ServerlessFit {
    Fits,
    /// A container has more than 1 TB, or more RU/s at the peak than its physical partitions serve.
    ExceedsContainerLimits,
    /// Serverless accounts have one region.
    SeveralRegions,
}

/// The billed use.
pub(super) struct BilledUse<'a> {
    pub need: &'a PlanNeed,
    pub serverless: ServerlessFit,
    /// RU/s that autoscale bills in the mean of the hours of a day, where they are known.
    pub hourly_autoscale: Option<f64>,
}

pub(super) fn bills(billed: &BilledUse<'_>, input: &ProvisioningInput) -> Vec<MonthlyBill> {
    let Prices { manual, autoscale, serverless, reserved, storage } = input.prices;
    let need = billed.need;
    let hourly = |throughput: f64, price: f64| hourly_bill(throughput, price, input);
    let autoscale = autoscale.or(manual.map(|price| price * AUTOSCALE_PRICE_FACTOR));
    // All partitions scale like the most loaded one, or each by itself (dynamic scaling).
    let (uniform, dynamic) = (need.sum(uniformly_scaled), need.sum(dynamically_scaled));
    let serverless = serverless.filter(|_| billed.serverless == ServerlessFit::Fits);
    let million = need.sum(|need| need.mean) * SECONDS_AN_HOUR * HOURS_A_MONTH / 1e6;
    let storage_gb = need.sum(|need| need.storage_gb);
    let bill = |name, amount: Option<f64>| amount.map(|amount| MonthlyBill { name, amount });
    [
        bill("manual", manual.map(|price| hourly(need.recommended(), price))),
        bill("reserved", reserved.map(|price| hourly(need.recommended(), price))),
        bill("autoscale, each hour with a peak", autoscale.map(|price| hourly(uniform, price))),
        bill(
            "autoscale with dynamic scaling, each hour with a peak",
            autoscale.map(|price| hourly(dynamic, price)),
        ),
        bill(
            "autoscale by the hours of a day",
            billed.hourly_autoscale.zip(autoscale).map(|(used, price)| hourly(used, price)),
        ),
        bill("serverless", serverless.map(|price| million * price)),
        bill("storage", storage.map(|price| storage_gb * price * f64::from(input.regions))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The provisioned bill by which plans are compared: manual throughput and storage a month, or RU/s where
/// there is no price.
pub(super) fn provisioned_bill(need: &PlanNeed, input: &ProvisioningInput) -> f64 {
    let Some(manual) = input.prices.manual else { return need.recommended() };
    let storage_gb = need.sum(|need| need.storage_gb) * f64::from(input.regions);
    hourly_bill(need.recommended(), manual, input) + input.prices.storage.unwrap_or(0.0) * storage_gb
}

fn hourly_bill(throughput: f64, price: f64, input: &ProvisioningInput) -> f64 {
    throughput / MANUAL.step * price * HOURS_A_MONTH * f64::from(input.regions)
}

/// RU/s that autoscale bills in an hour with a peak: all physical partitions scale like the most loaded one,
/// not below a tenth of the maximum.
fn uniformly_scaled(need: &ThroughputNeed) -> f64 {
    uniformly_used(need).max(need.autoscale_max * AUTOSCALE_SHARE_MIN)
}

/// RU/s of the most loaded physical partition times their number.
pub(super) fn uniformly_used(need: &ThroughputNeed) -> f64 {
    need.hottest_physical * f64::from(need.physical_partitions)
}

/// The same where each physical partition scales by itself, not below a tenth of its even part of the
/// maximum.
fn dynamically_scaled(need: &ThroughputNeed) -> f64 {
    let partitions = f64::from(need.physical_partitions);
    let floor = need.autoscale_max * AUTOSCALE_SHARE_MIN / partitions;
    let others = partitions - 1.0;
    let rest = (need.peak + need.background - need.hottest_physical).max(0.0);
    let of_other = if others > 0.0 { rest / others } else { 0.0 };
    need.hottest_physical.max(floor) + others * of_other.max(floor)
}

#[cfg(test)]
mod tests {
    use super::super::plan::ContainerNeed;
    use super::*;
    use crate::bounds::Bounds;
    use crate::provisioning::floors::DecidingFactor;
    use onehop_store::ContainerName;

    /// Four physical partitions.
    fn need(peak: f64, hottest_physical: f64, autoscale_max: f64) -> ThroughputNeed {
        ThroughputNeed {
            physical_partitions: 4,
            peak,
            background: 0.0,
            mean: peak,
            hottest_logical: 0.0,
            hottest_physical,
            manual: 400.0,
            decided_by: DecidingFactor::Minimum,
            autoscale_max,
            storage_gb: 2.0,
        }
    }

    fn plan(need: ThroughputNeed) -> PlanNeed {
        let container = ContainerName("posts");
        let found = ContainerNeed { container, need, is_dedicated: false, fits_serverless: true };
        PlanNeed { containers: vec![found], shared: None }
    }

    fn input() -> ProvisioningInput {
        let prices =
            Prices { manual: Some(0.008), serverless: Some(0.25), storage: Some(0.5), ..Prices::default() };
        ProvisioningInput { prices, index_share: Bounds::certain(0.2), ..ProvisioningInput::default() }
    }

    fn shown(
        need: ThroughputNeed,
        serverless: ServerlessFit,
        input: &ProvisioningInput,
    ) -> Vec<(&'static str, f64)> {
        let need = plan(need);
        let bills = bills(&BilledUse { need: &need, serverless, hourly_autoscale: None }, input);
        bills.iter().map(|bill| (bill.name, (bill.amount * 100.0).round() / 100.0)).collect()
    }

    #[test]
    fn each_way_of_paying_with_a_price_has_a_bill() {
        let expected = [
            ("manual", 23.36),
            ("autoscale, each hour with a peak", 8.76),
            ("autoscale with dynamic scaling, each hour with a peak", 8.76),
            ("serverless", 32.85),
            ("storage", 1.0),
        ];
        let even = need(50.0, 12.5, 1_000.0);
        assert_eq!(shown(even, ServerlessFit::Fits, &input()), expected);
        let too_large = shown(even, ServerlessFit::ExceedsContainerLimits, &input());
        assert!(too_large.iter().all(|(name, _)| *name != "serverless"), "{too_large:?}");
    }

    #[test]
    fn autoscale_has_a_floor_for_each_partition() {
        // 450 RU/s in the most loaded of four, 50 in each of the others; a tenth of the maximum is 50 in
        // each.
        let bills = shown(need(600.0, 450.0, 2_000.0), ServerlessFit::Fits, &input());
        assert_eq!((bills[1].1, bills[2].1), (157.68, 52.56));
        // The others use 10, and are billed for 100.
        let skewed = shown(need(480.0, 450.0, 4_000.0), ServerlessFit::Fits, &input());
        assert_eq!(skewed[2].1, 65.7);
    }

    #[test]
    fn plans_are_compared_by_throughput_and_storage() {
        let found = plan(need(50.0, 12.5, 1_000.0));
        assert!((provisioned_bill(&found, &input()) - 24.36).abs() < 1e-9);
        let without = ProvisioningInput { prices: Prices::default(), ..input() };
        assert_eq!(provisioned_bill(&found, &without), 400.0);
    }
}
