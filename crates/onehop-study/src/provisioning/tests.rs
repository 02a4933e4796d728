//! Plans of small databases: feasibility, throughput to provision, and the verdict between them.

use std::collections::BTreeMap;

use super::*;
use crate::bounds::Bounds;
use crate::feasibility::{GrowthOf, LimitKind};
use crate::measurement::ModelVariant;
use crate::partitions::{ChargeGroup, ContainerProfile, LoadProfile, VariedLoad};
use onehop_store::charges::Calibration;
use onehop_store::{ChargeSource, ContainerName, OperationKind};

const POSTS: ContainerName = ContainerName("posts");
const FEED: ContainerName = ContainerName("feed");
/// The share of the first of 200 by Zipf's law.
const FIRST_OF_200: f64 = 0.17;

/// A plan whose only request is a query.
struct Plan {
    model: &'static str,
    container: ContainerName,
    /// Logical partitions, each with one item.
    partitions: f64,
    item_bytes: f64,
    request_charge: f64,
}

/// Reads one of 200 posts.
fn of_posts(model: &'static str, request_charge: f64) -> Plan {
    Plan { model, container: POSTS, partitions: 200.0, item_bytes: 2_000.0, request_charge }
}

/// Reads the only logical partition of the feed.
fn of_feed(request_charge: f64) -> Plan {
    Plan { model: "V3", container: FEED, partitions: 1.0, item_bytes: 2_000.0, request_charge }
}

fn known() -> ProvisioningInput {
    ProvisioningInput { index_share: Bounds::certain(0.0), ..ProvisioningInput::default() }
}

impl Plan {
    fn at(&self, per_second: f64, input: &ProvisioningInput) -> PlanModel {
        let is_single = self.partitions == 1.0;
        let throughput = per_second * self.request_charge;
        let load = |share: f64| VariedLoad {
            total: vec![throughput],
            hottest: vec![vec![throughput * if is_single { 1.0 } else { share }]],
            fan_outs: Vec::new(),
        };
        let (kind, source) = (OperationKind::Query, ChargeSource::Estimated);
        let scale = if is_single { 1.0 } else { input.data_scale };
        let profile = LoadProfile {
            groups: vec![ChargeGroup { of_writes: false, kind, source, peak: None }],
            containers: vec![ContainerProfile {
                container: self.container,
                bytes: self.partitions * self.item_bytes * scale,
                partition_bytes_max: self.item_bytes,
                item_bytes_max: self.item_bytes,
                is_single,
                even: load(1.0 / (self.partitions * scale)),
                zipf: load(FIRST_OF_200),
            }],
        };
        let plan = ModelVariant::of_model(self.model);
        PlanModel::of(&plan, profile, None, BTreeMap::new(), &Calibration::current(), input)
    }
}

#[test]
fn a_plan_within_the_limits_has_containers_and_a_bill() {
    let input = ProvisioningInput { prices: Prices { manual: Some(0.008), ..Prices::default() }, ..known() };
    let found = of_posts("V2", 10.0).at(100.0, &input).provisioning();
    let planned = found.planned.unwrap();
    assert!(found.feasible);
    // 1,000 RU/s, all of it on one physical partition.
    assert_eq!((planned.recommended, planned.containers[0].physical_partitions), (1_000.0, 1));
    assert!((planned.bills[0].amount - 58.4).abs() < 1e-9);
    // Zipf's law gives the first of 200 posts 17 %: 10,000 RU/s at 58.8 times this traffic, with some room
    // for the others.
    let first = found.feasibility.nearest(GrowthOf::Traffic).unwrap();
    assert_eq!(first.limit, LimitKind::LogicalThroughput);
    assert!((58.0..58.8).contains(&first.multiple), "{first:?}");
}

#[test]
fn a_plan_beyond_a_limit_is_infeasible_and_has_no_bill() {
    let input = known();
    let found = of_feed(10.0).at(2_000.0, &input).provisioning();
    assert!(!found.feasible && found.planned.is_none());
    let exceeded: Vec<_> = found.feasibility.exceeded().collect();
    assert_eq!(
        (exceeded.len(), exceeded[0].container, exceeded[0].limit),
        (1, FEED, LimitKind::LogicalThroughput)
    );
    assert!((exceeded[0].multiple - 0.5).abs() < 1e-6, "{exceeded:?}");
}

#[test]
fn an_item_above_its_limit_is_infeasible_at_any_traffic() {
    let mut plan = of_posts("V2", 10.0);
    plan.item_bytes = 3.0 * 1024.0 * 1024.0;
    let found = plan.at(0.001, &known()).provisioning();
    let exceeded: Vec<_> = found.feasibility.exceeded().map(|limit| (limit.limit, limit.growth_of)).collect();
    assert_eq!(exceeded, [(LimitKind::ItemSize, GrowthOf::Data)]);
    assert!(found.planned.is_none());
}

#[test]
fn the_peak_is_provisioned_and_the_mean_is_used() {
    let input = ProvisioningInput { peak_to_mean: Bounds { low: 1.0, high: 3.0 }, ..known() };
    let planned = of_posts("V2", 10.0).at(100.0, &input).provisioning().planned.unwrap();
    assert!((planned.mean - 1_000.0).abs() < 1e-6);
    assert_eq!(planned.recommended, 3_000.0);
}

#[test]
fn more_data_takes_more_physical_partitions() {
    // 200 posts of 1 MB, and 300 times that: 58.6 GB.
    let mut plan = of_posts("V2", 10.0);
    plan.item_bytes = 1024.0 * 1024.0;
    let input = ProvisioningInput { data_scale: 300.0, ..known() };
    let planned = plan.at(1.0, &input).provisioning().planned.unwrap();
    let container = &planned.containers[0];
    assert_eq!((container.physical_partitions, container.storage_gb.round()), (2, 59.0));
}

fn verdict(plans: &[Plan], per_second: f64, input: &ProvisioningInput) -> Verdict {
    let plans: Vec<PlanModel> = plans.iter().map(|plan| plan.at(per_second, input)).collect();
    Verdict::of(&plans, input)
}

#[test]
fn a_plan_that_is_cheaper_whatever_is_assumed_wins() {
    let input = ProvisioningInput { peak_to_mean: Bounds { low: 1.0, high: 3.0 }, ..known() };
    let found = verdict(&[of_posts("V1", 30.0), of_posts("V2", 10.0)], 100.0, &input);
    // The intervals over all cases overlap, because both have the same peak.
    let [v1, v2] = [0, 1].map(|number: usize| found.plans[number].bill.unwrap());
    assert!(v2.high > v1.low);
    assert_eq!((found.winner.as_deref(), found.cases), (Some("V2"), 8));
}

#[test]
fn a_difference_within_the_errors_of_the_charges_is_none() {
    let within = verdict(&[of_posts("V1", 10.2), of_posts("V2", 10.0)], 1_000.0, &known());
    assert_eq!((within.winner, within.unbeaten.len()), (None, 2));
    let at_the_floor = verdict(&[of_posts("V1", 3.0), of_posts("V2", 1.0)], 1.0, &known());
    assert_eq!((at_the_floor.winner, at_the_floor.unbeaten.len()), (None, 2), "both have 400 RU/s");
}

#[test]
fn an_infeasible_plan_loses_whatever_it_would_cost() {
    let found = verdict(&[of_posts("V2", 20.0), of_feed(10.0)], 1_200.0, &known());
    assert_eq!(found.winner.as_deref(), Some("V2"));
    assert_eq!((found.plans[1].feasible, found.plans[1].bill), (false, None));
    let none = verdict(&[of_feed(10.0)], 2_000.0, &known());
    assert_eq!((none.winner, none.unbeaten.len()), (None, 0));
}

#[test]
fn a_data_model_wins_with_and_without_a_data_loader() {
    let (input, dear) = (known(), of_posts("V2", 90.0));
    let mut plans = [of_posts("V1", 10.0), of_posts("V1", 10.0), dear].map(|plan| plan.at(100.0, &input));
    plans[1].model = "V1, data loader".to_owned();
    let found = Verdict::of(&plans, &input);
    assert_eq!((found.winner.as_deref(), found.unbeaten.len()), (Some("V1"), 2));
}
