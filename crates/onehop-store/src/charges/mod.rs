//! Request charges: the model that estimates the charge of Azure Cosmos DB for an operation.
//!
//! A [`Calibration`] is a set of constants with their sources and errors. Its methods charge operations by
//! sizes, index terms and numbers. [`IndexTerms`] counts the indexed paths of an item under an
//! [`IndexingPolicy`]. All of it is pure.

mod calibration;
mod constants;
mod model;
mod parts;
mod path_hash;
mod policy;
mod size_curve;
mod terms;
#[cfg(test)]
mod tests;

pub use calibration::{
    CALIBRATION_NAMES, Calibration, CalibrationError, OperationAccuracy, OrderedPageClient, Origin,
};
pub use constants::Constant;
pub use model::{QueryWork, ReadConsistency, RefusedWrite, Replacement};
pub use parts::{ChargePart, ChargeParts};
pub use policy::{IndexingPolicy, PolicyError};
pub use size_curve::SizeCurve;
pub use terms::{IndexTerms, NamedTerm, TermCount, named_terms};
pub(crate) use terms::{TermCollector, TermSeed};
