//! Throughput to provision for a plan, under the most demanding of the assumptions with charges as estimated;
//! or the limits that make the plan infeasible.

use serde::Serialize;

use super::assumed::{Assumed, ChargeEnd, JointCase, TrafficFactors};
use super::bills::{self, BilledUse, MonthlyBill, ServerlessFit};
use super::floors::DecidingFactor;
use super::plan::{ContainerNeed, PlanModel, PlanNeed};
use crate::azure_limits::{AUTOSCALE_SHARE_MIN, SERVERLESS_REGIONS};
use crate::bounds::Bounds;
use crate::feasibility::{Feasibility, Headroom, storage_limits, traffic_limit};
use crate::partitions::ContainerProfile;
use onehop_store::ContainerName;

/// The provisioning for a traffic under a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Provisioning {
    /// The data model whose containers these are, as its plan is called.
    pub model: String,
    pub peak_to_mean: Bounds,
    pub index_share: Bounds,
    pub regions: u32,
    /// The multiple of the measured data.
    pub data_scale: f64,
    /// Whether Azure serves the plan at this traffic.
    pub feasible: bool,
    #[serde(flatten)]
    pub feasibility: Feasibility,
    /// `None` where the plan is infeasible: then there is no bill.
    #[serde(flatten)]
    pub planned: Option<PlannedThroughput>,
}

/// The throughput to provision under a feasible plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedThroughput {
    pub containers: Vec<ProvisionedContainer>,
    /// RU/s in the mean, of all containers together, background work included.
    pub mean: f64,
    /// RU/s of containers with throughput of their own, together.
    pub separate: f64,
    /// RU/s of a database whose containers share throughput, with dedicated containers beside it; `None`
    /// where no database serves them all.
    pub shared: Option<f64>,
    /// The smaller of the two, RU/s.
    pub recommended: f64,
    pub recommended_scope: RecommendedScope,
    pub storage_gb: f64,
    pub serverless: ServerlessFit,
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
    /// As many as its storage and its throughput take, or as an account has.
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
    /// The maximum of autoscale, RU/s.
    pub autoscale_max: f64,
    pub storage_gb: f64,
}

impl PlanModel {
    /// The report.
    #[must_use]
    pub fn provisioning(&self) -> Provisioning {
        let feasibility = self.feasibility();
        let planned = if feasibility.is_feasible() { self.planned() } else { None };
        Provisioning {
            model: self.model.clone(),
            peak_to_mean: self.input.peak_to_mean,
            index_share: self.input.index_share,
            regions: self.input.regions,
            data_scale: self.input.data_scale,
            feasible: planned.is_some(),
            feasibility,
            planned,
        }
    }

    /// The case for which the report plans, at this many times the traffic.
    fn planned_case(&self, multiple: f64) -> Assumed {
        Assumed {
            case: JointCase::planned(&self.input),
            charges: ChargeEnd::AsEstimated,
            traffic: TrafficFactors::times(multiple),
        }
    }

    fn feasibility(&self) -> Feasibility {
        let of_traffic = |container: ContainerName| -> Option<Headroom> {
            traffic_limit(container, |multiple| self.serve(container, &self.planned_case(multiple)))
        };
        let mut limits = self.storage_limits();
        limits.extend(self.containers().into_iter().filter_map(of_traffic));
        Feasibility::of(limits)
    }

    /// Whether no limit is exceeded at the given traffic: [`PlanModel::feasibility`] without the search.
    pub(super) fn is_feasible(&self) -> bool {
        let given = self.planned_case(1.0);
        let serves = |container| self.serve(container, &given).is_ok();
        !self.storage_limits().iter().any(Headroom::is_exceeded) && self.containers().into_iter().all(serves)
    }

    fn storage_limits(&self) -> Vec<Headroom> {
        let index_share = self.input.index_share.high;
        let of_storage = |profile: &ContainerProfile| {
            let ContainerProfile { container, partition_bytes_max, item_bytes_max, .. } = profile;
            storage_limits(*container, *partition_bytes_max, *item_bytes_max, index_share)
        };
        self.profile.containers.iter().flat_map(of_storage).collect()
    }

    fn planned(&self) -> Option<PlannedThroughput> {
        let need = self.need(&self.planned_case(1.0)).ok()?;
        let serverless = self.serverless(&need);
        let recommended = need.recommended();
        let billed = BilledUse { need: &need, serverless, hourly_autoscale: self.hourly_autoscale(&need) };
        Some(PlannedThroughput {
            containers: need.containers.iter().map(provisioned_container).collect(),
            mean: need.sum(|need| need.mean),
            separate: need.separate(),
            shared: need.shared,
            recommended,
            recommended_scope: match need.shared {
                Some(shared) if shared < need.separate() => RecommendedScope::Shared,
                _ => RecommendedScope::Separate,
            },
            storage_gb: need.sum(|need| need.storage_gb),
            serverless,
            bills: bills::bills(&billed, &self.input),
        })
    }

    /// RU/s that autoscale bills in the mean of the hours of a day.
    fn hourly_autoscale(&self, need: &PlanNeed) -> Option<f64> {
        let hours = self.input.hourly?;
        let busiest = hours.iter().copied().fold(0.0, f64::max);
        let floor = need.sum(|need| need.autoscale_max) * AUTOSCALE_SHARE_MIN;
        let of_hour = |hour: f64| {
            let need = self.need(&self.planned_case(hour / busiest)).ok()?;
            Some(need.sum(bills::uniformly_used).max(floor))
        };
        let all: Option<Vec<f64>> = hours.into_iter().map(of_hour).collect();
        Some(all?.iter().sum::<f64>() / hours.len() as f64)
    }

    fn serverless(&self, need: &PlanNeed) -> ServerlessFit {
        if self.input.regions > SERVERLESS_REGIONS {
            ServerlessFit::SeveralRegions
        } else if need.containers.iter().all(|found| found.fits_serverless) {
            ServerlessFit::Fits
        } else {
            ServerlessFit::ExceedsContainerLimits
        }
    }
}

fn provisioned_container(found: &ContainerNeed) -> ProvisionedContainer {
    let need = &found.need;
    ProvisionedContainer {
        container: found.container,
        physical_partitions: need.physical_partitions,
        peak: need.peak,
        background: need.background,
        hottest_logical: need.hottest_logical,
        hottest_physical: need.hottest_physical,
        provisioned: need.manual,
        decided_by: need.decided_by,
        autoscale_max: need.autoscale_max,
        storage_gb: need.storage_gb,
    }
}

impl Provisioning {
    /// Physical partitions of a container; `None` where the plan is infeasible or has no such container.
    #[must_use]
    pub fn physical_partitions(&self, container: ContainerName) -> Option<u32> {
        let mut containers = self.planned.iter().flat_map(|planned| &planned.containers);
        containers.find(|found| found.container == container).map(|found| found.physical_partitions)
    }
}
