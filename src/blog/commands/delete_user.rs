//! Deleting an account, by its user, with the password. One conditional write makes the user item the rest of
//! a deleted account; everything else follows by the change feed, and after a crash as well: the projection
//! [`closures`](crate::blog::closures) removes posts, comments, likes, reservations and sessions.

use std::time::Duration;

use crate::accounts::hashing_queue::HashingCaller;
use crate::accounts::password::Password;
use crate::blog::ids::UserId;
use crate::domain::accounts::passwords::wrong_password;
use crate::domain::accounts::sessions::Sessions;
use crate::domain::conditional_write::ATTEMPTS_MAX;
use crate::domain::error::contended;
use onehop_runtime::planted;
use onehop_store::{Fault, Ledger};

use super::create_user::stored_password;
use super::names::{UserLookup, WriteAttempt};
use super::{CommandError, Commands, Refusal};

/// The time after which items of a deleted account are looked for once more: other processes accept its
/// sessions until they check them again, and a request lasts half a minute at most.
const SECOND_REMOVAL_AFTER: Duration = Duration::from_secs(120);

/// The pause before the next attempt where the store does not answer, and the most attempts.
const SECOND_REMOVAL_PAUSE: Duration = Duration::from_secs(30);
const SECOND_REMOVALS_MAX: u32 = 20;

/// The account to delete, and the password as typed.
pub struct DeleteUser {
    pub user_id: UserId,
    pub current_password: String,
    pub caller: HashingCaller,
}

impl Commands {
    /// Deletes the account, and ends its sessions. Posts, comments, likes and names follow in the background.
    /// A repeat finishes a deletion whose answer was lost.
    ///
    /// # Errors
    /// `FORBIDDEN` on `currentPassword` when it is wrong or the user has no password; `UNAUTHENTICATED` when
    /// the user does not exist.
    pub async fn delete_user(
        &self,
        input: DeleteUser,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<(), CommandError> {
        let DeleteUser { user_id, current_password, caller } = input;
        let (_, account) = match self.current_account(user_id, ledger).await {
            Ok(found) => found,
            Err(error) => return self.unless_deleted(user_id, error, sessions, ledger).await,
        };
        let compared = stored_password(&account);
        let password = Password::attempt(&current_password);
        if !self.passwords.verify_for(caller, password, compared.hash()?).await? {
            return Err(wrong_password().into());
        }
        // Before the write, because its answer may be lost and its client may be gone.
        self.remove_later(user_id);
        for _ in 0..ATTEMPTS_MAX {
            let (user, account) = match self.current_account(user_id, ledger).await {
                Ok(found) => found,
                Err(error) => return self.unless_deleted(user_id, error, sessions, ledger).await,
            };
            if !stored_password(&account).is_same(&compared) {
                return Err(wrong_password().into());
            }
            let UserLookup::User(stored) = self.names.find(user_id, ledger).await? else {
                let error = Refusal::no_such_user().into();
                return self.unless_deleted(user_id, error, sessions, ledger).await;
            };
            if stored.user != user
                || self.names.delete_user(&stored, ledger).await? == WriteAttempt::LookAgain
            {
                continue;
            }
            sessions.end_all(user_id.into(), ledger).await?;
            return Ok(());
        }
        Err(contended("a user").into())
    }

    /// Finishes the deletion of an account whose item is replaced already: ends its sessions, and refuses its
    /// commands that are under way. Returns whether there is such an account.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn finish_deletion(
        &self,
        user_id: UserId,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        if planted!("lost-deletion-left-half-done") || !self.names.is_deleted(user_id, ledger).await? {
            return Ok(false);
        }
        sessions.end_all(user_id.into(), ledger).await?;
        self.remove_later(user_id);
        Ok(true)
    }

    /// The outcome of a deletion that finds no user.
    async fn unless_deleted(
        &self,
        user_id: UserId,
        error: CommandError,
        sessions: &Sessions,
        ledger: &Ledger,
    ) -> Result<(), CommandError> {
        let is_refusal = matches!(error, CommandError::Rejected(_));
        if is_refusal && self.finish_deletion(user_id, sessions, ledger).await? { Ok(()) } else { Err(error) }
    }

    /// Has the items that other processes still wrote for an account removed, where it is deleted by then. A
    /// process that stops before leaves that to verification.
    fn remove_later(&self, user: UserId) {
        if planted!("deleted-account-not-looked-at-again") {
            return;
        }
        let (names, stop) = (self.names.clone(), self.posts.tasks().soft_stop());
        self.posts.tasks().spawn_contained("second removal of a deleted account", async move {
            let mut wait = SECOND_REMOVAL_AFTER;
            for _ in 0..SECOND_REMOVALS_MAX {
                if stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                    return;
                }
                match names.remove_again(user, &Ledger::new()).await {
                    Ok(_) => return,
                    Err(fault) => {
                        tracing::warn!(%fault, "a deleted account could not be looked at once more")
                    }
                }
                wait = SECOND_REMOVAL_PAUSE;
            }
            tracing::warn!("a deleted account was not looked at once more: verification does");
        });
    }
}
