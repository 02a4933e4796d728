//! Check of a calibration: the error of each estimate beside its published charge, and the errors of each
//! kind of operation.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use onehop_store::charges::{Calibration, OperationAccuracy};

use super::case::ChargeCase;
use super::estimate::estimate;
use super::indexing::CasePolicy;
use super::sql::SqlParts;

/// A charge that was printed in whole RU is met within this, RU.
const ROUNDING: f64 = 0.5;
/// Query charges fell with the engine of about this year.
const PRESENT_ENGINE_SINCE: u32 = 2020;

/// The estimate of one case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseEstimate {
    pub id: String,
    pub operation: String,
    /// RU.
    pub published: f64,
    /// RU; `None` where the model has no estimate.
    pub estimated: Option<f64>,
    /// Absolute relative error: 0.01 is one percent. 1 without an estimate.
    pub error: f64,
    #[serde(skip)]
    kind: &'static str,
}

/// The errors of one kind of operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindErrors {
    pub operation: String,
    pub cases: usize,
    /// The median of the absolute relative errors.
    pub median: f64,
    /// Their ninth decile, by nearest rank.
    pub p90: f64,
}

/// The estimates of a ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerCheck {
    pub cases: Vec<CaseEstimate>,
    pub summary: Vec<KindErrors>,
}

/// The kinds of operation, in the order of the summary.
const KINDS: [&str; 13] = [
    "create",
    "replace",
    "patch",
    "delete",
    "batch",
    "refused",
    "read",
    "query, index-served, since 2020",
    "query, other",
    "count",
    "change feed",
    "stored procedure",
    "other",
];

impl LedgerCheck {
    /// Estimates each case.
    #[must_use]
    pub fn of(cases: &[ChargeCase], calibration: &Calibration) -> Self {
        let cases: Vec<CaseEstimate> = cases.iter().map(|case| CaseEstimate::of(case, calibration)).collect();
        let mut errors: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for case in &cases {
            errors.entry(case.kind).or_default().push(case.error);
        }
        let summary = KINDS.into_iter().filter_map(|kind| Some(KindErrors::of(kind, errors.remove(kind)?)));
        Self { summary: summary.collect(), cases }
    }

    /// The errors as a calibration states them.
    #[must_use]
    pub fn accuracy(&self) -> Vec<OperationAccuracy> {
        let accuracy = |kind: &KindErrors| OperationAccuracy {
            operation: kind.operation.clone(),
            cases: kind.cases,
            median: kind.median,
            p90: kind.p90,
        };
        self.summary.iter().map(accuracy).collect()
    }

    /// For a terminal: a line for each case, then the summary.
    #[must_use]
    pub fn table(&self) -> String {
        let width = self.cases.iter().map(|case| case.id.chars().count()).max().unwrap_or(0).max(4);
        let mut text = format!(
            "{:width$}  {:14} {:>10} {:>10} {:>8}\n",
            "case", "operation", "published", "estimated", "error"
        );
        for CaseEstimate { id, operation, published, estimated, error, .. } in &self.cases {
            let estimated = estimated.map_or_else(|| "none".to_owned(), |charge| format!("{charge:.2}"));
            let _ = writeln!(
                text,
                "{id:width$}  {operation:14} {published:>10.2} {estimated:>10} {:>6.1} %",
                error * 100.0
            );
        }
        text.push('\n');
        text.push_str(&self.summary_table());
        text
    }

    /// The errors of each kind of operation, as a table.
    #[must_use]
    pub fn summary_table(&self) -> String {
        let mut text = format!("{:32} {:>6} {:>9} {:>9}\n", "operation", "cases", "median", "p90");
        for KindErrors { operation, cases, median, p90 } in &self.summary {
            let _ =
                writeln!(text, "{operation:32} {cases:>6} {:>7.2} % {:>7.2} %", median * 100.0, p90 * 100.0);
        }
        text
    }
}

impl CaseEstimate {
    fn of(case: &ChargeCase, calibration: &Calibration) -> Self {
        let estimated = estimate(case, calibration).map(|parts| parts.total().0);
        Self {
            id: case.id.clone(),
            operation: case.operation.clone(),
            published: case.charge,
            estimated,
            error: estimated.map_or(1.0, |estimated| error(case, estimated)),
            kind: kind(case),
        }
    }
}

fn error(case: &ChargeCase, estimated: f64) -> f64 {
    let difference = (estimated - case.charge).abs();
    if case.rounded && difference <= ROUNDING || difference == 0.0 {
        return 0.0;
    }
    if case.charge == 0.0 { 1.0 } else { difference / case.charge }
}

/// The kind of operation under which the summary counts a case.
pub(super) fn kind(case: &ChargeCase) -> &'static str {
    match case.operation.to_lowercase().as_str() {
        "create" | "insert" => "create",
        "upsert" if case.changed_paths.is_none() && case.item_before.is_none() => "create",
        "replace" | "upsert" => "replace",
        "patch" => "patch",
        "delete" => "delete",
        "batch" => "batch",
        "refused" => "refused",
        "read" | "pointread" => "read",
        "query" | "readmany" if is_index_served(case) => "query, index-served, since 2020",
        "query" | "readmany" => "query, other",
        "count" => "count",
        "changefeed" | "feed" => "change feed",
        "storedprocedure" => "stored procedure",
        _ => "other",
    }
}

/// Whether an index of the present engine serves a query: by its SQL, or where the SQL is not given by the
/// case's own word.
fn is_index_served(case: &ChargeCase) -> bool {
    let is_present = case.year().is_none_or(|year| year >= PRESENT_ENGINE_SINCE);
    let Some(sql) = case.sql() else { return is_present && case.filtered == Some(true) };
    let parts = SqlParts::of(sql);
    let is_excluded = CasePolicy::of(case.indexing.as_ref())
        .excluded
        .iter()
        .any(|path| sql.contains(path.trim_start_matches('/').trim_end_matches(['*', '?', '/'])));
    let is_served = if parts.has_from { parts.is_index_served() } else { case.filtered == Some(true) };
    is_present && is_served && !is_excluded
}

impl KindErrors {
    fn of(kind: &str, mut errors: Vec<f64>) -> Self {
        errors.sort_by(f64::total_cmp);
        let cases = errors.len();
        let rank = (cases * 9).div_ceil(10).max(1);
        let median = match cases {
            0 => 0.0,
            _ if cases % 2 == 1 => errors[cases / 2],
            _ => f64::midpoint(errors[cases / 2 - 1], errors[cases / 2]),
        };
        let p90 = errors.get(rank - 1).copied().unwrap_or(0.0);
        Self { operation: kind.to_owned(), cases, median, p90 }
    }
}
