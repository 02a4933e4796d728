//! Author names: a bounded cache of usernames for users' texts. A name may be a minute old where another
//! process renames its user; the catch-up compares each new item with its author.

use std::sync::Arc;

use quick_cache::sync::Cache;

use crate::blog::ids::UserId;

/// Names that are kept.
const NAMES_MAX: usize = 10_000;
/// The time for which a name is kept, in milliseconds.
const NAME_LIFETIME_MS: i64 = 60_000;

/// Usernames by user id. Cheap to clone; clones share the names.
#[derive(Clone)]
pub(super) struct AuthorNames(Arc<Cache<UserId, CachedName>>);

#[derive(Clone)]
struct CachedName {
    username: Arc<str>,
    /// Monotonic ms.
    expires_ms: i64,
}

impl Default for AuthorNames {
    fn default() -> Self {
        Self(Arc::new(Cache::new(NAMES_MAX)))
    }
}

impl AuthorNames {
    /// The name, if it was read less than a minute before `now_ms`, a reading of the monotonic clock.
    pub(super) fn get(&self, user: UserId, now_ms: i64) -> Option<Arc<str>> {
        let cached = self.0.get(&user)?;
        (now_ms < cached.expires_ms).then_some(cached.username)
    }

    /// Keeps a name that was read at `now_ms`.
    pub(super) fn insert(&self, user: UserId, username: &str, now_ms: i64) {
        self.0.insert(user, CachedName { username: username.into(), expires_ms: now_ms + NAME_LIFETIME_MS });
    }

    /// Drops the name of a user who is renamed.
    pub(super) fn remove(&self, user: UserId) {
        self.0.remove(&user);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_name_is_kept_for_a_minute_or_until_its_user_is_renamed() {
        let (names, ada) = (AuthorNames::default(), UserId(Uuid::from_u128(1)));
        assert_eq!(names.get(ada, 0), None);
        names.insert(ada, "ada", 1_000);
        assert_eq!(names.get(ada, 1_000 + NAME_LIFETIME_MS - 1).as_deref(), Some("ada"));
        assert_eq!(names.get(ada, 1_000 + NAME_LIFETIME_MS), None);
        names.insert(ada, "ada", 1_000);
        names.remove(ada);
        assert_eq!(names.get(ada, 1_000), None);
    }
}
