//! Deletion of an account of a served model: its item as any other, then its sessions and its password. The
//! projection of [closed accounts](crate::served::closed_accounts) finishes the deletions of processes that
//! died in between.

use onehop_store::Ledger;

use super::account::account_id;
use super::{ServedCommand, ServedCommands, WrittenItem};
use crate::accounts::hashing_queue::HashingCaller;
use crate::accounts::password::Password;
use crate::domain::accounts::passwords::wrong_password;
use crate::domain::accounts::sessions::Sessions;
use crate::domain::error::CommandError;

impl ServedCommands {
    /// The account that a deletion names, where its caller may delete it.
    ///
    /// # Errors
    /// `BAD_USER_INPUT`, `NOT_FOUND`, `UNAUTHENTICATED`, `FORBIDDEN`; `CONFLICT` where a condition does not
    /// hold.
    pub async fn account_to_delete(
        &self,
        command: &ServedCommand<'_>,
        ledger: &Ledger,
    ) -> Result<WrittenItem, CommandError> {
        let (place, found) = self.deletable(command, ledger).await?;
        Ok(WrittenItem { place, body: found.body.into() })
    }

    /// Checks the password of an account before something that only its owner may do.
    ///
    /// # Errors
    /// `FORBIDDEN` on `currentPassword` when it is wrong.
    pub async fn check_password(
        &self,
        item: &WrittenItem,
        password: &str,
        caller: HashingCaller,
        ledger: &Ledger,
    ) -> Result<(), CommandError> {
        let stored = self.account_passwords.find(account_id(&item.place)?, ledger).await?;
        let hash = stored.map(|stored| stored.hash()).transpose()?.flatten();
        match self.passwords.verify_for(caller, Password::attempt(password), hash).await? {
            true => Ok(()),
            false => Err(wrong_password().into()),
        }
    }

    /// Deletes an account: its item, all its sessions and its password. Its unique values are free at once.
    ///
    /// # Errors
    /// Those of [`ServedCommands::delete`].
    pub async fn delete_account(
        &self,
        command: ServedCommand<'_>,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<WrittenItem, CommandError> {
        let deleted = self.delete(command, ledger).await?;
        let account = account_id(&deleted.place)?;
        sessions.end_all(account, ledger).await?;
        self.account_passwords.remove(account, ledger).await?;
        Ok(deleted)
    }
}
