//! Plans: the operations of a request under a design, derived from the model and never annotated. A plan is
//! worked out for one subject of the data, so that numbers of items, their sizes and their index terms are
//! real.

mod charges;
mod embedded;
mod operation;
mod planner;
mod read_models;
mod reads;
mod row;
mod shares;
#[cfg(test)]
mod tests;
mod trial;
mod trial_queries;
mod trial_shape;
mod writes;

pub(crate) use operation::interned;
pub use operation::{BusiestShare, PlannedOperation, PlannedScope, RequestPlan};
pub use planner::Planner;
pub(crate) use shares::zipf_first;
pub use trial::{Trial, TrialAction, TrialAnswer, TrialItem, TrialLog, TrialQuery, TrialWrite};
