//! Deletion of a user item: one conditional write makes it the rest of a deleted account. From then on the
//! user's names have lapsed, and another user may take them.

use crate::blog::containers::USERS;
use crate::blog::ids::UserId;
use crate::blog::items::{DeletedUserItem, types};
use crate::domain::error::contended;
use onehop_store::{ETag, Fault, Ledger, NewItem, WriteOp};

use super::{ATTEMPTS_MAX, StoredUser, UsernameReservations, WriteAttempt, parsed};

impl UsernameReservations {
    /// Replaces a user, without a rename under way, by the rest of a deleted account.
    pub(in crate::blog::commands) async fn delete_user(
        &self,
        stored: &StoredUser,
        ledger: &Ledger,
    ) -> Result<WriteAttempt, Fault> {
        let user = &stored.user;
        let keys = parsed(&user.username)?.keys().into_iter().map(|key| key.as_str().to_owned());
        let mut keys: Vec<String> = keys.chain(user.former_reservations().map(str::to_owned)).collect();
        keys.sort_unstable();
        keys.dedup();
        let deleted = DeletedUserItem {
            id: user.id,
            item_type: types::DELETED_USER.to_owned(),
            user_id: user.id,
            version: user.version + 1,
            keys,
            removed: false,
            ttl: None,
        };
        let item = NewItem::encode(user.id.to_string(), &deleted);
        let replace = WriteOp::Replace { item, if_match: Some(stored.etag.clone()) };
        let deleting = self.deleted.begin(user.id);
        self.author_names.remove(user.id);
        let replaced = self.attempt(USERS, &user.id.partition_key(), replace, ledger).await?;
        if replaced == WriteAttempt::Written {
            deleting.done();
            // Again, for readers of the name meanwhile.
            self.author_names.remove(user.id);
        }
        Ok(replaced)
    }

    /// Whether the account of a user is deleted. Its commands are refused from now on.
    pub(in crate::blog::commands) async fn is_deleted(
        &self,
        id: UserId,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let is_deleted = self.rest_of_deleted(id, ledger).await?.is_some();
        if is_deleted {
            self.deleted.begin(id).done();
            self.author_names.remove(id);
        }
        Ok(is_deleted)
    }

    /// The rest of a deleted account.
    async fn rest_of_deleted(
        &self,
        id: UserId,
        ledger: &Ledger,
    ) -> Result<Option<(DeletedUserItem, ETag)>, Fault> {
        let item = self.store().read(USERS, &id.partition_key(), &id.to_string(), ledger).await?;
        let Some(item) = item else { return Ok(None) };
        let rest = item.decode::<DeletedUserItem>().ok();
        Ok(rest.filter(|rest| rest.item_type == types::DELETED_USER).map(|rest| (rest, item.etag)))
    }

    /// Has the items of a deleted account looked for once more, by a write of its rest.
    ///
    /// # Errors
    /// A fault of the store, or `Unavailable` when others kept changing the same item.
    pub async fn remove_again(&self, id: UserId, ledger: &Ledger) -> Result<bool, Fault> {
        for _ in 0..ATTEMPTS_MAX {
            let Some((rest, etag)) = self.rest_of_deleted(id, ledger).await? else { return Ok(false) };
            let again = DeletedUserItem { version: rest.version + 1, removed: false, ttl: None, ..rest };
            let item_again = NewItem::encode(id.to_string(), &again);
            let replace = WriteOp::Replace { item: item_again, if_match: Some(etag) };
            if self.attempt(USERS, &id.partition_key(), replace, ledger).await? == WriteAttempt::Written {
                return Ok(true);
            }
        }
        Err(contended("a deleted account"))
    }

    /// The users whose accounts this process deletes or has deleted.
    pub(in crate::blog::commands) fn deleted_users(&self) -> super::DeletedUsers {
        self.deleted.clone()
    }
}
