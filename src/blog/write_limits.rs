//! Rate limits on writes: how many writes of each kind one user may make in a window, by token buckets in bounded memory.
//! Knows users and kinds; what is written, and whether it succeeds, its callers say.

use std::time::Duration;

use super::ids::UserId;
use onehop_runtime::token_buckets::{BucketRate, TokenBuckets};

/// New posts of one user, in a minute.
pub const POSTS_PER_USER: u32 = 10;
/// Edits of posts of one user, in a minute.
pub const EDITS_PER_USER: u32 = 30;
/// New comments of one user, in a minute.
pub const COMMENTS_PER_USER: u32 = 30;
/// Likes of one user, given and taken back, in a minute.
pub const LIKES_PER_USER: u32 = 120;
/// Deletions of posts and comments by one user, in a minute.
pub const DELETIONS_PER_USER: u32 = 60;
/// Renames of one user, in an hour. Each makes the projections rewrite all that the user has written.
pub const RENAMES_PER_USER: u32 = 5;
/// How many users are remembered for each kind of write. Each takes about 200 bytes.
pub const REMEMBERED_MAX: usize = 65_536;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// A kind of write with a limit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    Post,
    Edit,
    Comment,
    Like,
    Deletion,
    Rename,
}

/// How many writes of each kind a user may make in its window; 0 for any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteLimits {
    pub posts_per_user: u32,
    pub edits_per_user: u32,
    pub comments_per_user: u32,
    pub likes_per_user: u32,
    pub deletions_per_user: u32,
    pub renames_per_user: u32,
}

impl Default for WriteLimits {
    fn default() -> Self {
        Self {
            posts_per_user: POSTS_PER_USER,
            edits_per_user: EDITS_PER_USER,
            comments_per_user: COMMENTS_PER_USER,
            likes_per_user: LIKES_PER_USER,
            deletions_per_user: DELETIONS_PER_USER,
            renames_per_user: RENAMES_PER_USER,
        }
    }
}

impl WriteLimits {
    /// Any number of writes.
    pub const NONE: Self = Self {
        posts_per_user: 0,
        edits_per_user: 0,
        comments_per_user: 0,
        likes_per_user: 0,
        deletions_per_user: 0,
        renames_per_user: 0,
    };

    /// These limits in percent of themselves, at least one write of each kind; 0 for any number of writes.
    #[must_use]
    pub fn in_percent(self, percent: u32) -> Self {
        let scaled = |max: u32| max.saturating_mul(percent).div_ceil(100);
        Self {
            posts_per_user: scaled(self.posts_per_user),
            edits_per_user: scaled(self.edits_per_user),
            comments_per_user: scaled(self.comments_per_user),
            likes_per_user: scaled(self.likes_per_user),
            deletions_per_user: scaled(self.deletions_per_user),
            renames_per_user: scaled(self.renames_per_user),
        }
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

/// Counts the writes of users.
#[derive(Debug)]
pub struct UserWrites {
    posts: KindLimit,
    edits: KindLimit,
    comments: KindLimit,
    likes: KindLimit,
    deletions: KindLimit,
    renames: KindLimit,
}

#[derive(Debug)]
struct KindLimit {
    limit: &'static str,
    what: &'static str,
    window: &'static str,
    max: u32,
    /// `None` where there is no limit.
    buckets: Option<TokenBuckets<UserId>>,
}

impl UserWrites {
    #[must_use]
    pub fn new(limits: WriteLimits) -> Self {
        let minute = |limit, what, max| {
            KindLimit::new(KindLimit { limit, what, window: "a minute", max, buckets: None }, MINUTE)
        };
        let hour = |limit, what, max| {
            KindLimit::new(KindLimit { limit, what, window: "an hour", max, buckets: None }, HOUR)
        };
        Self {
            posts: minute("posts-per-user", "posts", limits.posts_per_user),
            edits: minute("edits-per-user", "edits", limits.edits_per_user),
            comments: minute("comments-per-user", "comments", limits.comments_per_user),
            likes: minute("likes-per-user", "likes", limits.likes_per_user),
            deletions: minute("deletions-per-user", "deletions", limits.deletions_per_user),
            renames: hour("renames-per-user", "renames", limits.renames_per_user),
        }
    }

    /// Counts a write.
    ///
    /// # Errors
    /// The user has made too many of this kind.
    pub fn take(&self, kind: WriteKind, user: UserId, now_ms: i64) -> Result<(), TooManyWrites> {
        let KindLimit { limit, what, window, max, buckets } = self.of(kind);
        let Some(buckets) = buckets else { return Ok(()) };
        buckets.take(&user, 1.0, now_ms).map_err(|retry_after| TooManyWrites {
            limit,
            max: *max,
            retry_after,
            what,
            window,
        })
    }

    /// Does not count a write after all: it was refused.
    pub fn give_back(&self, kind: WriteKind, user: UserId, now_ms: i64) {
        if let Some(buckets) = &self.of(kind).buckets {
            buckets.give_back(&user, 1.0, now_ms);
        }
    }

    fn of(&self, kind: WriteKind) -> &KindLimit {
        match kind {
            WriteKind::Post => &self.posts,
            WriteKind::Edit => &self.edits,
            WriteKind::Comment => &self.comments,
            WriteKind::Like => &self.likes,
            WriteKind::Deletion => &self.deletions,
            WriteKind::Rename => &self.renames,
        }
    }
}

impl KindLimit {
    fn new(limit: Self, window: Duration) -> Self {
        let capacity = f64::from(limit.max);
        let rate = BucketRate { per_second: capacity / window.as_secs_f64(), capacity };
        Self { buckets: (limit.max > 0).then(|| TokenBuckets::new(rate, REMEMBERED_MAX)), ..limit }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const NOW_MS: i64 = 1_800_000_000_000;

    fn user(number: u128) -> UserId {
        UserId(Uuid::from_u128(number))
    }

    #[test]
    fn each_user_has_so_many_writes_of_each_kind() {
        let writes = UserWrites::new(WriteLimits { posts_per_user: 2, ..WriteLimits::default() });
        assert!(writes.take(WriteKind::Post, user(1), NOW_MS).is_ok());
        assert!(writes.take(WriteKind::Post, user(1), NOW_MS).is_ok());
        let refused = writes.take(WriteKind::Post, user(1), NOW_MS).unwrap_err();
        assert_eq!((refused.limit, refused.max), ("posts-per-user", 2));
        assert_eq!(refused.retry_after, Duration::from_secs(30));
        assert_eq!(
            refused.to_string(),
            "You can make at most 2 posts a minute (limit posts-per-user). Try again later."
        );
        assert!(writes.take(WriteKind::Comment, user(1), NOW_MS).is_ok(), "another kind");
        assert!(writes.take(WriteKind::Post, user(2), NOW_MS).is_ok(), "another user");
        assert!(writes.take(WriteKind::Post, user(1), NOW_MS + 30_000).is_ok(), "later");
    }

    #[test]
    fn a_write_that_is_given_back_does_not_count() {
        let writes = UserWrites::new(WriteLimits { renames_per_user: 1, ..WriteLimits::default() });
        for _ in 0..3 {
            assert!(writes.take(WriteKind::Rename, user(1), NOW_MS).is_ok());
            writes.give_back(WriteKind::Rename, user(1), NOW_MS);
        }
        assert!(writes.take(WriteKind::Rename, user(1), NOW_MS).is_ok());
        let refused = writes.take(WriteKind::Rename, user(1), NOW_MS).unwrap_err();
        assert_eq!(refused.retry_after, Duration::from_secs(3600));
    }

    #[test]
    fn limits_in_percent_leave_at_least_one_write() {
        let limits = WriteLimits::default();
        assert_eq!(limits.in_percent(100), limits);
        assert_eq!(limits.in_percent(0), WriteLimits::NONE);
        let few = limits.in_percent(10);
        assert_eq!((few.posts_per_user, few.likes_per_user, few.renames_per_user), (1, 12, 1));
    }

    #[test]
    fn without_limits_any_number_is_taken() {
        let writes = UserWrites::new(WriteLimits::NONE);
        for _ in 0..1_000 {
            assert!(writes.take(WriteKind::Like, user(1), NOW_MS).is_ok());
        }
    }
}
