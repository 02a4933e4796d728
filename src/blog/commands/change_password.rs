//! Changing a user's password, by the protocol of all [accounts](crate::domain::accounts::password_change).
//!
//! The hash lies in the reservation of the username, and a rename copies it to the next one. The version of
//! the password decides which copy is the latest, in either order of the two writes.

use async_trait::async_trait;

use crate::accounts::hashing_queue::HashingCaller;
use crate::accounts::password::PasswordHash;
use crate::blog::containers::ACCOUNTS;
use crate::blog::ids::UserId;
use crate::blog::items::{AccountItem, UserItem};
use crate::domain::accounts::password_change::{PasswordChange, change_password};
use crate::domain::accounts::passwords::{PasswordHolder, StoredPassword, wrong_password};
use crate::domain::accounts::sessions::{NewSession, Sessions};
use crate::domain::error::contended;
use onehop_runtime::planted;
use onehop_store::{Ledger, NewItem, PartitionKey, Store, WriteOp};

use super::create_user::stored_password;
use super::names::{UserLookup, WriteAttempt, find_user, normalized, read_reservation};
use super::{CommandError, Commands, Refusal};

/// Attempts of a change after others changed the user or the reservation.
const ATTEMPTS_MAX: u32 = 16;

/// The passwords of the signed-in user, as typed.
pub struct ChangePassword {
    pub user_id: UserId,
    /// The name that the user has, of which no password is made.
    pub username: String,
    pub current_password: String,
    pub new_password: String,
    pub caller: HashingCaller,
}

/// The password of a user, in the reservation of the name that the user has at the moment.
struct UserPassword<'a> {
    commands: &'a Commands,
    user: UserId,
}

impl Commands {
    /// Changes the password, ends all sessions of the user, and starts another one. Safe to repeat.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `newPassword`; `FORBIDDEN` on `currentPassword` when it is wrong or the user has
    /// no password; `UNAUTHENTICATED` when the user does not exist.
    pub async fn change_password(
        &self,
        input: ChangePassword,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<NewSession, CommandError> {
        let change = PasswordChange {
            account: input.user_id.into(),
            login: &input.username,
            current_password: &input.current_password,
            new_password: &input.new_password,
            caller: input.caller,
        };
        let holder = UserPassword { commands: self, user: input.user_id };
        let session = change_password((&self.passwords, sessions), &holder, change, ledger).await?;
        self.unless_closed(input.user_id, session, sessions, ledger).await
    }

    /// The user, and the reservation of the name that the user has now.
    pub(super) async fn current_account(
        &self,
        id: UserId,
        ledger: &Ledger,
    ) -> Result<(UserItem, AccountItem), CommandError> {
        self.account_by(self.names.store(), id, ledger).await
    }

    /// The same, as this store has it. Further attempts read the latest commit.
    async fn account_by(
        &self,
        mut store: &dyn Store,
        id: UserId,
        ledger: &Ledger,
    ) -> Result<(UserItem, AccountItem), CommandError> {
        for _ in 0..ATTEMPTS_MAX {
            let UserLookup::User(stored) = find_user(store, id, ledger).await? else {
                return Err(Refusal::no_such_user().into());
            };
            if stored.user.pending_username.is_some() {
                store = self.names.latest();
                self.names.roll_forward(id, ledger).await?;
                continue;
            }
            let name = normalized(&stored.user.username)?;
            let reservation = read_reservation(store, name.as_str(), ledger).await?;
            store = self.names.latest();
            if let Some((account, _)) = reservation
                && account.user_id == id
            {
                return Ok((stored.user, account));
            }
        }
        Err(contended("the reservation of a username").into())
    }

    /// Stores the hash in the reservation of the name that the user has, until that is still the user's name
    /// afterwards.
    async fn store_password(
        &self,
        user: UserId,
        compared: &StoredPassword,
        hash: &PasswordHash,
        ledger: &Ledger,
    ) -> Result<(), CommandError> {
        let wanted = StoredPassword::new("", Some(&hash.to_stored()), compared.version + 1);
        for _ in 0..ATTEMPTS_MAX {
            let (_, account) = self.current_account(user, ledger).await?;
            let now = stored_password(&account);
            if !now.is_same(&wanted) && !now.is_same(compared) {
                // Another change was faster: the compared password is no longer the current one.
                return Err(wrong_password().into());
            }
            if !now.is_same(&wanted) && !self.write_hash((&account.id, user), compared, hash, ledger).await? {
                continue;
            }
            // A rename that was announced before the write takes the former password along.
            let is_at_replica = planted!("second-look-at-a-replica");
            let store = if is_at_replica { self.names.store() } else { self.names.latest() };
            let (_, now) = self.account_by(store, user, ledger).await?;
            if stored_password(&now).is_same(&wanted) {
                return Ok(());
            }
        }
        Err(contended("a password").into())
    }

    async fn write_hash(
        &self,
        (name, user): (&str, UserId),
        compared: &StoredPassword,
        hash: &PasswordHash,
        ledger: &Ledger,
    ) -> Result<bool, CommandError> {
        let Some((account, etag)) = self.names.reservation(name, ledger).await? else { return Ok(false) };
        if account.user_id != user || !stored_password(&account).is_same(compared) {
            return Ok(false);
        }
        let changed = AccountItem {
            password_hash: Some(hash.to_stored()),
            password_version: compared.version + 1,
            ..account
        };
        let replace = WriteOp::Replace { item: NewItem::encode(name, &changed), if_match: Some(etag) };
        let written = self.names.attempt(ACCOUNTS, &PartitionKey::from(name), replace, ledger).await?;
        Ok(written == WriteAttempt::Written)
    }
}

#[async_trait]
impl PasswordHolder for UserPassword<'_> {
    async fn current(&self, ledger: &Ledger) -> Result<StoredPassword, CommandError> {
        let (_, account) = self.commands.current_account(self.user, ledger).await?;
        Ok(stored_password(&account))
    }

    async fn replace(
        &self,
        compared: &StoredPassword,
        hash: &PasswordHash,
        ledger: &Ledger,
    ) -> Result<(), CommandError> {
        self.commands.store_password(self.user, compared, hash, ledger).await
    }
}
