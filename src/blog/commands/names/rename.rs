//! Rolling a rename forward. The user item says how far it got, so that whoever finds it unfinished can finish it:
//! the command, a later command, or the projection of the user's change.
//!
//! | step | write | state after a crash |
//! |---|---|---|
//! | 0 | user: `pendingUsername` = new | announced; the old name still holds |
//! | 1 | reservation of the new name, with the password hash | both names reserved |
//! | 2 | user: `username` = new, `formerUsername` = old | done; the old reservation has lapsed |
//! | 3 | the old reservation is deleted | nothing is left over |

use crate::blog::containers::ACCOUNTS;
use crate::blog::ids::UserId;
use crate::blog::items::{AccountItem, UserItem};
use crate::store::{ETag, Fault, Ledger, PartitionKey, WriteOp};

use super::super::error::contended;
use super::{ATTEMPTS_MAX, Attempt, Claim, Found, Names, StoredUser, account, normalized};

/// Where a user stands once no rename is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RollForward {
    /// There is no such user.
    NoUser,
    /// The rename that was announced is done, or there was none.
    Settled(UserItem),
    /// Somebody else held the new name: the announcement was withdrawn.
    Withdrawn(UserItem),
}

/// What one pass over a rename came to.
enum Pass {
    Ended(RollForward),
    LookAgain,
}

impl Names {
    /// Finishes the user's rename, if one is under way, and releases the name it left. Idempotent; any number of
    /// callers may run it at the same time.
    ///
    /// # Errors
    /// A fault of the store, or `Unavailable` when others kept changing the same items.
    pub async fn roll_forward(&self, id: UserId, ledger: &Ledger) -> Result<RollForward, Fault> {
        for _ in 0..ATTEMPTS_MAX {
            let Found::User(stored) = self.find(id, ledger).await? else { return Ok(RollForward::NoUser) };
            let Some(pending) = stored.user.pending_username.clone() else {
                self.release_former(&stored.user, ledger).await?;
                return Ok(RollForward::Settled(stored.user));
            };
            if let Pass::Ended(end) = self.advance(*stored, pending, ledger).await? {
                return Ok(end);
            }
        }
        Err(contended("a rename"))
    }

    /// Steps 1 to 3 for a user as read.
    async fn advance(&self, stored: StoredUser, pending: String, ledger: &Ledger) -> Result<Pass, Fault> {
        let StoredUser { user, etag, .. } = stored;
        let (old, new) = (normalized(&user.username)?, normalized(&pending)?);
        // Absent, or another's: whoever finished this rename has released it since the user was read.
        let Some(former) = self.own_reservation(old.as_str(), user.id, ledger).await? else {
            return Ok(Pass::LookAgain);
        };
        let wanted = account(&new, user.id, former.0.password_hash.clone());
        match self.claim(&new, &wanted, ledger).await? {
            Claim::Held(_) => self.withdraw(user, &etag, ledger).await,
            Claim::Granted => {
                let renamed = UserItem {
                    username: pending,
                    version: user.version + 1,
                    pending_username: None,
                    former_username: Some(old.into_string()),
                    ..user
                };
                self.complete(renamed, &etag, former, ledger).await
            }
        }
    }

    async fn own_reservation(
        &self,
        name: &str,
        user_id: UserId,
        ledger: &Ledger,
    ) -> Result<Option<(AccountItem, ETag)>, Fault> {
        Ok(self.reservation(name, ledger).await?.filter(|(reservation, _)| reservation.user_id == user_id))
    }

    /// Takes the announcement back.
    async fn withdraw(&self, user: UserItem, etag: &ETag, ledger: &Ledger) -> Result<Pass, Fault> {
        let user = UserItem { pending_username: None, ..user };
        match self.replace_user(&user, etag, ledger).await? {
            Attempt::Written => Ok(Pass::Ended(RollForward::Withdrawn(user))),
            Attempt::LookAgain => Ok(Pass::LookAgain),
        }
    }

    /// Steps 2 and 3. The old reservation was read before step 2: should the user claim the old name back after
    /// it, the claim changes the reservation, and the delete is refused.
    async fn complete(
        &self,
        renamed: UserItem,
        etag: &ETag,
        (former, former_etag): (AccountItem, ETag),
        ledger: &Ledger,
    ) -> Result<Pass, Fault> {
        if self.replace_user(&renamed, etag, ledger).await? == Attempt::LookAgain {
            return Ok(Pass::LookAgain);
        }
        let partition_key = PartitionKey::from(former.id.as_str());
        let delete = WriteOp::Delete { id: former.id, if_match: Some(former_etag) };
        self.attempt(ACCOUNTS, &partition_key, delete, ledger).await?;
        Ok(Pass::Ended(RollForward::Settled(renamed)))
    }
}
