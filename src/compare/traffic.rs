//! What the table means for one's own traffic: request units a second under each data model, what has to be
//! provisioned for them, what that costs, and from which ratio of reads to writes on V3 is the cheaper one.
//! Pure: rates and charges in, figures out.

use std::str::FromStr;

use serde::Serialize;

use super::article::ArticleRequest;
use super::plan::ReadPlan;
use super::report::{Row, plan_name};

/// Throughput is provisioned in steps of so many RU/s.
/// Source: "Provisioned throughput", learn.microsoft.com/azure/cosmos-db/set-throughput.
const THROUGHPUT_STEP: f64 = 100.0;
/// The least that can be provisioned for a container or a database, RU/s. Source: the same.
const THROUGHPUT_MIN: f64 = 400.0;
/// Azure's month, in which its prices a month are stated.
const HOURS_A_MONTH: f64 = 730.0;

/// How often a request comes, a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rate {
    pub request: ArticleRequest,
    pub per_second: f64,
}

/// A text that is no rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a request and its rate a second, like Q3=100")]
pub struct InvalidRate(String);

impl FromStr for Rate {
    type Err = InvalidRate;

    fn from_str(text: &str) -> Result<Self, InvalidRate> {
        let invalid = || InvalidRate(text.to_owned());
        let (name, rate) = text.split_once('=').ok_or_else(invalid)?;
        let is_named = |request: &ArticleRequest| format!("{request:?}").eq_ignore_ascii_case(name.trim());
        let request = ArticleRequest::ALL.into_iter().find(is_named).ok_or_else(invalid)?;
        let per_second: f64 = rate.trim().parse().map_err(|_| invalid())?;
        if !per_second.is_finite() || per_second < 0.0 {
            return Err(invalid());
        }
        Ok(Self { request, per_second })
    }
}

/// Rates for a ratio of reads to writes: one write a second, spread evenly over C1 to C4, and the reads evenly over
/// Q1 to Q6. Whoever knows better gives the rates themselves.
#[must_use]
pub fn even_rates(reads_per_write: f64) -> Vec<Rate> {
    let share =
        |request: ArticleRequest| if request.is_command() { 1.0 / 4.0 } else { reads_per_write / 6.0 };
    ArticleRequest::ALL.into_iter().map(|request| Rate { request, per_second: share(request) }).collect()
}

/// What some traffic takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Traffic {
    pub rates: Vec<Rate>,
    pub reads_per_write: Option<f64>,
    pub models: Vec<ModelThroughput>,
    /// With this many reads for each write, in this mix, or more, V3 takes fewer request units than V1; `None` if
    /// it never does, or if one side of the ratio is missing.
    pub break_even_reads_per_write: Option<f64>,
}

/// What some traffic takes under one data model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelThroughput {
    pub model: &'static str,
    /// Of the reads, RU/s.
    pub reads: f64,
    /// Of the writes and the projections that they cause, RU/s.
    pub writes: f64,
    /// The sum, in steps of 100 RU/s, and at least 400.
    pub provisioned: f64,
    /// In the currency of the price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monthly_bill: Option<f64>,
}

impl Traffic {
    /// Under each plan of these rows. `price_per_100_ru`: of 100 RU/s for an hour.
    #[must_use]
    pub fn of(rows: &[Row], rates: Vec<Rate>, price_per_100_ru: Option<f64>) -> Self {
        let sum = |is_command: bool| {
            let rates = rates.iter().filter(|rate| rate.request.is_command() == is_command);
            rates.map(|rate| rate.per_second).sum::<f64>()
        };
        let (writes, reads) = (sum(true), sum(false));
        let models: Vec<ModelThroughput> = ReadPlan::ALL
            .into_iter()
            .map(|plan| {
                let (reads, writes) =
                    (throughput(rows, &rates, plan, false), throughput(rows, &rates, plan, true));
                let provisioned = provisioned(reads + writes);
                let monthly_bill = price_per_100_ru.map(|price| bill(provisioned, price));
                ModelThroughput { model: plan_name(plan), reads, writes, provisioned, monthly_bill }
            })
            .collect();
        let of = |plan: ReadPlan| models.iter().find(|model| model.model == plan_name(plan));
        let [v1, .., v3] = ReadPlan::ALL;
        let break_even_reads_per_write =
            of(v1).zip(of(v3)).and_then(|(v1, v3)| break_even(v1, v3, reads, writes));
        let reads_per_write = (writes > 0.0).then(|| reads / writes);
        Self { rates, reads_per_write, models, break_even_reads_per_write }
    }
}

/// RU/s of the reads or of the writes. The data loader does not change writes: V1's count.
fn throughput(rows: &[Row], rates: &[Rate], plan: ReadPlan, of_commands: bool) -> f64 {
    let charge = |request: ArticleRequest| {
        let batched = plan.batched && !request.is_command();
        let row = rows
            .iter()
            .find(|row| row.request == request && row.model == plan.model && row.batched == batched);
        row.map_or(0.0, |row| row.request_charge + row.projection_charge)
    };
    let rates = rates.iter().filter(|rate| rate.request.is_command() == of_commands);
    // Not `sum`, whose value of nothing is -0.
    rates.fold(0.0, |total, rate| total + rate.per_second * charge(rate.request))
}

fn provisioned(throughput: f64) -> f64 {
    ((throughput / THROUGHPUT_STEP).ceil() * THROUGHPUT_STEP).max(THROUGHPUT_MIN)
}

fn bill(provisioned: f64, price_per_100_ru: f64) -> f64 {
    provisioned / THROUGHPUT_STEP * price_per_100_ru * HOURS_A_MONTH
}

/// The ratio at which what V3 saves on reads is what it adds to writes.
fn break_even(v1: &ModelThroughput, v3: &ModelThroughput, reads: f64, writes: f64) -> Option<f64> {
    if reads <= 0.0 || writes <= 0.0 {
        return None;
    }
    let saved_by_a_read = (v1.reads - v3.reads) / reads;
    let added_by_a_write = (v3.writes - v1.writes) / writes;
    (saved_by_a_read > 0.0).then(|| (added_by_a_write / saved_by_a_read).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blog::reads::DataModel;
    use crate::compare::report::Quantiles;

    /// V1 reads for 100 and writes for 5, V3 reads for 10 and writes for 15 with 20 for its projections.
    fn rows() -> Vec<Row> {
        let row = |request, model, batched, request_charge, projection_charge| Row {
            request,
            model,
            batched,
            request_charge,
            request_charge_p99: request_charge,
            estimated_request_charge: None,
            estimate_error: None,
            projection_charge,
            article_request_charge: None,
            deviation: None,
            latency_ms: Quantiles { median: 1.0, p99: 1.0 },
            operations: Vec::new(),
        };
        vec![
            row(ArticleRequest::Q3, DataModel::V1, false, 100.0, 0.0),
            row(ArticleRequest::Q3, DataModel::V1, true, 60.0, 0.0),
            row(ArticleRequest::Q3, DataModel::V2, false, 50.0, 0.0),
            row(ArticleRequest::Q3, DataModel::V3, false, 10.0, 0.0),
            row(ArticleRequest::C3, DataModel::V1, false, 5.0, 0.0),
            row(ArticleRequest::C3, DataModel::V2, false, 15.0, 0.0),
            row(ArticleRequest::C3, DataModel::V3, false, 15.0, 20.0),
        ]
    }

    fn rates(reads: f64, writes: f64) -> Vec<Rate> {
        vec![
            Rate { request: ArticleRequest::Q3, per_second: reads },
            Rate { request: ArticleRequest::C3, per_second: writes },
        ]
    }

    #[test]
    fn throughput_is_the_sum_of_rates_and_charges_with_the_projections() {
        let traffic = Traffic::of(&rows(), rates(10.0, 4.0), None);
        let sums: Vec<(f64, f64)> = traffic.models.iter().map(|model| (model.reads, model.writes)).collect();
        assert_eq!(sums, [(1000.0, 20.0), (600.0, 20.0), (500.0, 60.0), (100.0, 140.0)]);
        assert_eq!(traffic.reads_per_write, Some(2.5));
    }

    #[test]
    fn throughput_is_provisioned_in_steps_of_a_hundred_and_at_least_four_hundred() {
        for (needed, bought) in [(0.0, 400.0), (400.0, 400.0), (400.1, 500.0), (1020.0, 1100.0)] {
            assert_eq!(provisioned(needed), bought, "{needed}");
        }
    }

    #[test]
    fn the_bill_is_for_a_month_of_what_is_provisioned() {
        let traffic = Traffic::of(&rows(), rates(10.0, 4.0), Some(0.008));
        let bill = traffic.models[0].monthly_bill.unwrap();
        assert!((bill - 11.0 * 0.008 * 730.0).abs() < 1e-9);
        assert_eq!(traffic.models[3].monthly_bill.map(f64::round), Some(23.0));
    }

    #[test]
    fn at_the_break_even_ratio_v1_and_v3_take_the_same() {
        let ratio = Traffic::of(&rows(), rates(10.0, 4.0), None).break_even_reads_per_write.unwrap();
        assert!((ratio - 30.0 / 90.0).abs() < 1e-9);
        let there = Traffic::of(&rows(), rates(ratio, 1.0), None);
        let total = |model: &ModelThroughput| model.reads + model.writes;
        assert!((total(&there.models[0]) - total(&there.models[3])).abs() < 1e-9);
    }

    #[test]
    fn without_reads_or_writes_there_is_no_break_even() {
        assert_eq!(Traffic::of(&rows(), rates(0.0, 1.0), None).break_even_reads_per_write, None);
        assert_eq!(Traffic::of(&rows(), rates(1.0, 0.0), None).break_even_reads_per_write, None);
    }

    #[test]
    fn without_reads_or_writes_these_take_nothing_and_not_less() {
        let traffic = Traffic::of(&rows(), vec![Rate { request: ArticleRequest::C3, per_second: 1.0 }], None);
        assert!(traffic.models.iter().all(|model| model.reads.is_sign_positive() && model.reads == 0.0));
    }

    #[test]
    fn a_ratio_is_spread_evenly() {
        let rates = even_rates(60.0);
        let of = |request| rates.iter().find(|rate| rate.request == request).unwrap().per_second;
        assert_eq!((of(ArticleRequest::Q6), of(ArticleRequest::C1)), (10.0, 0.25));
    }

    #[test]
    fn a_rate_is_a_request_and_a_number() {
        let rate: Rate = "q3=2.5".parse().unwrap();
        assert_eq!(rate, Rate { request: ArticleRequest::Q3, per_second: 2.5 });
        for invalid in ["", "Q3", "Q7=1", "Q3=", "Q3=-1", "Q3=NaN", "Q3=inf", "=1"] {
            assert!(invalid.parse::<Rate>().is_err(), "{invalid}");
        }
    }
}
