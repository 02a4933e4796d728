//! C1: rename a user. The new name is announced in the user item and then rolled forward; see
//! [`super::names`]. The names beside posts, comments and likes follow by the change feed.

use crate::accounts::username::Username;
use crate::blog::ids::UserId;
use crate::blog::items::UserItem;
use onehop_runtime::planted;
use onehop_store::Ledger;

use super::names::{RollForward, StoredUser, UserLookup, WriteAttempt, find_user, parsed};
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
        // Others finish an announced rename, and may change the user again before this command looks.
        let mut may_be_done = false;
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
            let UserLookup::User(stored) = found else {
                return Err(CommandError::from(Refusal::no_such_user()).unless_done(may_be_done));
            };
            if has_name(&stored.user, &username) {
                return Ok(stored.user);
            }
            let renamed = self.rename(*stored, &username, ledger).await;
            match renamed.map_err(|error| error.unless_done(may_be_done))? {
                Renaming::Done(user) => return Ok(*user),
                Renaming::NotBegun => {}
                Renaming::Unclear => may_be_done = true,
            }
        }
        Err(contended("a user").into())
    }

    /// One try.
    async fn rename(
        &self,
        stored: StoredUser,
        username: &Username,
        ledger: &Ledger,
    ) -> Result<Renaming, CommandError> {
        let StoredUser { user, etag, .. } = stored;
        if user.pending_username.is_some() {
            self.names.roll_forward(user.id, ledger).await?;
            return Ok(Renaming::NotBegun);
        }
        let old = parsed(&user.username)?;
        let keys = old.keys();
        if old.normalized() == username.normalized() && username.keys().iter().all(|key| keys.contains(key)) {
            let user = UserItem { username: username.to_string(), version: user.version + 1, ..user };
            let attempt = self.names.replace_user(&user, &etag, ledger).await?;
            return Ok(match attempt {
                WriteAttempt::Written => Renaming::done(user),
                WriteAttempt::LookAgain => Renaming::NotBegun,
            });
        }
        if self.names.is_held_by_another(username, user.id, ledger).await? {
            return Err(Refusal::username_taken().into());
        }
        let announced = UserItem { pending_username: Some(username.to_string()), ..user };
        if self.names.replace_user(&announced, &etag, ledger).await? == WriteAttempt::LookAgain {
            return Ok(Renaming::NotBegun);
        }
        match self.names.roll_forward(announced.id, ledger).await? {
            RollForward::Settled(user) if user.username == username.as_str() => Ok(Renaming::done(user)),
            // Others have withdrawn it.
            RollForward::Settled(user) if user.version == announced.version => Ok(Renaming::NotBegun),
            RollForward::Settled(_) | RollForward::NoUser => Ok(Renaming::Unclear),
            RollForward::Withdrawn(_) => Err(Refusal::username_taken().into()),
        }
    }
}

/// The outcome of one try. The user is read again unless it is done.
enum Renaming {
    Done(Box<UserItem>),
    NotBegun,
    /// It was announced, and the user has changed since.
    Unclear,
}

impl Renaming {
    fn done(user: UserItem) -> Self {
        Self::Done(Box::new(user))
    }
}
