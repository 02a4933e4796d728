//! Prediction: the operations that a rule needs for a kind of change, with a sample of the change by which
//! they are measured.

use std::fmt;
use std::sync::Arc;

use onehop_change_feed::Projection;
use onehop_store::ContainerName;

use super::operations::Operations;
use super::profile::DataProfile;
use super::sample::SampleChange;
use crate::rule::CountRule;

/// A projection of a rule, which predicts its own operations.
pub(crate) trait RuleProjection: Projection {
    /// The kinds of change that the projection sees, as they are in this data. A kind of which the data has
    /// no sample is left out.
    fn predict(&self, data: &DataProfile) -> Vec<PredictedChange>;
}

/// The work of a rule for one change.
#[derive(Debug, Clone)]
pub(crate) struct PredictedChange {
    /// The payer of the operations.
    pub(crate) charged: Charged,
    pub(crate) change: String,
    /// The number of items, elements or projections that the change concerns.
    pub(crate) fan_out: usize,
    pub(crate) operations: Operations,
    pub(crate) sample: SampleChange,
}

/// The payer of the operations of a change.
#[derive(Debug, Clone)]
pub(crate) enum Charged {
    /// The projection with this name.
    Projection(&'static str),
    /// The batch of the command that writes a counted item.
    Command(Arc<CountRule>),
    /// All projections that follow this container together.
    ChangeFeed(ContainerName),
}

impl fmt::Display for Charged {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Projection(name) => formatter.write_str(name),
            Self::Command(rule) => write!(formatter, "count `{}`", rule.field),
            Self::ChangeFeed(container) => write!(formatter, "change feed of `{container}`"),
        }
    }
}

/// A name of a type with its indefinite article.
pub(crate) fn a(name: &str) -> String {
    let article = if name.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {name}")
}
