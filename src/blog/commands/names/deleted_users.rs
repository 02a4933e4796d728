//! Deleted users: the accounts that this process deletes or has deleted. Their commands that are under way
//! are refused before they write, so that the removal of their items misses no item of this process.

use std::sync::Arc;

use quick_cache::sync::Cache;

use crate::blog::ids::UserId;

/// Users that are remembered; the least used one is forgotten. A command lasts for seconds.
const REMEMBERED_MAX: usize = 10_000;

/// The users. Cheap to clone; clones share them.
#[derive(Clone)]
pub(in crate::blog::commands) struct DeletedUsers(Arc<Cache<UserId, ()>>);

/// A deletion under way. The user is remembered for good once it is done.
pub(super) struct Deleting<'a> {
    users: &'a DeletedUsers,
    user: UserId,
    is_done: bool,
}

impl Default for DeletedUsers {
    fn default() -> Self {
        Self(Arc::new(Cache::new(REMEMBERED_MAX)))
    }
}

impl DeletedUsers {
    pub(in crate::blog::commands) fn contains(&self, user: UserId) -> bool {
        self.0.get(&user).is_some()
    }

    /// Refuses the commands of a user from now on.
    pub(super) fn begin(&self, user: UserId) -> Deleting<'_> {
        self.0.insert(user, ());
        Deleting { users: self, user, is_done: false }
    }
}

impl Deleting<'_> {
    pub(super) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for Deleting<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.users.0.remove(&self.user);
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_user_whose_deletion_failed_may_write_again() {
        let (users, ada) = (DeletedUsers::default(), UserId(Uuid::from_u128(1)));
        let deleting = users.begin(ada);
        assert!(users.contains(ada));
        drop(deleting);
        assert!(!users.contains(ada));
        users.begin(ada).done();
        assert!(users.contains(ada));
    }
}
