//! Errors of predicting and measuring request charges.

use onehop_change_feed::{ProcessorError, ProjectionError};
use onehop_store::{Fault, WriteError};

/// Why the request charges of a declaration cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum CostError {
    /// An item of the data that a change is tried on is missing, deleted or of another shape.
    #[error("there is no item of the type {0} to change")]
    NoSample(&'static str),
    /// The projections did not follow.
    #[error("the projections did not follow: {0}")]
    Processor(#[from] ProcessorError),
    /// A rule cannot read an item.
    #[error(transparent)]
    Shape(#[from] ProjectionError),
    /// A sample change was refused.
    #[error("a sample change was not written: {0}")]
    Write(#[from] WriteError),
    /// A fault of the store.
    #[error(transparent)]
    Store(#[from] Fault),
}
