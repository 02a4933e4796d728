//! Throughput of a traffic: request units a second under each plan, their provisioning, and the break-even
//! ratio of reads to writes between two plans. Pure.

use serde::Serialize;

use super::fan_out_charge::FanOutQueries;
use super::measurement::{MeasurementRow, Measurements, ModelVariant};
use super::provisioning::Provisioning;
use super::rates::RequestRate;
use onehop_store::charges::Calibration;

/// The throughput that a traffic takes under each plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Traffic {
    pub rates: Vec<RequestRate>,
    pub reads_per_write: Option<f64>,
    pub models: Vec<VariantThroughput>,
    /// With this many reads for each write, in this mix, or more, the last plan takes fewer request units
    /// than the first; `None` if it never does, or if one side of the ratio is missing.
    pub break_even_reads_per_write: Option<f64>,
    /// Of each pair of data models.
    pub break_evens: Vec<BreakEven>,
    /// Where each data model takes the least of all, by reads for each write.
    pub least: Vec<LeastRange>,
}

/// The break-even ratio of two data models.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakEven {
    pub first: String,
    pub last: String,
    /// With this many reads for each write, or more, `last` takes less than `first`; `None` if it never does.
    pub reads_per_write: Option<f64>,
}

/// The ratios of reads to writes at which a data model takes the fewest request units.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeastRange {
    pub model: String,
    /// Reads for each write; `None` where the model never takes the least.
    pub from: Option<f64>,
    /// `None`: without an end.
    pub to: Option<f64>,
}

/// The throughput that a traffic takes under one plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VariantThroughput {
    /// The plan's name.
    pub model: String,
    /// RU/s.
    pub reads: f64,
    /// RU/s, projections included.
    pub writes: f64,
    /// Whether Azure serves it; `None` where that was not worked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feasible: Option<bool>,
    /// RU/s to provision: the recommendation of its [`Provisioning`], background work included; `None` where
    /// it is infeasible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioned: Option<f64>,
    /// Of manual throughput, in the currency of the price; `None` without a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monthly_bill: Option<f64>,
}

impl Traffic {
    /// `provisioned`: for this traffic, under the plans for which that was worked out. Queries across
    /// partitions are charged for the physical partitions that it has.
    #[must_use]
    pub fn of(
        measurements: &Measurements,
        rates: Vec<RequestRate>,
        provisioned: &[Provisioning],
        calibration: &Calibration,
    ) -> Self {
        let of_kind = |is_write: bool| {
            let rates = rates.iter().filter(|rate| measurements.is_write(&rate.request) == is_write);
            rates.fold(0.0, |total, rate| total + rate.per_second)
        };
        let (reads, writes) = (of_kind(false), of_kind(true));
        let models: Vec<VariantThroughput> = measurements
            .plans
            .iter()
            .map(|plan| {
                let provisioning = provisioned.iter().find(|found| found.model == plan.to_string());
                let charges = PlanCharges { measurements, plan, provisioning, calibration };
                charges.throughput(&rates)
            })
            .collect();
        let ends = models.first().zip(models.last());
        let break_even_reads_per_write =
            ends.and_then(|(first, last)| break_even(first, last, reads, writes));
        let plain: Vec<&VariantThroughput> = measurements
            .plans
            .iter()
            .zip(&models)
            .filter(|(plan, _)| !plan.batched)
            .map(|(_, throughput)| throughput)
            .collect();
        let reads_per_write = (writes > 0.0).then(|| reads / writes);
        Self {
            reads_per_write,
            break_even_reads_per_write,
            break_evens: break_evens(&plain, reads, writes),
            least: least(&plain, reads, writes),
            rates,
            models,
        }
    }
}

/// The charges of the requests under one plan.
struct PlanCharges<'a> {
    measurements: &'a Measurements,
    plan: &'a ModelVariant,
    provisioning: Option<&'a Provisioning>,
    calibration: &'a Calibration,
}

impl PlanCharges<'_> {
    fn throughput(&self, rates: &[RequestRate]) -> VariantThroughput {
        let [reads, writes] = [false, true].map(|of_writes| self.throughput_of(rates, of_writes));
        let planned = self.provisioning.and_then(|found| found.planned.as_ref());
        let manual = planned.and_then(|planned| planned.bills.iter().find(|bill| bill.name == "manual"));
        VariantThroughput {
            model: self.plan.to_string(),
            reads,
            writes,
            feasible: self.provisioning.map(|found| found.feasible),
            provisioned: planned.map(|planned| planned.recommended),
            monthly_bill: manual.map(|bill| bill.amount),
        }
    }

    /// RU/s of the reads or of the writes. A data loader does not change writes: writes of the plan without
    /// it count.
    fn throughput_of(&self, rates: &[RequestRate], of_writes: bool) -> f64 {
        let plan = ModelVariant { batched: self.plan.batched && !of_writes, ..self.plan.clone() };
        let charge = |request: &str| {
            let row = self.measurements.row(request, &plan);
            row.map_or(0.0, |row| row.request_charge + row.projection_charge + self.more_of_fan_outs(row))
        };
        let rates = rates.iter().filter(|rate| self.measurements.is_write(&rate.request) == of_writes);
        // Not `sum`, whose value of nothing is -0.
        rates.fold(0.0, |total, rate| total + rate.per_second * charge(&rate.request))
    }

    /// RU that queries across partitions are charged more where there are more physical partitions than they
    /// were measured with.
    fn more_of_fan_outs(&self, row: &MeasurementRow) -> f64 {
        let more = row.operations.iter().filter_map(|operation| {
            let queries = FanOutQueries::of(operation)?;
            let partitions = self.provisioning?.physical_partitions(operation.container)?;
            Some(queries.charge_at(self.calibration, partitions) - queries.charge)
        });
        more.fold(0.0, |sum, more| sum + more)
    }
}

/// The ratio at which the last plan's savings on reads equal its additions to writes.
fn break_even(first: &VariantThroughput, last: &VariantThroughput, reads: f64, writes: f64) -> Option<f64> {
    if reads <= 0.0 || writes <= 0.0 {
        return None;
    }
    let saved_by_a_read = (first.reads - last.reads) / reads;
    let added_by_a_write = (last.writes - first.writes) / writes;
    (saved_by_a_read > 0.0).then(|| (added_by_a_write / saved_by_a_read).max(0.0))
}

fn break_evens(models: &[&VariantThroughput], reads: f64, writes: f64) -> Vec<BreakEven> {
    let pair = |first: &VariantThroughput, last: &VariantThroughput| BreakEven {
        first: first.model.clone(),
        last: last.model.clone(),
        reads_per_write: break_even(first, last, reads, writes),
    };
    let pairs = models.iter().enumerate();
    pairs.flat_map(|(number, first)| models[number + 1..].iter().map(|last| pair(first, last))).collect()
}

/// The lower envelope of the lines that the throughput of each model is over the ratio of reads to writes.
fn least(models: &[&VariantThroughput], reads: f64, writes: f64) -> Vec<LeastRange> {
    if reads <= 0.0 || writes <= 0.0 {
        return Vec::new();
    }
    let line = |model: &VariantThroughput| (model.reads / reads, model.writes / writes);
    let range = |model: &VariantThroughput| {
        let (slope, start) = line(model);
        let (mut from, mut to) = (0.0_f64, f64::INFINITY);
        for (other_slope, other_start) in models.iter().map(|other| line(other)) {
            let ahead = other_start - start;
            match slope.total_cmp(&other_slope) {
                std::cmp::Ordering::Less => from = from.max(-ahead / (other_slope - slope)),
                std::cmp::Ordering::Greater => to = to.min(ahead / (slope - other_slope)),
                std::cmp::Ordering::Equal if ahead < 0.0 => to = f64::NEG_INFINITY,
                std::cmp::Ordering::Equal => {}
            }
        }
        let exists = from < to;
        LeastRange {
            model: model.model.clone(),
            from: exists.then_some(from),
            to: (exists && to.is_finite()).then_some(to),
        }
    };
    models.iter().map(|model| range(model)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feasibility::Feasibility;
    use crate::fixtures::{request, row};
    use crate::measurement::StudyRequest;
    use crate::provisioning::{
        DecidingFactor, MonthlyBill, PlannedThroughput, ProvisionedContainer, ProvisioningInput,
        RecommendedScope, ServerlessFit,
    };
    use onehop_store::{ChargeBasis, ContainerName, FoldedOperation, OperationKind, RequestCharge};

    const POSTS: ContainerName = ContainerName("posts");

    fn rate(request: &str, per_second: f64) -> RequestRate {
        RequestRate { request: request.to_owned(), per_second }
    }

    fn requests() -> Vec<StudyRequest> {
        vec![request("C3", true), request("Q3", false), request("Q6", false)]
    }

    /// V1 reads for 100 and writes for 5, V3 reads for 10 and writes for 15 with 20 for its projections.
    fn measurements() -> Measurements {
        let [v1, v2, v3] = ["V1", "V2", "V3"].map(ModelVariant::of_model);
        let loader = ModelVariant { batched: true, ..v1.clone() };
        let rows = vec![
            row("Q3", &v1, 100.0, 0.0),
            row("Q3", &loader, 60.0, 0.0),
            row("Q3", &v2, 50.0, 0.0),
            row("Q3", &v3, 10.0, 0.0),
            row("C3", &v1, 5.0, 0.0),
            row("C3", &v2, 15.0, 0.0),
            row("C3", &v3, 15.0, 20.0),
        ];
        Measurements { requests: requests(), plans: vec![v1, loader, v2, v3], rows }
    }

    fn traffic(reads: f64, writes: f64) -> Traffic {
        let rates = vec![rate("Q3", reads), rate("C3", writes)];
        Traffic::of(&measurements(), rates, &[], &Calibration::current())
    }

    #[test]
    fn throughput_is_the_sum_of_rates_times_charges() {
        let traffic = traffic(10.0, 4.0);
        let sums: Vec<(f64, f64)> = traffic.models.iter().map(|model| (model.reads, model.writes)).collect();
        assert_eq!(sums, [(1000.0, 20.0), (600.0, 20.0), (500.0, 60.0), (100.0, 140.0)]);
        assert_eq!(traffic.reads_per_write, Some(2.5));
    }

    /// V2 with this throughput of its container of posts.
    fn provisioning(planned: Option<PlannedThroughput>) -> Provisioning {
        let input = ProvisioningInput::default();
        Provisioning {
            model: "V2".to_owned(),
            peak_to_mean: input.peak_to_mean,
            index_share: input.index_share,
            regions: 1,
            data_scale: 1.0,
            feasible: planned.is_some(),
            feasibility: Feasibility::default(),
            planned,
        }
    }

    fn planned(physical_partitions: u32) -> PlannedThroughput {
        let container = ProvisionedContainer {
            container: POSTS,
            physical_partitions,
            peak: 450.0,
            background: 0.0,
            hottest_logical: 1.0,
            hottest_physical: 225.0,
            provisioned: 500.0,
            decided_by: DecidingFactor::HottestPartition,
            autoscale_max: 1_000.0,
            storage_gb: 1.0,
        };
        PlannedThroughput {
            containers: vec![container],
            mean: 450.0,
            separate: 500.0,
            shared: None,
            recommended: 500.0,
            recommended_scope: RecommendedScope::Separate,
            storage_gb: 1.0,
            serverless: ServerlessFit::Fits,
            bills: vec![MonthlyBill { name: "manual", amount: 29.2 }],
        }
    }

    #[test]
    fn only_a_feasible_plan_has_throughput_and_a_bill() {
        let shown = |planned| {
            let rates = vec![rate("Q3", 1.0)];
            let found = [provisioning(planned)];
            let traffic = Traffic::of(&measurements(), rates, &found, &Calibration::current());
            let v2 = traffic.models.into_iter().find(|model| model.model == "V2").unwrap();
            (v2.feasible, v2.provisioned, v2.monthly_bill)
        };
        assert_eq!(shown(Some(planned(1))), (Some(true), Some(500.0), Some(29.2)));
        assert_eq!(shown(None), (Some(false), None, None));
    }

    #[test]
    fn queries_across_partitions_follow_their_number() {
        let (mut measurements, v2) = (measurements(), ModelVariant::of_model("V2"));
        let row = measurements.rows.iter_mut().find(|row| row.request == "Q3" && row.plan == v2).unwrap();
        row.operations = vec![FoldedOperation {
            container: POSTS,
            kind: OperationKind::Query,
            times: 1,
            items: 5,
            physical_partitions: 1,
            request_charge: RequestCharge(30.0),
            basis: ChargeBasis { is_across: true, ..ChargeBasis::default() },
        }];
        let reads = |partitions| {
            let found = [provisioning(Some(planned(partitions)))];
            let rates = vec![rate("Q3", 1.0)];
            let traffic = Traffic::of(&measurements, rates, &found, &Calibration::current());
            traffic.models.iter().find(|model| model.model == "V2").unwrap().reads
        };
        assert_eq!((reads(1), reads(3)), (50.0, 110.0));
    }

    #[test]
    fn at_the_break_even_ratio_both_plans_take_the_same() {
        let ratio = traffic(10.0, 4.0).break_even_reads_per_write.unwrap();
        assert!((ratio - 30.0 / 90.0).abs() < 1e-9);
        let there = traffic(ratio, 1.0);
        let total = |model: &VariantThroughput| model.reads + model.writes;
        assert!((total(&there.models[0]) - total(&there.models[3])).abs() < 1e-9);
    }

    #[test]
    fn each_pair_of_models_has_its_break_even() {
        let traffic = traffic(10.0, 4.0);
        let pairs: Vec<(String, f64)> = traffic
            .break_evens
            .iter()
            .map(|pair| (format!("{}/{}", pair.first, pair.last), pair.reads_per_write.unwrap()))
            .collect();
        let near = |value: f64| (value * 1000.0).round() / 1000.0;
        let pairs: Vec<(&str, f64)> = pairs.iter().map(|(name, ratio)| (&**name, near(*ratio))).collect();
        assert_eq!(pairs, [("V1/V2", 0.2), ("V1/V3", 0.333), ("V2/V3", 0.5)]);
    }

    #[test]
    fn v2_takes_the_least_between_its_two_break_evens() {
        let ranges = traffic(10.0, 4.0).least;
        let ranges: Vec<_> = ranges.iter().map(|range| (range.from, range.to)).collect();
        assert_eq!(ranges, [(Some(0.0), Some(0.2)), (Some(0.2), Some(0.5)), (Some(0.5), None)]);
    }

    #[test]
    fn without_reads_or_writes_there_is_no_break_even() {
        assert_eq!(traffic(0.0, 1.0).break_even_reads_per_write, None);
        assert_eq!(traffic(1.0, 0.0).break_even_reads_per_write, None);
    }

    #[test]
    fn without_reads_or_writes_these_take_nothing_and_not_less() {
        let traffic = Traffic::of(&measurements(), vec![rate("C3", 1.0)], &[], &Calibration::current());
        assert!(traffic.models.iter().all(|model| model.reads.is_sign_positive() && model.reads == 0.0));
    }
}
