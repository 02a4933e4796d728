//! Poll schedule (pure): when a reader that has nothing left to read looks again.
//!
//! A write of this process wakes the reader of its range, so a look that finds it is followed by rest. A
//! change found by a poll was written by another process, which may write more: then the reader polls sooner
//! for a while.

use std::time::Duration;

use super::settings::{Jitter, Settings};

/// Why a reader looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    /// It has just begun.
    Start,
    /// This process wrote to its range.
    Signal,
    /// Its delay has passed.
    Poll,
}

#[derive(Debug)]
pub(super) struct PollSchedule {
    occasion: Occasion,
    found: bool,
    /// Delays so far, since a poll found changes or a signal led to nothing.
    delays: Option<u32>,
}

impl PollSchedule {
    pub(super) fn new() -> Self {
        Self { occasion: Occasion::Start, found: false, delays: None }
    }

    /// The wait is over.
    pub(super) fn begin(&mut self, occasion: Occasion) {
        self.occasion = occasion;
        self.found = false;
    }

    /// A page held changes.
    pub(super) fn record_changes(&mut self) {
        self.found = true;
    }

    /// The delay before the next poll, after nothing was left to read.
    pub(super) fn next_delay(&mut self, settings: &Settings, jitter: &Jitter) -> Duration {
        let rest = settings.poll.longest;
        match (self.occasion, self.found) {
            // Readers that begin together are spread.
            (Occasion::Start, _) => jitter.spread(rest),
            (Occasion::Signal, true) => rest,
            // The write is not visible yet.
            (Occasion::Signal, false) => {
                self.delays = None;
                jitter.spread(settings.poll.first)
            }
            (Occasion::Poll, true) => {
                self.delays = Some(0);
                jitter.spread(settings.poll_after_changes).min(rest)
            }
            (Occasion::Poll, false) => self.longer(settings),
        }
    }

    /// Twice the delay before, up to the longest.
    fn longer(&mut self, settings: &Settings) -> Duration {
        let rest = settings.poll.longest;
        let Some(delays) = self.delays else { return rest };
        let delay = settings.poll_after_changes.saturating_mul(2_u32.saturating_pow(delays + 1));
        self.delays = (delay < rest).then_some(delays + 1);
        delay.min(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: Duration = Duration::from_secs(5);

    fn delays(schedule: &mut PollSchedule, count: usize) -> Vec<Duration> {
        let (settings, jitter) = (Settings::new("ada"), Jitter::new(7));
        let mut delays = Vec::new();
        for _ in 0..count {
            delays.push(schedule.next_delay(&settings, &jitter));
            schedule.begin(Occasion::Poll);
        }
        delays
    }

    #[test]
    fn at_rest_a_reader_polls_at_the_longest_delay() {
        let delays = delays(&mut PollSchedule::new(), 100);
        assert!(delays[0] >= REST / 2 && delays[0] <= REST, "the first delays are spread");
        assert!(delays[1..].iter().all(|delay| *delay == REST));
    }

    #[test]
    fn a_write_of_this_process_is_followed_by_rest() {
        let mut schedule = PollSchedule::new();
        schedule.begin(Occasion::Signal);
        schedule.record_changes();
        assert_eq!(delays(&mut schedule, 3), [REST; 3]);
    }

    #[test]
    fn a_signal_that_led_to_nothing_is_followed_by_one_more_look() {
        let mut schedule = PollSchedule::new();
        schedule.begin(Occasion::Signal);
        let delays = delays(&mut schedule, 3);
        assert!(delays[0] <= Duration::from_millis(100), "{delays:?}");
        assert_eq!(delays[1..], [REST; 2]);
    }

    #[test]
    fn changes_of_other_processes_shorten_the_next_delays() {
        let mut schedule = PollSchedule::new();
        schedule.begin(Occasion::Poll);
        schedule.record_changes();
        let delays = delays(&mut schedule, 5);
        assert!(delays[0] <= Duration::from_secs(1), "{delays:?}");
        assert_eq!(delays[1..], [2, 4, 5, 5].map(Duration::from_secs));
    }
}
