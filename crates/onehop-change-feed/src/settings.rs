//! Settings of the processor: limits, intervals and delays.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::notifications::Notifications;
use onehop_runtime::planted;
use onehop_store::limits::PAGE_ITEMS_MAX;

/// The checkpoint interval where leases are shared.
const CHECKPOINT_INTERVAL_SHARED: Duration = Duration::from_secs(5);
/// The checkpoint interval of a processor that is alone with its store: a checkpoint after each page would be
/// a commit of its own for every few commands.
const CHECKPOINT_INTERVAL_ALONE: Duration = Duration::from_secs(1);
/// The rest after a page where leases are shared.
const PAGE_REST_SHARED: Duration = Duration::from_millis(200);
/// The rest after a page of a processor that is alone with its store.
const PAGE_REST_ALONE: Duration = Duration::from_millis(10);

/// Settings of a processor instance.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The owner of acquired leases: an id of this instance, the same again after a restart where that is
    /// possible.
    pub owner: String,
    /// The name that the instances sharing their leases have in common. The projections of two processors
    /// with one lease container have different names.
    pub processor: String,
    /// Whether other instances own leases, too.
    pub sharing: Sharing,
    /// Where the change feed of a source container is read from while it has no lease yet.
    pub start: StartFrom,
    /// The receiver of notifications.
    pub notifications: Notifications,
    /// Changes in a page, at most [`PAGE_ITEMS_MAX`].
    pub page_items_max: usize,
    /// Logical partitions that a projection works on at the same time. Concurrent writes share a commit, so a
    /// small number makes a durable store slow.
    pub concurrent_partitions_max: usize,
    /// Reads or writes of one step that happen at the same time.
    pub concurrent_operations_max: usize,
    /// Retries of a change after transient faults before its page fails. The page is tried again without end.
    pub fault_attempts_max: u32,
    /// Delays between retries of a change after transient faults.
    pub fault_backoff: Backoff,
    /// Delays between retries of a page that failed, which have no end. A longer delay that the store asks
    /// for is kept.
    pub page_backoff: Backoff,
    /// Retries of a change because of stale reads before its page fails. It is high, because a busy item
    /// makes its readers lose many races. A change whose item has changed meanwhile is left to the newer
    /// version, which comes later in the feed.
    pub stale_attempts_max: u32,
    /// Such retries of a change before a step that yields to newer changes does.
    pub yielding_attempts_max: u32,
    /// Delays between retries after lost races.
    pub stale_backoff: Backoff,
    /// Poll interval: the longest delay is that between two polls of a feed range with nothing left to read.
    /// The first is the delay after a signal that led to nothing. Retries of failed balancing rounds double
    /// from the first to the longest.
    pub poll: Backoff,
    /// The delay after a poll that found changes, which another process wrote; it doubles up to the longest
    /// of `poll`.
    pub poll_after_changes: Duration,
    /// The wait of a reader after a signal for further writes, so that a burst makes one page and not many.
    pub gather: Duration,
    /// The rest of a reader after a page with the last changes there were, so that steady writes make few
    /// pages. It does not rest while a position is waited for. `None` says 200 ms where leases are shared,
    /// that is, where each page has a request charge, and otherwise 10 ms.
    pub page_rest: Option<Duration>,
    /// Checkpoint interval: the checkpoints of a feed range that fall into this time are merged into one
    /// write of its lease. After a crash the changes since the last checkpoint are projected again. `None`
    /// says 5 s where leases are shared, and otherwise 1 s.
    pub checkpoint_interval: Option<Duration>,
    /// An empty page moves the checkpoint only when the last one is this old: reading a stretch of other
    /// types again is cheaper than a write for each of them.
    pub empty_checkpoint_after: Duration,
    /// Whether the next page is read while one is worked on; `None` says yes where leases are shared. It
    /// takes the place of another page in memory.
    pub prefetch: Option<bool>,
    /// Cache lifetime of a count of pending changes where leases are shared. Alone, each is counted anew.
    pub pending_cache: Duration,
    /// Feed ranges that a rebuild reads at the same time, and feed ranges that are backfilled at the same
    /// time.
    pub rebuild_ranges_max: usize,
    /// The waits of a drain for changes that other processes work on.
    pub drain_waits_max: u32,
    /// The seed of jitter.
    pub jitter_seed: u64,
}

/// Lease sharing: whether other instances may own leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// A single instance: the store admits one process. Leases are taken over at once and never expire.
    Alone,
    /// Several instances: a lease is honoured while its owner is alive.
    WithOthers {
        /// Acquire interval: between two balancing rounds.
        acquire: Duration,
        /// Expiration interval: the leases of an instance whose heartbeat has not moved for so long may be
        /// acquired by others.
        expire: Duration,
        /// Renew interval: between two heartbeats.
        renew: Duration,
    },
}

impl Sharing {
    /// The intervals of the processors in the .NET and Java clients: acquire 17 s, expire 60 s, renew 13 s.
    #[must_use]
    pub fn with_others() -> Self {
        Self::WithOthers {
            acquire: Duration::from_secs(17),
            expire: Duration::from_secs(60),
            renew: Duration::from_secs(13),
        }
    }

    pub(super) fn acquire(self) -> Option<Duration> {
        match self {
            Self::Alone => None,
            Self::WithOthers { acquire, .. } => Some(acquire),
        }
    }

    pub(super) fn expire(self) -> Option<Duration> {
        match self {
            Self::Alone => None,
            Self::WithOthers { expire, .. } => Some(expire),
        }
    }

    pub(super) fn renew(self) -> Option<Duration> {
        match self {
            Self::Alone => None,
            Self::WithOthers { renew, .. } => Some(renew),
        }
    }
}

/// Where a processor starts to follow a source container. A projection that is added later is served from the
/// beginning all the same, unless it [needs no history](crate::Projection::needs_history).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartFrom {
    /// At the beginning of the change feed.
    #[default]
    Beginning,
    /// With the writes from now on.
    Now,
    /// With the writes at this time (Unix ms) or later, by the clock of the store. Earlier changes may come,
    /// too.
    Time(i64),
}

/// A duration in milliseconds, as the clock counts them.
pub(super) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Delays that double from the first to the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first delay.
    pub first: Duration,
    /// The longest delay.
    pub longest: Duration,
}

impl Backoff {
    /// Delays between these two.
    #[must_use]
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// No delay at all.
    pub const NONE: Self = Self::new(Duration::ZERO, Duration::ZERO);

    /// The delay before the retry with this number, counted from 0.
    #[must_use]
    pub fn delay(self, retry: u32) -> Duration {
        self.first.saturating_mul(1_u32.checked_shl(retry).unwrap_or(u32::MAX)).min(self.longest)
    }
}

impl Settings {
    /// The defaults, for an instance with this id.
    #[must_use]
    pub fn new(owner: impl Into<String>) -> Self {
        Self {
            owner: owner.into(),
            processor: "change-feed".to_owned(),
            sharing: Sharing::Alone,
            start: StartFrom::Beginning,
            notifications: Notifications::default(),
            page_items_max: planted::size(PAGE_ITEMS_MAX, 4),
            concurrent_partitions_max: 64,
            concurrent_operations_max: 64,
            fault_attempts_max: 8,
            fault_backoff: Backoff::new(Duration::from_millis(20), Duration::from_secs(5)),
            page_backoff: Backoff::new(Duration::from_millis(100), Duration::from_secs(10)),
            stale_attempts_max: 64,
            yielding_attempts_max: 8,
            stale_backoff: Backoff::new(Duration::from_millis(1), Duration::from_millis(250)),
            poll: Backoff::new(Duration::from_millis(100), Duration::from_secs(5)),
            poll_after_changes: Duration::from_secs(1),
            gather: Duration::from_millis(2),
            page_rest: None,
            checkpoint_interval: None,
            empty_checkpoint_after: Duration::from_secs(300),
            prefetch: None,
            pending_cache: Duration::from_secs(1),
            rebuild_ranges_max: 4,
            drain_waits_max: 120,
            jitter_seed: 0,
        }
    }

    /// Waits for nothing: for tests and for commands that drain.
    #[must_use]
    pub fn without_delays(mut self) -> Self {
        self.fault_backoff = Backoff::NONE;
        self.page_backoff = Backoff::NONE;
        self.stale_backoff = Backoff::NONE;
        self.poll = Backoff::NONE;
        self.poll_after_changes = Duration::ZERO;
        self.checkpoint_interval = Some(Duration::ZERO);
        self.gather = Duration::ZERO;
        self.page_rest = Some(Duration::ZERO);
        self.pending_cache = Duration::ZERO;
        self
    }

    pub(super) fn checkpoint_interval(&self) -> Duration {
        let default = match self.sharing {
            Sharing::Alone => CHECKPOINT_INTERVAL_ALONE,
            Sharing::WithOthers { .. } => CHECKPOINT_INTERVAL_SHARED,
        };
        self.checkpoint_interval.unwrap_or(default)
    }

    /// The rest after a page, as given or by default.
    #[must_use]
    pub fn page_rest(&self) -> Duration {
        let default = match self.sharing {
            Sharing::Alone => PAGE_REST_ALONE,
            Sharing::WithOthers { .. } => PAGE_REST_SHARED,
        };
        self.page_rest.unwrap_or(default)
    }

    pub(super) fn prefetches(&self) -> bool {
        self.prefetch.unwrap_or(self.sharing != Sharing::Alone)
    }
}

/// Jitter: spreads delays, so that simultaneous failures are not retried together.
#[derive(Debug)]
pub(super) struct Jitter(AtomicU64);

impl Jitter {
    pub(super) fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// A delay between the half and the whole of the given one. SplitMix64 is enough: it protects no secret.
    pub(super) fn spread(&self, delay: Duration) -> Duration {
        let mut bits = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let eighths = u32::try_from((bits ^ (bits >> 31)) % 5).unwrap_or(0);
        delay / 2 + delay * eighths / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_longest() {
        let backoff = Backoff::new(Duration::from_millis(10), Duration::from_millis(50));
        let delays: Vec<_> = (0..5).map(|retry| backoff.delay(retry).as_millis()).collect();
        assert_eq!(delays, [10, 20, 40, 50, 50]);
        assert_eq!(backoff.delay(200), Duration::from_millis(50));
    }

    #[test]
    fn jitter_stays_between_the_half_and_the_whole() {
        let jitter = Jitter::new(7);
        let whole = Duration::from_millis(80);
        for _ in 0..100 {
            let spread = jitter.spread(whole);
            assert!(spread >= whole / 2 && spread <= whole);
        }
    }
}
