//! Explanation of a case: its estimated charge as a sum, the paths that were counted, and the error of its
//! kind.

use onehop_store::charges::{Calibration, ChargeParts, NamedTerm, named_terms};

use super::case::ChargeCase;
use super::check::kind;
use super::estimate::estimate;
use super::indexing::CasePolicy;

/// A charge as the sum of its parts, with the paths that were counted.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseExplanation {
    pub parts: ChargeParts,
    /// The indexed paths of the item, by name.
    pub paths: Vec<NamedTerm>,
    /// The ninth decile of the relative errors of its kind; `None` without published charges of the kind.
    pub error: Option<f64>,
}

/// Explains the charge of a case; `None` for an operation that the model does not know.
#[must_use]
pub fn explain(case: &ChargeCase, calibration: &Calibration) -> Option<CaseExplanation> {
    let parts = estimate(case, calibration)?;
    let policy = CasePolicy::of(case.indexing.as_ref());
    let writes = ["create", "insert", "upsert", "delete"].contains(&case.operation.to_lowercase().as_str());
    let item = case.item.as_ref().filter(|_| writes);
    let paths = item.map(|item| named_terms(&policy.policy, item.get())).unwrap_or_default();
    let error = calibration.accuracy_of(kind(case)).map(|accuracy| accuracy.p90);
    Some(CaseExplanation { parts, paths, error })
}
