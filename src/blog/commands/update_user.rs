//! C1: rename a user. The new name is announced in the user item and then rolled forward; see
//! [`super::names`]. The names beside posts, comments and likes follow by the change feed.

use crate::accounts::username::Username;
use crate::blog::ids::UserId;
use crate::blog::items::UserItem;
use onehop_runtime::planted;
use onehop_store::Ledger;

use super::names::{Attempt, RollForward, StoredUser, UserLookup, find_user, parsed};
use super::{CommandError, Commands, Refusal};
use crate::domain::error::contended;

/// Attempts of a rename after another writer changed the user.
const RENAME_ATTEMPTS_MAX: u32 = 8;

/// Whether this is the user's name, and no rename is on its way.
fn has_name(user: &UserItem, username: &Username) -> bool {
    user.username == username.as_str() && user.pending_username.is_none()
}

/// The new name of the signed-in user, as typed.
pub struct UpdateUser {
    pub user_id: UserId,
    pub username: String,
}

impl Commands {
    /// Renames the user. A name that differs in case only, and has no other keys, is the same name: it
    /// replaces just the user item.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` and `CONFLICT` on `username`, `FORBIDDEN` on it for a member of staff who is listed
    /// by name; `UNAUTHENTICATED` when the user does not exist.
    pub async fn update_user(&self, input: UpdateUser, ledger: &Ledger) -> Result<UserItem, CommandError> {
        let username = Username::choose(&input.username).map_err(Refusal::invalid_username)?;
        self.protected_names().check_rename(input.user_id, &username)?;
        for _ in 0..RENAME_ATTEMPTS_MAX {
            let found = self.names.find(input.user_id, ledger).await?;
            let found = match found {
                UserLookup::User(stored)
                    if has_name(&stored.user, &username) && !planted!("rename-trusts-a-replica") =>
                {
                    find_user(self.names.latest(), input.user_id, ledger).await?
                }
                found => found,
            };
            let UserLookup::User(stored) = found else { return Err(Refusal::no_such_user().into()) };
            if has_name(&stored.user, &username) {
                return Ok(stored.user);
            }
            if let Some(renamed) = self.rename(*stored, &username, ledger).await? {
                return Ok(renamed);
            }
        }
        Err(contended("a user").into())
    }

    /// One try; `None` when the user has to be read again.
    async fn rename(
        &self,
        stored: StoredUser,
        username: &Username,
        ledger: &Ledger,
    ) -> Result<Option<UserItem>, CommandError> {
        let StoredUser { user, etag, .. } = stored;
        if user.pending_username.is_some() {
            self.names.roll_forward(user.id, ledger).await?;
            return Ok(None);
        }
        let old = parsed(&user.username)?;
        let keys = old.keys();
        if old.normalized() == username.normalized() && username.keys().iter().all(|key| keys.contains(key)) {
            let user = UserItem { username: username.to_string(), version: user.version + 1, ..user };
            let attempt = self.names.replace_user(&user, &etag, ledger).await?;
            return Ok((attempt == Attempt::Written).then_some(user));
        }
        if self.names.is_held_by_another(username, user.id, ledger).await? {
            return Err(Refusal::username_taken().into());
        }
        let announced = UserItem { pending_username: Some(username.to_string()), ..user };
        if self.names.replace_user(&announced, &etag, ledger).await? == Attempt::LookAgain {
            return Ok(None);
        }
        match self.names.roll_forward(announced.id, ledger).await? {
            RollForward::Settled(user) if user.username == username.as_str() => Ok(Some(user)),
            RollForward::Settled(_) => Ok(None),
            RollForward::Withdrawn(_) => Err(Refusal::username_taken().into()),
            RollForward::NoUser => Err(Refusal::no_such_user().into()),
        }
    }
}
