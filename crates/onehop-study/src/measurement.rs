//! Measurements: requests, plans (data models and how they are read), and the rows of figures that samples
//! become. Pure.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::discards::DiscardedChanges;
use onehop_store::{FoldedOperation, Ledger};

/// A request that each data model serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StudyRequest {
    /// Short, as in a column of a table: `Q3`.
    pub name: String,
    /// Its purpose: `List a user's posts`.
    pub title: String,
    pub is_write: bool,
}

/// A data model, and whether a data loader batches the look-ups of its reads. It shows as the model's name,
/// with `, data loader` where one batches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelVariant {
    pub model: String,
    pub batched: bool,
}

impl ModelVariant {
    /// Without a data loader.
    #[must_use]
    pub fn of_model(model: impl Into<String>) -> Self {
        Self { model: model.into(), batched: false }
    }
}

impl fmt::Display for ModelVariant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.model)?;
        if self.batched { formatter.write_str(", data loader") } else { Ok(()) }
    }
}

/// One run of a request.
pub struct Sample {
    /// The operations of the request.
    pub ledger: Arc<Ledger>,
    pub duration: Duration,
    /// The charge of the projections because of it, RU.
    pub projection_charge: f64,
    /// The changes that the projections brought to the change feed in vain because of it.
    pub discarded: DiscardedChanges,
}

impl Sample {
    /// Of a request that no projection follows.
    #[must_use]
    pub fn alone(ledger: Arc<Ledger>, duration: Duration) -> Self {
        Self { ledger, duration, projection_charge: 0.0, discarded: DiscardedChanges::default() }
    }
}

/// The cost of each of several simultaneous writes in one logical partition, the means, RU.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConcurrentCharge {
    /// The request's name.
    pub request: String,
    #[serde(flatten)]
    pub plan: ModelVariant,
    /// The number of simultaneous writes.
    pub at_once: usize,
    pub request_charge: f64,
    /// The charge of the projections because of it, RU.
    pub projection_charge: f64,
}

impl ConcurrentCharge {
    /// From the charge of all of them together.
    #[must_use]
    pub fn of(request: impl Into<String>, plan: ModelVariant, samples: &[Sample]) -> Self {
        let mean = |sum: f64| hundredths(sum / samples.len().max(1) as f64);
        Self {
            request: request.into(),
            plan,
            at_once: samples.len(),
            request_charge: mean(samples.iter().map(|sample| sample.ledger.total().0).sum()),
            projection_charge: mean(samples.iter().map(|sample| sample.projection_charge).sum()),
        }
    }
}

/// The rows of all requests under all plans, in the order in which they are shown.
#[derive(Debug, Clone, Default)]
pub struct Measurements {
    pub requests: Vec<StudyRequest>,
    pub plans: Vec<ModelVariant>,
    pub rows: Vec<MeasurementRow>,
}

/// The figures of one request under one plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MeasurementRow {
    /// The request's name.
    pub request: String,
    #[serde(flatten)]
    pub plan: ModelVariant,
    /// The median, RU.
    pub request_charge: f64,
    #[serde(rename = "requestChargeP99")]
    pub request_charge_p99: f64,
    /// The median that the embedded store estimates for the same requests, RU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_request_charge: Option<f64>,
    /// Relative error of that estimate: 0.1 is 10 % above the median that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate_error: Option<f64>,
    /// The median charge of the projections because of a write, RU.
    pub projection_charge: f64,
    /// Changes that it brings to the change feed in vain, in the mean of the samples. Their charge is
    /// background work.
    pub discarded: DiscardedChanges,
    /// The figure of a reference (an article, an earlier measurement), RU, if it has a figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_request_charge: Option<f64>,
    /// The deviation of the median from the reference: 0.1 is 10 % above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    pub latency_ms: Quantiles,
    /// Bytes of the items that a request with the median charge reads and writes, where a plan has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    /// The operations of a request with the median charge.
    pub operations: Vec<FoldedOperation>,
}

/// The median and the 99th percentile of many values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Quantiles {
    pub median: f64,
    pub p99: f64,
}

/// Relative errors of estimates, above or below: 0.1 is 10 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EstimateErrors {
    pub largest: f64,
    pub mean: f64,
}

impl Measurements {
    /// The row of a request under a plan.
    #[must_use]
    pub fn row(&self, request: &str, plan: &ModelVariant) -> Option<&MeasurementRow> {
        self.rows.iter().find(|row| row.request == request && row.plan == *plan)
    }

    /// Whether the request of this name writes.
    #[must_use]
    pub fn is_write(&self, request: &str) -> bool {
        self.requests.iter().any(|known| known.name == request && known.is_write)
    }
}

impl EstimateErrors {
    /// Over all rows with a reference; `None` without such a row.
    #[must_use]
    pub fn of(rows: &[MeasurementRow]) -> Option<Self> {
        let errors: Vec<f64> = rows.iter().filter_map(|row| row.estimate_error).map(f64::abs).collect();
        let largest = errors.iter().copied().reduce(f64::max)?;
        Some(Self { largest, mean: thousandths(errors.iter().sum::<f64>() / errors.len() as f64) })
    }
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

impl MeasurementRow {
    /// The same without a reference.
    #[must_use]
    pub fn alone(self) -> Self {
        Self { reference_request_charge: None, deviation: None, ..self }
    }

    /// The figures of samples. Charges are rounded to hundredths, as Azure Cosmos DB states them.
    /// `reference`: RU, of the same request elsewhere.
    #[must_use]
    pub fn of(
        request: impl Into<String>,
        plan: ModelVariant,
        reference: Option<f64>,
        samples: &[Sample],
    ) -> Self {
        let charges = Quantiles::of(samples.iter().map(|sample| sample.ledger.total().0).collect());
        let durations = samples.iter().map(|sample| sample.duration.as_secs_f64() * 1000.0).collect();
        let projections = samples.iter().map(|sample| sample.projection_charge).collect();
        let is_typical = |sample: &&Sample| sample.ledger.total().0 >= charges.median;
        let typical = samples
            .iter()
            .filter(is_typical)
            .min_by(|one, other| one.ledger.total().0.total_cmp(&other.ledger.total().0));
        Self {
            request: request.into(),
            plan,
            request_charge: hundredths(charges.median),
            request_charge_p99: hundredths(charges.p99),
            estimated_request_charge: None,
            estimate_error: None,
            projection_charge: hundredths(Quantiles::of(projections).median),
            discarded: discarded(samples),
            reference_request_charge: reference,
            deviation: reference.map(|reference| thousandths(charges.median / reference - 1.0)),
            latency_ms: Quantiles::of(durations),
            bytes: None,
            operations: typical.map(|sample| rounded(sample.ledger.folded())).unwrap_or_default(),
        }
    }

    /// Puts the charge of the same request beside this one's, out of the rows of a store that estimates.
    /// There is no error in percent of nothing.
    pub fn put_beside(&mut self, estimated: &[Self]) {
        let is_same = |row: &&Self| row.request == self.request && row.plan == self.plan;
        let Some(estimate) = estimated.iter().find(is_same).map(|row| row.request_charge) else { return };
        self.estimated_request_charge = Some(estimate);
        self.estimate_error =
            (self.request_charge > 0.0).then(|| thousandths(estimate / self.request_charge - 1.0));
    }
}

/// Of one request, in the mean.
fn discarded(samples: &[Sample]) -> DiscardedChanges {
    let mut all = DiscardedChanges::default();
    samples.iter().for_each(|sample| all += sample.discarded);
    all.times(1.0 / samples.len().max(1) as f64)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::sample;

    fn plans() -> [ModelVariant; 2] {
        [ModelVariant::of_model("V1"), ModelVariant { model: "V1".to_owned(), batched: true }]
    }

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let values = (1..=200).rev().map(f64::from).collect();
        assert_eq!(Quantiles::of(values), Quantiles { median: 100.0, p99: 198.0 });
        assert_eq!(Quantiles::of(vec![7.0]), Quantiles { median: 7.0, p99: 7.0 });
        assert_eq!(Quantiles::of(Vec::new()), Quantiles::default());
    }

    #[test]
    fn a_row_has_the_median_and_the_operations_of_its_sample() {
        let samples: Vec<Sample> = [9.0, 1.1, 5.0].map(sample).into();
        let row = MeasurementRow::of("Q1", ModelVariant::of_model("V3"), Some(1.0), &samples);
        assert_eq!((row.request_charge, row.deviation), (5.0, Some(4.0)));
        assert_eq!(row.operations[0].request_charge.0, 5.0);
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!((&json["model"], &json["batched"]), (&"V3".into(), &false.into()));
        assert_eq!(json["latencyMs"]["median"], 2.0);
    }

    #[test]
    fn an_estimate_stands_beside_the_charge_of_the_same_request() {
        let [plain, batched] = plans();
        let row = |request: &str, plan: &ModelVariant, charge| {
            MeasurementRow::of(request, plan.clone(), None, &[sample(charge)])
        };
        let estimated = [
            row("Q3", &plain, 9.0),
            row("Q3", &batched, 11.0),
            row("Q4", &plain, 0.5),
            row("Q5", &plain, 7.0),
        ];
        let mut rows = [row("Q3", &batched, 10.0), row("Q4", &plain, 1.0), row("Q5", &plain, 0.0)];
        rows.iter_mut().for_each(|row| row.put_beside(&estimated));
        let beside = rows.each_ref().map(|row| (row.estimated_request_charge, row.estimate_error));
        assert_eq!(beside, [(Some(11.0), Some(0.1)), (Some(0.5), Some(-0.5)), (Some(7.0), None)]);
        assert_eq!(EstimateErrors::of(&rows), Some(EstimateErrors { largest: 0.5, mean: 0.3 }));
        assert_eq!(EstimateErrors::of(&estimated), None);
    }

    #[test]
    fn without_a_reference_there_is_no_deviation() {
        let [plain, batched] = plans();
        let row = MeasurementRow::of("Q3", batched.clone(), None, &[sample(1.0)]);
        assert_eq!((row.reference_request_charge, row.deviation), (None, None));
        assert_eq!([plain, batched].map(|plan| plan.to_string()), ["V1", "V1, data loader"]);
    }
}
