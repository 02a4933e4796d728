//! Stalls: since when, and why, a projection does not get past a page of a feed range. In memory alone.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::page_error::StallCause;
use super::pass::Pass;

/// The stalls of one projection, by the id of the lease and why its pages are read.
#[derive(Debug, Default)]
pub(super) struct Stalls(Mutex<BTreeMap<(String, Pass), Stall>>);

/// Pages that fail in succession.
#[derive(Debug, Clone, Copy)]
struct Stall {
    /// When the first of them failed (monotonic ms).
    since_ms: i64,
    /// Why the last of them failed.
    cause: StallCause,
}

impl Stalls {
    /// A page of this feed range failed.
    pub(super) fn record(&self, (lease, pass): (&str, Pass), cause: StallCause, now_ms: i64) {
        let mut stalls = self.0.lock();
        let stall = stalls.entry((lease.to_owned(), pass)).or_insert(Stall { since_ms: now_ms, cause });
        stall.cause = cause;
    }

    /// A page of this feed range was completed, or this instance reads the range no more.
    pub(super) fn clear(&self, (lease, pass): (&str, Pass)) {
        let mut stalls = self.0.lock();
        if !stalls.is_empty() {
            stalls.remove(&(lease.to_owned(), pass));
        }
    }

    /// The duration of the longest stall, in milliseconds, and its cause.
    pub(super) fn longest(&self, now_ms: i64) -> Option<(u64, StallCause)> {
        let stalls = self.0.lock();
        let longest = stalls.values().min_by_key(|stall| stall.since_ms)?;
        let lasted_ms = u64::try_from(now_ms.saturating_sub(longest.since_ms)).unwrap_or(0);
        Some((lasted_ms, longest.cause))
    }
}

#[cfg(test)]
mod tests {
    use onehop_store::FaultKind;

    use super::*;

    #[test]
    fn the_longest_stall_counts_from_its_first_failure() {
        let (stalls, throttled) = (Stalls::default(), StallCause::Fault(FaultKind::Throttled));
        assert_eq!(stalls.longest(0), None);
        stalls.record(("1", Pass::Live), StallCause::Contention, 1_000);
        stalls.record(("2", Pass::Live), throttled, 2_000);
        stalls.record(("1", Pass::Live), throttled, 3_000);
        assert_eq!(stalls.longest(5_000), Some((4_000, throttled)));
        stalls.clear(("1", Pass::Live));
        assert_eq!(stalls.longest(5_000), Some((3_000, throttled)));
        stalls.clear(("2", Pass::Live));
        assert_eq!(stalls.longest(5_000), None);
    }
}
