//! The wait of a subscription for slow subscribers: a budget that waiting uses up and time refills. A burst
//! is waited out; a subscriber that is always slow delays the others by a small part of the time, and no
//! more. Pure: time comes in as an argument.

use std::time::Duration;

use tokio::time::Instant;

/// The part of the passing time that refills the budget.
const REFILL_PARTS: u32 = 10;

/// The rest of the budget.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlowSubscriberBudget {
    whole: Duration,
    left: Duration,
    at: Instant,
}

impl SlowSubscriberBudget {
    /// A full budget.
    pub(super) fn new(whole: Duration, now: Instant) -> Self {
        Self { whole, left: whole, at: now }
    }

    /// The wait that is left now.
    pub(super) fn left(&mut self, now: Instant) -> Duration {
        let refilled = now.saturating_duration_since(self.at) / REFILL_PARTS;
        self.at = now;
        self.left = self.left.saturating_add(refilled).min(self.whole);
        self.left
    }

    /// Notes a wait that has just ended.
    pub(super) fn spend(&mut self, waited: Duration, now: Instant) {
        self.left = self.left.saturating_sub(waited);
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Duration = Duration::from_secs(2);

    #[test]
    fn waiting_uses_it_up_and_time_refills_a_tenth() {
        let start = Instant::now();
        let mut patience = SlowSubscriberBudget::new(WHOLE, start);
        assert_eq!(patience.left(start), WHOLE);
        patience.spend(WHOLE, start + WHOLE);
        assert_eq!(patience.left(start + WHOLE), Duration::ZERO);
        assert_eq!(patience.left(start + WHOLE + Duration::from_secs(5)), Duration::from_millis(500));
        assert_eq!(patience.left(start + Duration::from_secs(3600)), WHOLE, "never more than the whole");
    }

    #[test]
    fn it_cannot_be_overdrawn() {
        let start = Instant::now();
        let mut patience = SlowSubscriberBudget::new(WHOLE, start);
        patience.spend(WHOLE * 3, start);
        assert_eq!(patience.left(start), Duration::ZERO);
    }
}
