//! Measurements: requests, plans (data models and how they are read), and the rows of figures that samples
//! become. Pure.

use std::fmt;

use serde::Serialize;

use onehop_store::FoldedOperation;

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

/// The rows of all requests under all plans, in the order in which they are shown.
#[derive(Debug, Clone, Default)]
pub struct Measurements {
    pub requests: Vec<StudyRequest>,
    pub plans: Vec<ModelVariant>,
    pub rows: Vec<MeasurementRow>,
}

/// The figures of one request under one plan, rounded to hundredths as Azure Cosmos DB states charges.
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
    /// The figure of a reference (an article, an earlier measurement), RU, if it has a figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_request_charge: Option<f64>,
    /// The deviation of the median from the reference: 0.1 is 10 % above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// Bytes of the items that a request with the median charge reads and writes.
    pub bytes: f64,
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

impl Measurements {
    /// Puts the figure of a reference beside each charge, RU, where it has one.
    pub fn refer_to(&mut self, reference: &dyn Fn(&MeasurementRow) -> Option<f64>) {
        for row in &mut self.rows {
            row.reference_request_charge = reference(row);
            row.deviation = row
                .reference_request_charge
                .filter(|reference| *reference > 0.0)
                .map(|reference| thousandths(row.request_charge / reference - 1.0));
        }
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

/// Rounded to thousandths.
pub(crate) fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::row;

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
    fn errors_are_those_of_rows_with_an_estimate() {
        let plan = ModelVariant::of_model("V1");
        let mut rows = [row("Q3", &plan, 10.0, 0.0), row("Q4", &plan, 1.0, 0.0)];
        assert_eq!(EstimateErrors::of(&rows), None);
        (rows[0].estimate_error, rows[1].estimate_error) = (Some(0.1), Some(-0.5));
        assert_eq!(EstimateErrors::of(&rows), Some(EstimateErrors { largest: 0.5, mean: 0.3 }));
    }

    #[test]
    fn a_reference_stands_beside_the_charges_that_it_has() {
        let [plain, batched] = plans();
        let rows = vec![row("Q3", &plain, 5.0, 0.0), row("Q3", &batched, 5.0, 0.0)];
        let mut measurements = Measurements { rows, ..Measurements::default() };
        measurements.refer_to(&|row| (!row.plan.batched).then_some(4.0));
        let found: Vec<_> = measurements.rows.iter().map(|row| row.deviation).collect();
        assert_eq!(found, [Some(0.25), None]);
        assert_eq!([plain, batched].map(|plan| plan.to_string()), ["V1", "V1, data loader"]);
    }
}
