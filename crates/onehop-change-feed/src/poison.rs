//! Poison messages: why a change cannot be projected in any state of the store. Such a change becomes a dead
//! letter with its cause. A fault of the store is no poison message: it fails the page.

use serde::{Deserialize, Serialize};

use super::projection::ProjectionError;
use onehop_store::{Fault, FaultKind, Rejection};

/// Why a change cannot be projected, as its dead letter records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DeadLetterCause {
    /// The projection returned an error.
    Projection,
    /// The projection took more steps than it may.
    StepLimit,
    /// The store refused a write for its content (an item or a batch that is too large, an invalid id), or
    /// again and again while no item changed that the projection reads.
    WriteRefused,
    /// A logical partition that the change writes to holds as much as it can.
    PartitionFull,
    /// An item that the change needs is damaged, or gone with its kept body.
    Damaged,
    /// The store does not understand a request that the projection made.
    RequestRefused,
    /// A handler gave the change up.
    Handler,
    /// A cause that a later release knows.
    #[serde(other)]
    Other,
}

/// A change that cannot be projected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Poison {
    pub(super) cause: DeadLetterCause,
    pub(super) error: String,
}

impl Poison {
    fn new(cause: DeadLetterCause, error: impl ToString) -> Self {
        Self { cause, error: error.to_string() }
    }

    pub(super) fn too_many_steps(steps_max: usize) -> Self {
        Self::new(DeadLetterCause::StepLimit, format!("no end after {steps_max} steps"))
    }

    pub(super) fn given_up_by_handler(error: String) -> Self {
        Self { cause: DeadLetterCause::Handler, error }
    }

    /// An expired item whose body is not there.
    pub(super) fn lost_body(error: String) -> Self {
        Self { cause: DeadLetterCause::Damaged, error }
    }

    pub(super) fn refused_write(reason: &Rejection) -> Self {
        Self::new(DeadLetterCause::WriteRefused, format!("an intended write was refused: {reason}"))
    }

    /// A write that contradicts the projection's reads: no other writer was first.
    pub(super) fn refused_without_race(reason: &Rejection) -> Self {
        let error = format!("a write is refused although nothing that was read changes: {reason}");
        Self::new(DeadLetterCause::WriteRefused, error)
    }

    /// The poison message that a fault stands for, or the fault where it lies with the store.
    pub(super) fn of_fault(fault: Fault) -> Result<Self, Fault> {
        if fault.kind.is_of_the_store() {
            return Err(fault);
        }
        let cause = match fault.kind {
            FaultKind::PartitionFull => DeadLetterCause::PartitionFull,
            FaultKind::Corrupt => DeadLetterCause::Damaged,
            _ => DeadLetterCause::RequestRefused,
        };
        Ok(Self::new(cause, fault))
    }
}

impl From<ProjectionError> for Poison {
    fn from(error: ProjectionError) -> Self {
        Self::new(DeadLetterCause::Projection, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_of_a_later_release_can_be_read() {
        let cause: DeadLetterCause = serde_json::from_str("\"SOMETHING_NEW\"").expect("a cause");
        assert_eq!(cause, DeadLetterCause::Other);
    }
}
