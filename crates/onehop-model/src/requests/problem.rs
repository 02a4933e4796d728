//! Problems of a request document, each with its code and the expected form.

use thiserror::Error;

use crate::errors::LocatedProblem;
use crate::limits::REQUESTS_MAX;
use crate::syntax::Span;

/// A mistake in a request document.
#[derive(Debug, Clone, PartialEq, Error)]
pub(super) enum RequestProblem {
    #[error("syntax: {0}")]
    Syntax(String),
    #[error(
        "expected a named operation, such as `query TicketPage($id: ID!) @request(perSecond: 50) {{ .. }}`"
    )]
    NotNamed,
    #[error("{0} have no place in requests: expected fields, written out")]
    Unsupported(&'static str),
    #[error("the operation `{0}` stands twice")]
    Duplicate(String),
    #[error("a request document has at most {REQUESTS_MAX} operations")]
    TooMany,
    #[error("the operation `{0}` needs @request(perSecond: 10)")]
    NoRate(String),
    #[error(
        "@request has `perSecond` from 0, `peak` from 1, `skew: UNIFORM` or `skew: ZIPF`, and `designs: [\"V1\"]`; found `{0}`"
    )]
    Rate(String),
    #[error("@request names the design `{0}`, which the study does not have")]
    UnknownDesign(String),
    #[error("unknown field `{field}` of {ty} in the design {design}")]
    UnknownField { ty: String, field: String, design: String },
    #[error("`{field}` of {ty} has no fields of its own")]
    Leaf { ty: String, field: String },
    #[error("`{field}` of {ty} needs a selection of fields: expected `{field} {{ .. }}`")]
    NoSelection { ty: String, field: String },
}

impl RequestProblem {
    /// The kind in words that do not change between releases.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax(_) => "syntax",
            Self::NotNamed => "not-named",
            Self::Unsupported(_) => "unsupported",
            Self::Duplicate(_) => "duplicate",
            Self::TooMany => "too-large",
            Self::NoRate(_) => "no-rate",
            Self::Rate(_) => "rate",
            Self::UnknownDesign(_) => "unknown-design",
            Self::UnknownField { .. } => "unknown-field",
            Self::Leaf { .. } => "leaf",
            Self::NoSelection { .. } => "no-selection",
        }
    }
}

/// Problems while a document is read.
#[derive(Debug, Default)]
pub(super) struct RequestReports(pub Vec<LocatedProblem>);

impl RequestReports {
    pub fn add(&mut self, span: Span, problem: &RequestProblem, suggestion: Option<&str>) {
        self.0.push(LocatedProblem {
            span,
            code: problem.code().to_owned(),
            message: problem.to_string(),
            suggestion: suggestion.map(str::to_owned),
        });
    }
}
