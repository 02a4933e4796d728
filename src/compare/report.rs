//! What a comparison found, in figures: samples become rows. Pure; how rows are shown is for [`super::show`] and
//! [`super::html`].

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::article::{ArticleRequest, cell};
use super::partitions::PartitionReport;
use super::plan::ReadPlan;
use super::traffic::Traffic;
use crate::blog::reads::DataModel;
use onehop_store::{ChargeSource, FoldedOperation, Indexing, Ledger};

/// One measured request.
pub struct Sample {
    /// What the request did.
    pub ledger: Arc<Ledger>,
    pub duration: Duration,
    /// What the projections were charged because of it, RU.
    pub projection_charge: f64,
}

/// Everything a comparison found.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub rows: Vec<Row>,
    pub users: u32,
    pub rng_seed: u64,
    /// How often each request was run under each data model.
    pub samples: usize,
    /// Those of `posts`, which is queried across partitions: the most that any of the databases had.
    pub physical_partitions: u32,
    pub indexing: Indexing,
    pub charge_source: ChargeSource,
    /// What was measured; `None` on the embedded store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// How far the estimates are off, where there are any beside the charges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate_errors: Option<EstimateErrors>,
    /// Of V3's database, which has every container.
    pub partitions: PartitionReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
}

/// The account that a comparison measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    pub endpoint: String,
    /// One for each data model.
    pub databases: Vec<String>,
}

/// How far estimates are from the charges that were measured: 0.1 is 10 %, above or below.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EstimateErrors {
    pub largest: f64,
    pub mean: f64,
}

impl EstimateErrors {
    /// Over all rows that have one; `None` where none has.
    #[must_use]
    pub fn of(rows: &[Row]) -> Option<Self> {
        let errors: Vec<f64> = rows.iter().filter_map(|row| row.estimate_error).map(f64::abs).collect();
        let largest = errors.iter().copied().reduce(f64::max)?;
        Some(Self { largest, mean: thousandths(errors.iter().sum::<f64>() / errors.len() as f64) })
    }
}

/// One request under one data model.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    pub request: ArticleRequest,
    #[serde(serialize_with = "model_name")]
    pub model: DataModel,
    /// Whether a data loader batched the lookups of V1.
    pub batched: bool,
    /// The median, RU.
    pub request_charge: f64,
    #[serde(rename = "requestChargeP99")]
    pub request_charge_p99: f64,
    /// The median that the embedded store estimates for the same requests, RU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_request_charge: Option<f64>,
    /// How far that is from the median that was measured: 0.1 is 10 % above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate_error: Option<f64>,
    /// The median of what the projections were charged because of a command, RU.
    pub projection_charge: f64,
    /// `None` with the data loader, which the article does not have.
    pub article_request_charge: Option<f64>,
    /// How far the median is from the article's figure: 0.1 is 10 % above it.
    pub deviation: Option<f64>,
    pub latency_ms: Quantiles,
    /// What a request with the median charge did.
    pub operations: Vec<FoldedOperation>,
}

/// The middle and the end of many values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantiles {
    pub median: f64,
    pub p99: f64,
}

impl Quantiles {
    /// By nearest rank; zeros of nothing.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |percent: usize| {
            let rank = (values.len() * percent).div_ceil(100).max(1);
            values.get(rank - 1).copied().unwrap_or(0.0)
        };
        Self { median: at(50), p99: at(99) }
    }
}

impl Row {
    /// The row of a request's samples under one plan. Charges are rounded to hundredths, as the service has them.
    #[must_use]
    pub fn of(request: ArticleRequest, plan: ReadPlan, samples: &[Sample]) -> Self {
        let charges = Quantiles::of(samples.iter().map(|sample| sample.ledger.total().0).collect());
        let durations = samples.iter().map(|sample| sample.duration.as_secs_f64() * 1000.0).collect();
        let projections = samples.iter().map(|sample| sample.projection_charge).collect();
        let article = (!plan.batched).then(|| cell(request, plan.model).request_charge);
        let is_typical = |sample: &&Sample| sample.ledger.total().0 >= charges.median;
        let typical = samples
            .iter()
            .filter(is_typical)
            .min_by(|one, other| one.ledger.total().0.total_cmp(&other.ledger.total().0));
        Self {
            request,
            model: plan.model,
            batched: plan.batched,
            request_charge: hundredths(charges.median),
            request_charge_p99: hundredths(charges.p99),
            estimated_request_charge: None,
            estimate_error: None,
            projection_charge: hundredths(Quantiles::of(projections).median),
            article_request_charge: article,
            deviation: article.map(|article| thousandths(charges.median / article - 1.0)),
            latency_ms: Quantiles::of(durations),
            operations: typical.map(|sample| rounded(sample.ledger.folded())).unwrap_or_default(),
        }
    }

    /// Puts the charge of the same request beside this one's, out of the rows of a store that estimates. There is no error
    /// in percent of nothing.
    pub fn put_beside(&mut self, estimated: &[Self]) {
        let is_same = |row: &&Self| (row.request, row.plan()) == (self.request, self.plan());
        let Some(estimate) = estimated.iter().find(is_same).map(|row| row.request_charge) else { return };
        self.estimated_request_charge = Some(estimate);
        self.estimate_error =
            (self.request_charge > 0.0).then(|| thousandths(estimate / self.request_charge - 1.0));
    }

    /// V1, V1 with the data loader, V2 or V3.
    #[must_use]
    pub fn plan(&self) -> &'static str {
        plan_name(ReadPlan { model: self.model, batched: self.batched })
    }
}

/// A plan's name for people.
#[must_use]
pub fn plan_name(plan: ReadPlan) -> &'static str {
    match plan {
        ReadPlan { model: DataModel::V1, batched: false } => "V1",
        ReadPlan { model: DataModel::V1, batched: true } => "V1, data loader",
        ReadPlan { model: DataModel::V2, .. } => "V2",
        ReadPlan { model: DataModel::V3, .. } => "V3",
    }
}

fn rounded(mut operations: Vec<FoldedOperation>) -> Vec<FoldedOperation> {
    for operation in &mut operations {
        operation.request_charge.0 = hundredths(operation.request_charge.0);
    }
    operations
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's serialize_with passes a reference")]
fn model_name<S: serde::Serializer>(model: &DataModel, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(plan_name(ReadPlan { model: *model, batched: false }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onehop_store::{ContainerName, OperationKind, OperationRecord, RequestCharge};

    fn sample(charge: f64) -> Sample {
        let ledger = Arc::new(Ledger::new());
        ledger.record(OperationRecord {
            container: ContainerName("posts"),
            kind: OperationKind::PointRead,
            items: 1,
            physical_partitions: 1,
            charge: RequestCharge(charge),
            source: ChargeSource::Estimated,
        });
        Sample { ledger, duration: Duration::from_millis(2), projection_charge: 0.0 }
    }

    #[test]
    fn quantiles_are_values_that_were_there() {
        let values = (1..=200).rev().map(f64::from).collect();
        assert_eq!(Quantiles::of(values), Quantiles { median: 100.0, p99: 198.0 });
        assert_eq!(Quantiles::of(vec![7.0]), Quantiles { median: 7.0, p99: 7.0 });
        assert_eq!(Quantiles::of(Vec::new()), Quantiles { median: 0.0, p99: 0.0 });
    }

    #[test]
    fn a_row_has_the_median_and_the_operations_of_a_sample_that_has_it() {
        let samples: Vec<Sample> = [9.0, 1.1, 5.0].map(sample).into();
        let row = Row::of(ArticleRequest::Q1, ReadPlan::ALL[3], &samples);
        assert_eq!((row.request_charge, row.deviation), (5.0, Some(4.0)));
        assert_eq!(row.operations[0].request_charge.0, 5.0);
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!(json["model"], "V3");
        assert_eq!(json["latencyMs"]["median"], 2.0);
    }

    #[test]
    fn an_estimate_stands_beside_the_charge_of_the_same_request_under_the_same_plan() {
        let row = |plan, charge| Row::of(ArticleRequest::Q3, ReadPlan::ALL[plan], &[sample(charge)]);
        let estimated = [row(0, 9.0), row(1, 11.0), row(2, 0.5), row(3, 7.0)];
        let mut rows = [row(1, 10.0), row(2, 1.0), row(3, 0.0)];
        rows.iter_mut().for_each(|row| row.put_beside(&estimated));
        let beside = rows.each_ref().map(|row| (row.estimated_request_charge, row.estimate_error));
        assert_eq!(beside, [(Some(11.0), Some(0.1)), (Some(0.5), Some(-0.5)), (Some(7.0), None)]);
        assert_eq!(EstimateErrors::of(&rows), Some(EstimateErrors { largest: 0.5, mean: 0.3 }));
        assert_eq!(EstimateErrors::of(&estimated), None);
    }

    #[test]
    fn the_data_loader_has_no_figure_in_the_article() {
        let row = Row::of(ArticleRequest::Q3, ReadPlan::ALL[1], &[sample(1.0)]);
        assert_eq!((row.article_request_charge, row.deviation), (None, None));
    }
}
