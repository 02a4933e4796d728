//! Throughput of a traffic: request units a second under each plan, what is provisioned for them, and the break-even ratio of
//! reads to writes between two plans. Pure.

use serde::Serialize;

use super::discards::DiscardedChanges;
use super::measurement::{Measurements, ModelVariant, StudyRequest};
use super::provisioning::Provisioning;
use onehop_store::ContainerName;

/// How often a request comes, a second.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestRate {
    /// The request's name.
    pub request: String,
    pub per_second: f64,
}

/// A text that is no rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a request and its rate a second, like Q3=100")]
pub struct InvalidRequestRate(String);

impl RequestRate {
    /// Parses `Q3=100`, with the name of one of `requests` in any case.
    ///
    /// # Errors
    /// [`InvalidRequestRate`].
    pub fn parse(text: &str, requests: &[StudyRequest]) -> Result<Self, InvalidRequestRate> {
        let invalid = || InvalidRequestRate(text.to_owned());
        let (name, rate) = text.split_once('=').ok_or_else(invalid)?;
        let is_named = |request: &&StudyRequest| request.name.eq_ignore_ascii_case(name.trim());
        let request = requests.iter().find(is_named).ok_or_else(invalid)?.name.clone();
        let per_second: f64 = rate.trim().parse().map_err(|_| invalid())?;
        if !per_second.is_finite() || per_second < 0.0 {
            return Err(invalid());
        }
        Ok(Self { request, per_second })
    }

    /// Rates for a ratio of reads to writes: one write a second, spread evenly over the requests that write, and the reads
    /// evenly over the others.
    #[must_use]
    pub fn even(requests: &[StudyRequest], reads_per_write: f64) -> Vec<Self> {
        let writes = requests.iter().filter(|request| request.is_write).count() as f64;
        let reads = requests.len() as f64 - writes;
        let share =
            |request: &StudyRequest| if request.is_write { 1.0 / writes } else { reads_per_write / reads };
        requests
            .iter()
            .map(|request| Self { request: request.name.clone(), per_second: share(request) })
            .collect()
    }
}

/// The throughput that a traffic takes under each plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Traffic {
    pub rates: Vec<RequestRate>,
    pub reads_per_write: Option<f64>,
    pub models: Vec<VariantThroughput>,
    /// With this many reads for each write, in this mix, or more, the last plan takes fewer request units than the first;
    /// `None` if it never does, or if one side of the ratio is missing.
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
    /// RU/s that have to be provisioned: what its [`Provisioning`] recommends, background work included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioned: Option<f64>,
    /// Of manual throughput, in the currency of the price; `None` without a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monthly_bill: Option<f64>,
}

impl Traffic {
    /// `provisioned`: for this traffic, under the plans for which that was worked out.
    #[must_use]
    pub fn of(measurements: &Measurements, rates: Vec<RequestRate>, provisioned: &[Provisioning]) -> Self {
        let of_kind = |is_write: bool| {
            let rates = rates.iter().filter(|rate| measurements.is_write(&rate.request) == is_write);
            rates.fold(0.0, |total, rate| total + rate.per_second)
        };
        let (reads, writes) = (of_kind(false), of_kind(true));
        let models: Vec<VariantThroughput> = measurements
            .plans
            .iter()
            .map(|plan| {
                let [reads, writes] =
                    [false, true].map(|is_write| throughput(measurements, &rates, plan, is_write));
                let model = plan.to_string();
                let found = provisioned.iter().find(|provisioning| provisioning.model == model);
                let manual = found.and_then(|found| found.bills.iter().find(|bill| bill.name == "manual"));
                VariantThroughput {
                    model,
                    reads,
                    writes,
                    provisioned: found.map(|found| found.recommended),
                    monthly_bill: manual.map(|bill| bill.amount),
                }
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

/// RU/s of the reads or of the writes. A data loader does not change writes: those of the plan without it count.
fn throughput(
    measurements: &Measurements,
    rates: &[RequestRate],
    plan: &ModelVariant,
    of_writes: bool,
) -> f64 {
    let plan = ModelVariant { batched: plan.batched && !of_writes, ..plan.clone() };
    let charge = |request: &str| {
        let row = measurements.row(request, &plan);
        row.map_or(0.0, |row| row.request_charge + row.projection_charge)
    };
    let rates = rates.iter().filter(|rate| measurements.is_write(&rate.request) == of_writes);
    // Not `sum`, whose value of nothing is -0.
    rates.fold(0.0, |total, rate| total + rate.per_second * charge(&rate.request))
}

/// Of the requests that write to one of these containers under a plan, a second.
#[must_use]
pub fn writes_to(
    containers: &[ContainerName],
    measurements: &Measurements,
    rates: &[RequestRate],
    plan: &ModelVariant,
) -> f64 {
    let writes = |rate: &&RequestRate| {
        let operations = measurements.row(&rate.request, plan).map(|row| &row.operations);
        operations.is_some_and(|operations| {
            operations.iter().any(|done| done.kind.writes() && containers.contains(&done.container))
        })
    };
    rates.iter().filter(writes).fold(0.0, |sum, rate| sum + rate.per_second)
}

/// What a traffic brings to the change feed in vain, a second.
#[must_use]
pub fn discarded(
    measurements: &Measurements,
    rates: &[RequestRate],
    plan: &ModelVariant,
) -> DiscardedChanges {
    let mut all = DiscardedChanges::default();
    for rate in rates {
        if let Some(row) = measurements.row(&rate.request, plan) {
            all += row.discarded.times(rate.per_second);
        }
    }
    all
}

/// The ratio at which what the last plan saves on reads is what it adds to writes.
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
    use crate::fixtures::{request, row};
    use crate::partitions::{PartitionReport, PartitionStudy, Population};
    use crate::provisioning::{ContainerBackground, Prices, ProvisioningInput};
    use onehop_store::{ChargeBasis, FoldedOperation, OperationKind, RequestCharge};

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
        Traffic::of(&measurements(), vec![rate("Q3", reads), rate("C3", writes)], &[])
    }

    #[test]
    fn throughput_is_the_sum_of_rates_times_charges() {
        let traffic = traffic(10.0, 4.0);
        let sums: Vec<(f64, f64)> = traffic.models.iter().map(|model| (model.reads, model.writes)).collect();
        assert_eq!(sums, [(1000.0, 20.0), (600.0, 20.0), (500.0, 60.0), (100.0, 140.0)]);
        assert_eq!(traffic.reads_per_write, Some(2.5));
    }

    #[test]
    fn what_is_provisioned_is_what_its_plan_recommends() {
        let partitions = PartitionReport::of(PartitionStudy {
            model: "V3",
            contents: &[],
            population: &Population::default(),
            footprints: &[],
            rates: None,
            measurements: &measurements(),
        });
        let prices = Prices { manual: Some(0.008), ..Prices::default() };
        let input = ProvisioningInput {
            physical_partitions: 1,
            peak_to_mean: 1.0,
            regions: 1,
            highest_throughput: 0.0,
            index_share: 0.2,
            prices,
        };
        let leases =
            ContainerBackground { container: ContainerName("leases"), throughput: 450.0, is_dedicated: true };
        let provisioning = Provisioning::of("V3".to_owned(), &partitions, &[leases], &input);
        let traffic = Traffic::of(&measurements(), vec![rate("Q3", 1.0)], &[provisioning]);
        let found: Vec<_> =
            traffic.models.iter().map(|model| (model.provisioned, model.monthly_bill.is_some())).collect();
        assert_eq!(found, [(None, false), (None, false), (None, false), (Some(500.0), true)]);
    }

    #[test]
    fn discarded_changes_are_those_of_the_rates() {
        let mut measurements = measurements();
        let v3 = ModelVariant::of_model("V3");
        let row = measurements.rows.iter_mut().find(|row| row.request == "C3" && row.plan == v3).unwrap();
        row.discarded = DiscardedChanges { changes: 1.0, bytes: 400.0 };
        let rates = [rate("Q3", 5.0), rate("C3", 2.0)];
        let found = discarded(&measurements, &rates, &v3);
        assert_eq!((found.changes, found.bytes), (2.0, 800.0));
    }

    #[test]
    fn writes_to_a_container_are_those_of_its_requests() {
        let (mut measurements, v3) = (measurements(), ModelVariant::of_model("V3"));
        let posts = ContainerName("posts");
        let row = measurements.rows.iter_mut().find(|row| row.request == "C3" && row.plan == v3).unwrap();
        row.operations = vec![FoldedOperation {
            container: posts,
            kind: OperationKind::Batch,
            times: 1,
            items: 2,
            physical_partitions: 1,
            request_charge: RequestCharge(15.0),
            basis: ChargeBasis::default(),
        }];
        let rates = [rate("Q3", 5.0), rate("C3", 2.0)];
        let to = |container| writes_to(&[container], &measurements, &rates, &v3);
        assert_eq!((to(posts), to(ContainerName("users"))), (2.0, 0.0));
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
        let traffic = Traffic::of(&measurements(), vec![rate("C3", 1.0)], &[]);
        assert!(traffic.models.iter().all(|model| model.reads.is_sign_positive() && model.reads == 0.0));
    }

    #[test]
    fn a_ratio_is_spread_evenly() {
        let rates = RequestRate::even(&requests(), 60.0);
        assert_eq!(rates, [rate("C3", 1.0), rate("Q3", 30.0), rate("Q6", 30.0)]);
    }

    #[test]
    fn a_rate_is_a_request_and_a_number() {
        assert_eq!(RequestRate::parse("q3=2.5", &requests()), Ok(rate("Q3", 2.5)));
        for invalid in ["", "Q3", "Q7=1", "Q3=", "Q3=-1", "Q3=NaN", "Q3=inf", "=1"] {
            assert!(RequestRate::parse(invalid, &requests()).is_err(), "{invalid}");
        }
    }
}
