//! Cost regression: the requests that became dearer since an earlier report of the same study.

use serde_json::Value;

use crate::figure::figure;
use crate::report::StudyReport;

/// A request that became dearer under a design.
#[derive(Debug, Clone, PartialEq)]
pub struct DearerRequest {
    /// The request's name.
    pub request: String,
    /// The plan's name.
    pub plan: String,
    /// RU with read models, before and now.
    pub before: f64,
    /// RU with read models, now.
    pub now: f64,
}

/// A text that is no report.
#[derive(Debug, thiserror::Error)]
pub enum EarlierReportError {
    /// No JSON.
    #[error("the earlier report is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON of another form.
    #[error("the earlier report has no list `rows`: a report in the format JSON is expected")]
    NoRows,
}

impl std::fmt::Display for DearerRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { request, plan, before, now } = self;
        let more = figure((now / before - 1.0) * 100.0);
        write!(formatter, "{request} under {plan}: {now:.2} RU, {before:.2} RU before, {more} % more")
    }
}

/// The requests whose charge with read models grew by more than a share. Requests and designs that only one
/// of the reports has are left out.
///
/// # Errors
/// A text that is no report.
pub fn dearer(
    earlier: &str,
    report: &StudyReport,
    share_max: f64,
) -> Result<Vec<DearerRequest>, EarlierReportError> {
    let earlier: Value = serde_json::from_str(earlier)?;
    let rows = earlier["rows"].as_array().ok_or(EarlierReportError::NoRows)?;
    let charge_before = |request: &str, model: &str, batched: bool| {
        let row = rows.iter().find(|row| {
            row["request"] == request
                && row["model"] == model
                && row["batched"].as_bool().unwrap_or(false) == batched
        })?;
        Some(row["requestCharge"].as_f64()? + row["projectionCharge"].as_f64().unwrap_or(0.0))
    };
    let compare = |row: &crate::measurement::MeasurementRow| {
        let before = charge_before(&row.request, &row.plan.model, row.plan.batched)?;
        let now = row.request_charge + row.projection_charge;
        let is_dearer = now > before * (1.0 + share_max);
        is_dearer.then(|| DearerRequest {
            request: row.request.clone(),
            plan: row.plan.to_string(),
            before,
            now,
        })
    };
    Ok(report.measurements.rows.iter().filter_map(compare).collect())
}
