//! Clocks of simulated processes: the paused time of tokio, with a skew, a drift and steps of the wall clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use onehop_runtime::clock::Clock;
use tokio::time::Instant;

/// The wall clock at the start of a run, in Unix ms: in 2027.
pub const START_MS: i64 = 1_800_000_000_000;

/// The clock of a process.
pub struct ProcessClock {
    start: Instant,
    /// Parts in a million by which the clock runs fast, or slow where they are negative.
    drift_ppm: i64,
    skew_ms: AtomicI64,
}

impl ProcessClock {
    pub fn new(start: Instant, skew_ms: i64, drift_ppm: i64) -> Arc<Self> {
        Arc::new(Self { start, drift_ppm, skew_ms: AtomicI64::new(skew_ms) })
    }

    /// Sets the wall clock forward, or back.
    pub fn step_ms(&self, by_ms: i64) {
        self.skew_ms.fetch_add(by_ms, Ordering::Relaxed);
    }
}

impl Clock for ProcessClock {
    fn now_ms(&self) -> i64 {
        START_MS + self.monotonic_ms() + self.skew_ms.load(Ordering::Relaxed)
    }

    fn monotonic_ms(&self) -> i64 {
        let elapsed_ms = i64::try_from(self.start.elapsed().as_millis()).expect("a short run");
        elapsed_ms + elapsed_ms * self.drift_ppm / 1_000_000
    }
}
