//! A clock that goes on by a millisecond at each reading, so that no two events have the same time.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use onehop_runtime::clock::Clock;

/// A clock whose time goes on by itself and by [`TickingClock::advance`].
pub struct TickingClock {
    ticks_ms: AtomicI64,
    wall_steps_ms: AtomicI64,
}

impl TickingClock {
    /// A clock at this time (Unix ms).
    pub fn at(now_ms: i64) -> Self {
        Self { ticks_ms: AtomicI64::new(now_ms), wall_steps_ms: AtomicI64::new(0) }
    }

    /// Moves the time.
    pub fn advance(&self, by: Duration) {
        self.ticks_ms.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// Sets the wall clock forward by this many milliseconds, or back where they are negative.
    pub fn step_wall_ms(&self, by_ms: i64) {
        self.wall_steps_ms.fetch_add(by_ms, Ordering::SeqCst);
    }
}

impl Clock for TickingClock {
    fn now_ms(&self) -> i64 {
        self.monotonic_ms() + self.wall_steps_ms.load(Ordering::SeqCst)
    }

    fn monotonic_ms(&self) -> i64 {
        self.ticks_ms.fetch_add(1, Ordering::SeqCst)
    }
}
