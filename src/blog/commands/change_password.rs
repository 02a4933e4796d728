//! Changing a password. It ends every session of the user: first the new hash is stored, then the sessions are replaced by a new one.
//! A sign-in that compared the old hash starts its session before the sessions are replaced, or finds the new hash afterwards.
//!
//! The hash lies in the reservation of the username, and a rename copies it to the next one. The version of the password
//! says which copy is the latest, whichever of both is faster.

use crate::accounts::hashing_queue::HashingCaller;
use crate::accounts::password::{Password, PasswordHash};
use crate::blog::containers::ACCOUNTS;
use crate::blog::ids::UserId;
use crate::blog::items::{AccountItem, UserItem};
use crate::blog::sessions::{NewSession, Sessions};
use onehop_store::{Ledger, NewItem, PartitionKey, WriteOp};

use super::create_user::stored_hash;
use super::names::{Attempt, UserLookup, normalized};
use super::{CommandError, Commands, Refusal, no_such_user};
use crate::domain::error::contended;

/// How often a change starts again after others changed the user or the reservation.
const ATTEMPTS_MAX: u32 = 16;

/// The passwords of the signed-in user, as typed.
pub struct ChangePassword {
    pub user_id: UserId,
    pub current_password: String,
    pub new_password: String,
    pub caller: HashingCaller,
}

impl Commands {
    /// Changes the password, ends all sessions of the user, and starts another one. Safe to repeat.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `newPassword`; `FORBIDDEN` on `currentPassword` when it is wrong or the user has none;
    /// `UNAUTHENTICATED` when the user does not exist.
    pub async fn change_password(
        &self,
        input: ChangePassword,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<(UserItem, NewSession), CommandError> {
        let new =
            Password::parse(&input.new_password).map_err(|rule| Refusal::bad_input("newPassword", rule))?;
        let (user, account) = self.current_account(input.user_id, ledger).await?;
        let current = Password::attempt(&input.current_password);
        if self.passwords.verify_for(input.caller, current, stored_hash(&account)?).await? {
            let hash = self.passwords.hash_for(input.caller, new).await?;
            self.store_password(&user, &account, &hash, ledger).await?;
        } else if !self.passwords.verify_for(input.caller, new, stored_hash(&account)?).await? {
            // With the new password it would be a repeat: what came before may have ended before the sessions did.
            return Err(Refusal::wrong_password().into());
        }
        let session = sessions.start_only(user.id, ledger).await?;
        Ok((user, session))
    }

    /// The user, and the reservation of the name that the user has now.
    async fn current_account(
        &self,
        id: UserId,
        ledger: &Ledger,
    ) -> Result<(UserItem, AccountItem), CommandError> {
        for _ in 0..ATTEMPTS_MAX {
            let UserLookup::User(stored) = self.names.find(id, ledger).await? else {
                return Err(no_such_user().into());
            };
            if stored.user.pending_username.is_some() {
                self.names.roll_forward(id, ledger).await?;
                continue;
            }
            let name = normalized(&stored.user.username)?;
            if let Some((account, _)) = self.names.reservation(name.as_str(), ledger).await?
                && account.user_id == id
            {
                return Ok((stored.user, account));
            }
        }
        Err(contended("the reservation of a username").into())
    }

    /// Stores the hash in the reservation of the name that the user has, until that is still the user's name afterwards.
    async fn store_password(
        &self,
        user: &UserItem,
        compared: &AccountItem,
        hash: &PasswordHash,
        ledger: &Ledger,
    ) -> Result<(), CommandError> {
        let (hash, version) = (hash.to_stored(), compared.password_version + 1);
        for _ in 0..ATTEMPTS_MAX {
            let (_, account) = self.current_account(user.id, ledger).await?;
            let is_written = account.password_hash.as_ref() == Some(&hash);
            if !is_written && account.password_hash != compared.password_hash {
                // Another change was faster: what was compared is the password no more.
                return Err(Refusal::wrong_password().into());
            }
            if !is_written
                && !self.write_hash(&account.id, user.id, compared, (&hash, version), ledger).await?
            {
                continue;
            }
            let (_, now) = self.current_account(user.id, ledger).await?;
            if now.password_hash.as_ref() == Some(&hash) {
                return Ok(());
            }
        }
        Err(contended("a password").into())
    }

    async fn write_hash(
        &self,
        name: &str,
        user: UserId,
        compared: &AccountItem,
        (hash, version): (&str, u64),
        ledger: &Ledger,
    ) -> Result<bool, CommandError> {
        let Some((account, etag)) = self.names.reservation(name, ledger).await? else { return Ok(false) };
        if account.user_id != user || account.password_hash != compared.password_hash {
            return Ok(false);
        }
        let changed =
            AccountItem { password_hash: Some(hash.to_owned()), password_version: version, ..account };
        let replace = WriteOp::Replace { item: NewItem::encode(name, &changed), if_match: Some(etag) };
        let written = self.names.attempt(ACCOUNTS, &PartitionKey::from(name), replace, ledger).await?;
        Ok(written == Attempt::Written)
    }
}
