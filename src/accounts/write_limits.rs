//! Rate limits on writes: how many writes of each kind one account may make in a window, by token buckets in
//! bounded memory. Each domain declares its kinds as [`WriteLimit`]s. Its callers state the kind of a write
//! and its success.

use std::collections::HashMap;
use std::time::Duration;

use onehop_runtime::token_buckets::{BucketRate, TokenBuckets};

use super::account_id::AccountId;

/// Limit of remembered accounts for each kind of write. Each takes about 200 bytes.
pub const REMEMBERED_MAX: usize = 65_536;

/// A kind of write with a limit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteLimit {
    /// The name of the limit, such as `posts-per-user`.
    pub name: &'static str,
    /// The writes, in words for clients.
    pub what: &'static str,
    /// The most writes of one account in the window.
    pub max: u32,
    pub window: WriteWindow,
}

/// The time in which there may be so many writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteWindow {
    Minute,
    Hour,
}

impl WriteWindow {
    fn length(self) -> Duration {
        match self {
            Self::Minute => Duration::from_secs(60),
            Self::Hour => Duration::from_secs(3600),
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Minute => "a minute",
            Self::Hour => "an hour",
        }
    }
}

/// The scale of the declared limits, and the limits with another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteLimits {
    percent: u32,
    others: Vec<(&'static str, u32)>,
}

impl WriteLimits {
    /// Any number of writes.
    pub const NONE: Self = Self::in_percent(0);

    /// The declared limits in percent of themselves, at least one write of each kind; 0 for any number of
    /// writes.
    #[must_use]
    pub const fn in_percent(percent: u32) -> Self {
        Self { percent, others: Vec::new() }
    }

    /// The same with another value of one limit; 0 for any number of writes.
    #[must_use]
    pub fn with(mut self, limit: &WriteLimit, max: u32) -> Self {
        self.others.push((limit.name, max));
        self
    }

    fn max(&self, limit: &WriteLimit) -> u32 {
        let other = self.others.iter().find(|(name, _)| *name == limit.name);
        other.map_or_else(|| limit.max.saturating_mul(self.percent).div_ceil(100), |(_, max)| *max)
    }
}

impl Default for WriteLimits {
    fn default() -> Self {
        Self::in_percent(100)
    }
}

/// Too many writes of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("You can make at most {max} {what} {window} (limit {limit}). Try again later.")]
pub struct TooManyWrites {
    /// The name of the limit, such as `posts-per-user`.
    pub limit: &'static str,
    pub max: u32,
    /// When the same write may be made.
    pub retry_after: Duration,
    what: &'static str,
    window: &'static str,
}

/// Counts the writes of accounts.
#[derive(Debug)]
pub struct AccountWrites {
    /// Limits without a bucket are missing.
    kinds: HashMap<&'static str, KindLimit>,
}

#[derive(Debug)]
struct KindLimit {
    max: u32,
    buckets: TokenBuckets<AccountId>,
}

impl AccountWrites {
    /// Counts writes of these kinds.
    #[must_use]
    pub fn new<'a>(declared: impl IntoIterator<Item = &'a WriteLimit>, limits: &WriteLimits) -> Self {
        let kinds = declared.into_iter().map(|limit| (limit, limits.max(limit)));
        let kinds = kinds.filter(|(_, max)| *max > 0).map(|(limit, max)| {
            let capacity = f64::from(max);
            let rate = BucketRate { per_second: capacity / limit.window.length().as_secs_f64(), capacity };
            (limit.name, KindLimit { max, buckets: TokenBuckets::new(rate, REMEMBERED_MAX) })
        });
        Self { kinds: kinds.collect() }
    }

    /// Counts a write.
    ///
    /// # Errors
    /// The account has made too many of this kind.
    pub fn take(&self, limit: &WriteLimit, account: AccountId, now_ms: i64) -> Result<(), TooManyWrites> {
        let Some(KindLimit { max, buckets }) = self.kinds.get(limit.name) else { return Ok(()) };
        buckets.take(&account, 1.0, now_ms).map_err(|retry_after| TooManyWrites {
            limit: limit.name,
            max: *max,
            retry_after,
            what: limit.what,
            window: limit.window.text(),
        })
    }

    /// Does not count a write after all: it was refused.
    pub fn give_back(&self, limit: &WriteLimit, account: AccountId, now_ms: i64) {
        if let Some(kind) = self.kinds.get(limit.name) {
            kind.buckets.give_back(&account, 1.0, now_ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const NOW_MS: i64 = 1_800_000_000_000;
    const POSTS: WriteLimit =
        WriteLimit { name: "posts-per-user", what: "posts", max: 10, window: WriteWindow::Minute };
    const RENAMES: WriteLimit =
        WriteLimit { name: "renames-per-user", what: "renames", max: 5, window: WriteWindow::Hour };

    fn writes(limits: &WriteLimits) -> AccountWrites {
        AccountWrites::new([&POSTS, &RENAMES], limits)
    }

    fn user(number: u128) -> AccountId {
        AccountId::user(Uuid::from_u128(number))
    }

    #[test]
    fn each_account_has_so_many_writes_of_each_kind() {
        let writes = writes(&WriteLimits::default().with(&POSTS, 2));
        assert!(writes.take(&POSTS, user(1), NOW_MS).is_ok());
        assert!(writes.take(&POSTS, user(1), NOW_MS).is_ok());
        let refused = writes.take(&POSTS, user(1), NOW_MS).unwrap_err();
        assert_eq!((refused.limit, refused.max), ("posts-per-user", 2));
        assert_eq!(refused.retry_after, Duration::from_secs(30));
        assert_eq!(
            refused.to_string(),
            "You can make at most 2 posts a minute (limit posts-per-user). Try again later."
        );
        assert!(writes.take(&RENAMES, user(1), NOW_MS).is_ok(), "another kind");
        assert!(writes.take(&POSTS, user(2), NOW_MS).is_ok(), "another user");
        let customer = AccountId::customer(Uuid::from_u128(1));
        assert!(writes.take(&POSTS, customer, NOW_MS).is_ok(), "another kind of account");
        assert!(writes.take(&POSTS, user(1), NOW_MS + 30_000).is_ok(), "later");
    }

    #[test]
    fn a_write_that_is_given_back_does_not_count() {
        let writes = writes(&WriteLimits::default().with(&RENAMES, 1));
        for _ in 0..3 {
            assert!(writes.take(&RENAMES, user(1), NOW_MS).is_ok());
            writes.give_back(&RENAMES, user(1), NOW_MS);
        }
        assert!(writes.take(&RENAMES, user(1), NOW_MS).is_ok());
        let refused = writes.take(&RENAMES, user(1), NOW_MS).unwrap_err();
        assert_eq!(refused.retry_after, Duration::from_secs(3600));
    }

    #[test]
    fn limits_in_percent_leave_at_least_one_write() {
        let maxima = |percent| [&POSTS, &RENAMES].map(|limit| WriteLimits::in_percent(percent).max(limit));
        assert_eq!((maxima(100), maxima(0), maxima(10)), ([10, 5], [0, 0], [1, 1]));
    }

    #[test]
    fn without_limits_any_number_is_taken() {
        let writes = writes(&WriteLimits::NONE);
        for _ in 0..1_000 {
            assert!(writes.take(&POSTS, user(1), NOW_MS).is_ok());
        }
    }
}
