//! Time as an argument: the system's clock, a clock that tests move by hand, and the text form of an instant.
//!
//! A clock has two readings. The wall clock is for stored and displayed times, and can be set back or forward
//! while the process runs. The monotonic clock is for durations within the process: expiries, intervals,
//! backoff.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::BoxFuture;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Where the current time comes from.
pub trait Clock: Send + Sync + 'static {
    /// Wall clock: milliseconds since the Unix epoch, UTC. It can be set back or forward while the process
    /// runs.
    fn now_ms(&self) -> i64;

    /// Monotonic clock: milliseconds since an unspecified moment. It is never set back or forward. Only
    /// differences between two readings in one process mean anything.
    fn monotonic_ms(&self) -> i64;

    /// Completes after this long. A clock of a test may let that time pass at once.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }
}

/// The clock of the operating system.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place where the system's time is read")]
    fn now_ms(&self) -> i64 {
        let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since_epoch.map_or(0, |elapsed| i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
    }

    /// The time since the first reading in this process. On Linux it does not count the time that the machine
    /// is suspended.
    fn monotonic_ms(&self) -> i64 {
        static FIRST_READING: LazyLock<Instant> = LazyLock::new(Instant::now);
        i64::try_from(FIRST_READING.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock {
    wall_ms: AtomicI64,
    monotonic_ms: AtomicI64,
}

impl ManualClock {
    /// A clock whose wall clock shows `now_ms`, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn new(now_ms: i64) -> Self {
        Self { wall_ms: AtomicI64::new(now_ms), monotonic_ms: AtomicI64::new(0) }
    }

    /// Lets this many milliseconds pass, on both readings. A negative number lets no time pass.
    pub fn advance_ms(&self, by_ms: i64) {
        self.wall_ms.fetch_add(by_ms.max(0), Ordering::SeqCst);
        self.monotonic_ms.fetch_add(by_ms.max(0), Ordering::SeqCst);
    }

    /// Sets the wall clock forward by this many milliseconds, or back where they are negative. No time
    /// passes.
    pub fn step_wall_ms(&self, by_ms: i64) {
        self.wall_ms.fetch_add(by_ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.wall_ms.load(Ordering::SeqCst)
    }

    fn monotonic_ms(&self) -> i64 {
        self.monotonic_ms.load(Ordering::SeqCst)
    }
}

/// Writes an instant as RFC 3339 in UTC with milliseconds, for example `2026-11-20T09:30:00.125Z`.
/// Such texts sort as their instants do.
#[must_use]
pub fn format_timestamp(unix_ms: i64) -> String {
    let instant = OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_ms) * 1_000_000)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        instant.year(),
        u8::from(instant.month()),
        instant.day(),
        instant.hour(),
        instant.minute(),
        instant.second(),
        instant.millisecond()
    )
}

/// Reads an RFC 3339 instant as milliseconds since the Unix epoch; `None` when it is not one.
#[must_use]
pub fn parse_timestamp(text: &str) -> Option<i64> {
    let instant = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    i64::try_from(instant.unix_timestamp_nanos() / 1_000_000).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_survives_writing_and_reading() {
        for unix_ms in [0, 1_700_000_000_123, 1_795_000_000_000] {
            assert_eq!(parse_timestamp(&format_timestamp(unix_ms)), Some(unix_ms));
        }
        assert_eq!(format_timestamp(1_795_166_400_125), "2026-11-20T09:20:00.125Z");
    }

    #[test]
    fn what_is_no_instant_is_none() {
        assert_eq!(parse_timestamp("yesterday"), None);
    }

    #[test]
    fn a_step_of_the_wall_clock_is_no_passage_of_time() {
        let clock = ManualClock::new(1_800_000_000_000);
        let before = clock.monotonic_ms();
        clock.advance_ms(1_500);
        clock.step_wall_ms(-3_600_000);
        assert_eq!(clock.monotonic_ms() - before, 1_500);
        assert_eq!(clock.now_ms(), 1_800_000_001_500 - 3_600_000);
    }

    #[test]
    fn the_monotonic_clock_of_the_system_never_goes_back() {
        let readings: Vec<_> = (0..1_000).map(|_| SystemClock.monotonic_ms()).collect();
        assert!(readings.is_sorted());
    }
}
