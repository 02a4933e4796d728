//! The end of a plan at run time, after which the general executor answers.

use onehop_store::Fault;

/// Something that a plan was not made for: the general executor answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unplanned;

impl From<Fault> for Unplanned {
    fn from(_: Fault) -> Self {
        Self
    }
}
