//! Phase timer: a stopwatch of the phases of one commit.

use std::time::Duration;

use tokio::time::Instant;

use crate::CommitPhase;

/// The time of each phase of one commit: the end of a phase begins the next.
#[derive(Debug)]
pub(super) struct PhaseTimer {
    last: Instant,
    durations: [Duration; CommitPhase::ALL.len()],
}

impl PhaseTimer {
    /// Starts with the first phase, which began at an instant in the past.
    pub(super) fn since(start: Instant) -> Self {
        let mut timer = Self { last: start, durations: [Duration::ZERO; CommitPhase::ALL.len()] };
        timer.end(CommitPhase::Queue);
        timer
    }

    /// Adds the time since the end of the phase before to this phase.
    pub(super) fn end(&mut self, phase: CommitPhase) {
        let now = Instant::now();
        self.durations[phase as usize] += now.duration_since(self.last);
        self.last = now;
    }

    /// Every phase with its duration.
    pub(super) fn durations(&self) -> impl Iterator<Item = (CommitPhase, Duration)> {
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
}
