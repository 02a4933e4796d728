//! Commit phases: the parts into which the time of a group commit is divided, so that a histogram shows which
//! of them a slow commit waited in.

use std::time::Duration;

use tokio::time::Instant;

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
    /// The write to the journal with its fsync, and to the memtables: the engine does them in one call, so that
    /// memtables never hold a commit whose fsync has failed.
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

/// A stopwatch of the phases of one commit: the end of a phase begins the next.
#[derive(Debug)]
pub(crate) struct PhaseTimer {
    last: Instant,
    durations: [Duration; CommitPhase::ALL.len()],
}

impl PhaseTimer {
    /// Starts with the first phase, which began at an instant in the past.
    pub(crate) fn since(start: Instant) -> Self {
        let mut timer = Self { last: start, durations: [Duration::ZERO; CommitPhase::ALL.len()] };
        timer.end(CommitPhase::Queue);
        timer
    }

    /// Adds the time since the end of the phase before to this phase.
    pub(crate) fn end(&mut self, phase: CommitPhase) {
        let now = Instant::now();
        self.durations[phase as usize] += now.duration_since(self.last);
        self.last = now;
    }

    /// Every phase with its duration.
    pub(crate) fn durations(&self) -> impl Iterator<Item = (CommitPhase, Duration)> {
        CommitPhase::ALL.into_iter().zip(self.durations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_phase_has_the_time_since_the_one_before() {
        let start = Instant::now();
        tokio::time::advance(Duration::from_millis(3)).await;
        let mut timer = PhaseTimer::since(start);
        tokio::time::advance(Duration::from_millis(2)).await;
        timer.end(CommitPhase::Journal);
        timer.end(CommitPhase::Rotation);
        tokio::time::advance(Duration::from_millis(5)).await;
        timer.end(CommitPhase::Journal);
        let taken: Vec<_> = timer.durations().filter(|(_, duration)| !duration.is_zero()).collect();
        let expected = [(CommitPhase::Queue, 3), (CommitPhase::Journal, 7)];
        assert_eq!(taken, expected.map(|(phase, ms)| (phase, Duration::from_millis(ms))));
    }

    #[test]
    fn phases_are_numbered_in_their_order() {
        for (place, phase) in CommitPhase::ALL.into_iter().enumerate() {
            assert_eq!(phase as usize, place);
        }
    }
}
