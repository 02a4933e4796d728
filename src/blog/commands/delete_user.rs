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
use onehop_store::Ledger;

use super::create_user::stored_password;
use super::names::{Attempt, UserLookup};
use super::{CommandError, Commands, Refusal};

/// The time after which items of a deleted account are looked for once more: other processes accept its
/// sessions until they check them again, and a request lasts half a minute at most.
const SECOND_REMOVAL_AFTER: Duration = Duration::from_secs(120);

/// The account to delete, and the password as typed.
pub struct DeleteUser {
    pub user_id: UserId,
    pub current_password: String,
    pub caller: HashingCaller,
}

impl Commands {
    /// Deletes the account, and ends its sessions. Posts, comments, likes and names follow in the background.
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
        let (_, account) = self.current_account(user_id, ledger).await?;
        let compared = stored_password(&account);
        let password = Password::attempt(&current_password);
        if !self.passwords.verify_for(caller, password, compared.hash()?).await? {
            return Err(wrong_password().into());
        }
        for _ in 0..ATTEMPTS_MAX {
            let (user, account) = self.current_account(user_id, ledger).await?;
            if !stored_password(&account).is_same(&compared) {
                return Err(wrong_password().into());
            }
            let UserLookup::User(stored) = self.names.find(user_id, ledger).await? else {
                return Err(Refusal::no_such_user().into());
            };
            if stored.user != user || self.names.delete_user(&stored, ledger).await? == Attempt::LookAgain {
                continue;
            }
            sessions.end_all(user_id.into(), ledger).await?;
            self.remove_later(user_id);
            return Ok(());
        }
        Err(contended("a user").into())
    }

    /// Has the items that other processes still wrote for a deleted account removed. A process that stops
    /// before leaves that to verification.
    fn remove_later(&self, user: UserId) {
        let (names, stop) = (self.names.clone(), self.posts.tasks().soft_stop());
        self.posts.tasks().spawn_contained("second removal of a deleted account", async move {
            if stop.run_until_cancelled(tokio::time::sleep(SECOND_REMOVAL_AFTER)).await.is_some()
                && let Err(fault) = names.remove_again(user, &Ledger::new()).await
            {
                tracing::warn!(%fault, "a deleted account was not looked at once more: verification does");
            }
        });
    }
}
