//! Rolling a rename forward. The user item says how far it got, so that each process that finds it unfinished
//! can finish it: the command, a later command, or the projection of the user's change.
//!
//! | step | write | state after a crash |
//! |---|---|---|
//! | 0 | user: `pendingUsername` = new | announced; the old name still holds |
//! | 1 | reservations of the new name, the first with the password hash | both names reserved |
//! | 2 | user: `username` = new, `formerUsername` and `formerKeys` = old | done; old reservations lapsed |
//! | 3 | the old reservations are deleted | nothing is left over |

use crate::accounts::username::NameKey;
use crate::blog::ids::UserId;
use crate::blog::items::{AccountItem, UserItem};
use onehop_runtime::planted;
use onehop_store::{ETag, Fault, Ledger};

use super::{
    ATTEMPTS_MAX, ClaimOutcome, StoredUser, UserLookup, UsernameReservations, WriteAttempt, account, parsed,
    read_reservation,
};
use crate::domain::error::contended;

/// Where a user stands once no rename is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RollForward {
    /// There is no such user.
    NoUser,
    /// The announced rename is done, or there was no announcement.
    Settled(UserItem),
    /// Another user held the new name: the announcement was withdrawn.
    Withdrawn(UserItem),
}

/// The result of one pass over a rename.
enum RenamePass {
    Ended(RollForward),
    LookAgain,
}

impl UsernameReservations {
    /// Finishes the user's rename, if one is under way, and releases the name it left. Idempotent; any number
    /// of callers may run it at the same time.
    ///
    /// # Errors
    /// A fault of the store, or `Unavailable` when others kept changing the same items.
    pub async fn roll_forward(&self, id: UserId, ledger: &Ledger) -> Result<RollForward, Fault> {
        for _ in 0..ATTEMPTS_MAX {
            let UserLookup::User(stored) = self.find(id, ledger).await? else {
                return Ok(RollForward::NoUser);
            };
            let Some(pending) = stored.user.pending_username.clone() else {
                self.release_former(&stored.user, ledger).await?;
                return Ok(RollForward::Settled(stored.user));
            };
            if let RenamePass::Ended(end) = self.advance(*stored, pending, ledger).await? {
                return Ok(end);
            }
        }
        Err(contended("a rename"))
    }

    /// Steps 1 to 3 for a user as read.
    async fn advance(
        &self,
        stored: StoredUser,
        pending: String,
        ledger: &Ledger,
    ) -> Result<RenamePass, Fault> {
        let StoredUser { user, etag, .. } = stored;
        let (old, new) = (parsed(&user.username)?, parsed(&pending)?);
        let (old_keys, new_keys) = (old.keys(), new.keys());
        let mut left = Vec::new();
        let mut password = (None, 0);
        for (index, key) in old_keys.iter().enumerate() {
            let is_left = !new_keys.contains(key);
            if index > 0 && !is_left {
                continue;
            }
            match self.own_reservation(key, user.id, ledger).await? {
                Some((reservation, etag)) => {
                    if index == 0 {
                        password = (reservation.password_hash, reservation.password_version);
                    }
                    if is_left {
                        left.push((key.clone(), etag));
                    }
                }
                // Absent, or another's: the process that finished this rename has released it since the user
                // was read.
                None if index == 0 => return Ok(RenamePass::LookAgain),
                None => {}
            }
        }
        for (index, key) in new_keys.iter().enumerate() {
            let (password_hash, password_version) = if index == 0 { password.clone() } else { (None, 0) };
            let wanted = AccountItem { password_version, ..account(key, user.id, password_hash) };
            match self.claim(key, &wanted, ledger).await? {
                ClaimOutcome::Granted => {}
                ClaimOutcome::Held(_) | ClaimOutcome::Imitates => {
                    return self.withdraw(user, &etag, ledger).await;
                }
            }
        }
        if planted!("reservation-released-too-early") {
            for (key, etag) in std::mem::take(&mut left) {
                self.delete_reservation(&key, etag, ledger).await?;
            }
        }
        let renamed = UserItem {
            username: pending,
            version: user.version + 1,
            pending_username: None,
            former_username: Some(old.normalized().as_str().to_owned()),
            former_keys: left_keys(&old_keys, &new_keys),
            ..user
        };
        self.complete(renamed, &etag, left, ledger).await
    }

    /// A reservation of the user. A replica that lags could have a password of before the last change.
    async fn own_reservation(
        &self,
        key: &NameKey,
        user_id: UserId,
        ledger: &Ledger,
    ) -> Result<Option<(AccountItem, ETag)>, Fault> {
        let is_from_replica = planted!("password-taken-along-from-a-replica");
        let store = if is_from_replica { self.store() } else { self.latest() };
        let reservation = read_reservation(store, key.as_str(), ledger).await?;
        Ok(reservation.filter(|(reservation, _)| reservation.user_id == user_id))
    }

    /// Takes the announcement back.
    async fn withdraw(&self, user: UserItem, etag: &ETag, ledger: &Ledger) -> Result<RenamePass, Fault> {
        let user = UserItem { pending_username: None, ..user };
        match self.replace_user(&user, etag, ledger).await? {
            WriteAttempt::Written => Ok(RenamePass::Ended(RollForward::Withdrawn(user))),
            WriteAttempt::LookAgain => Ok(RenamePass::LookAgain),
        }
    }

    /// Steps 2 and 3. The old reservations were read before step 2: should the user claim the old name back
    /// after it, the claim changes them, and the delete is refused.
    async fn complete(
        &self,
        renamed: UserItem,
        etag: &ETag,
        left: Vec<(NameKey, ETag)>,
        ledger: &Ledger,
    ) -> Result<RenamePass, Fault> {
        if self.replace_user(&renamed, etag, ledger).await? == WriteAttempt::LookAgain {
            return Ok(RenamePass::LookAgain);
        }
        for (key, etag) in left {
            self.delete_reservation(&key, etag, ledger).await?;
        }
        Ok(RenamePass::Ended(RollForward::Settled(renamed)))
    }
}

/// The keys of the old name beside its normalised form that the new one does not have.
pub(in crate::blog) fn left_keys(old: &[NameKey], new: &[NameKey]) -> Vec<String> {
    let left = old.iter().skip(1).filter(|key| !new.contains(key));
    left.map(|key| key.as_str().to_owned()).collect()
}
