//! Commit phases: the parts into which the time of a group commit is divided, so that a histogram shows which
//! of them a slow commit waited in.

/// A part of the writer's work on a group of requests, in the order in which the parts follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitPhase {
    /// The wait of the group's first request in the writer's queue.
    Queue,
    /// The look at the free space of the disk, and reopening an engine that has failed.
    Admission,
    /// Checks of preconditions, with the reads of blocks that they need.
    Check,
    /// The wait for full memtables and fresh tables that the engine has yet to write out.
    Backpressure,
    /// The write to the journal with its fsync, and to the memtables: the engine does them in one call, so
    /// that memtables never hold a commit whose fsync has failed.
    Journal,
    /// Publication of the view of the commit, and the caches.
    Publication,
    /// The order to write out full memtables.
    Rotation,
}

impl CommitPhase {
    /// All phases in their order.
    pub const ALL: [Self; 7] = [
        Self::Queue,
        Self::Admission,
        Self::Check,
        Self::Backpressure,
        Self::Journal,
        Self::Publication,
        Self::Rotation,
    ];

    /// The name in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Admission => "admission",
            Self::Check => "check",
            Self::Backpressure => "backpressure",
            Self::Journal => "journal",
            Self::Publication => "publication",
            Self::Rotation => "rotation",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_numbered_in_their_order() {
        for (place, phase) in CommitPhase::ALL.into_iter().enumerate() {
            assert_eq!(phase as usize, place);
        }
    }
}
