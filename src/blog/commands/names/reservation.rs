//! Claim of a name: creates its reservation, or takes over one that has lapsed.

use std::time::Duration;

use crate::accounts::username::{NameKey, Username};
use crate::blog::containers::{ACCOUNTS, USERS};
use crate::blog::ids::UserId;
use crate::blog::items::{ABANDONED_TTL_S, AbandonedItem, AccountItem, UserItem, types};
use onehop_store::{ETag, Fault, Ledger, NewItem, PartitionKey, WriteOp};

use super::{
    ATTEMPTS_MAX, Attempt, StoredUser, UserLookup, UsernameReservations, account, has_key, parsed,
    with_latest_password,
};
use crate::domain::error::contended;

/// How long a claim waits, step by step, for the user of a sign-up that may only be slow: together 310 ms, many
/// times what its one write takes.
const PATIENCE: [Duration; 5] = [
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(40),
    Duration::from_millis(80),
    Duration::from_millis(160),
];

/// The end of a claim.
#[derive(Debug)]
pub(in crate::blog::commands) enum ClaimOutcome {
    /// The reservation points to the claimant, and was written by this claim.
    Granted,
    /// Another user has the name, or is about to take it.
    Held(Box<ReservationOwner>),
    /// Another user has a name that looks like it, or is about to take one.
    Imitates,
}

/// Who has a name, or is about to take it.
#[derive(Debug)]
pub(in crate::blog::commands) struct ReservationOwner {
    pub(in crate::blog::commands) reservation: AccountItem,
    pub(in crate::blog::commands) user: UserItem,
}

/// What a judge finds out about a reservation.
enum ReservationState {
    Held(Box<StoredUser>),
    /// No user holds it, and no claim on this version of it can complete.
    Lapsed,
    /// It changed while it was judged.
    Moving,
}

impl UsernameReservations {
    /// Claims a name under all of its keys, for the user of `wanted`, which is the reservation of the first key. When one is
    /// held by another user, the claims made before are given up.
    pub(in crate::blog::commands) async fn claim_name(
        &self,
        name: &Username,
        wanted: &AccountItem,
        ledger: &Ledger,
    ) -> Result<ClaimOutcome, Fault> {
        let keys = name.keys();
        for (index, key) in keys.iter().enumerate() {
            let claim = match index {
                0 => self.claim(key, wanted, ledger).await?,
                _ => self.claim(key, &account(key, wanted.user_id, None), ledger).await?,
            };
            match claim {
                ClaimOutcome::Granted => {}
                held if index == 0 => return Ok(held),
                ClaimOutcome::Held(_) | ClaimOutcome::Imitates => {
                    for claimed in &keys[..index] {
                        self.release(claimed, wanted.user_id, ledger).await?;
                    }
                    return Ok(ClaimOutcome::Imitates);
                }
            }
        }
        Ok(ClaimOutcome::Granted)
    }

    /// Reserves again what is missing of a user's name; says whether something was written. A reservation that was lost
    /// took the password with it.
    ///
    /// # Errors
    /// A fault of the store, or `Unavailable` when others kept changing the same items.
    pub async fn reserve_again(&self, user_id: UserId, ledger: &Ledger) -> Result<bool, Fault> {
        let UserLookup::User(stored) = self.find(user_id, ledger).await? else { return Ok(false) };
        let mut written = false;
        for (index, key) in parsed(&stored.user.username)?.keys().into_iter().enumerate() {
            match self.reservation(key.as_str(), ledger).await? {
                Some((reservation, _)) if reservation.user_id == user_id => continue,
                // It may have another user's password.
                Some(_) if index == 0 => continue,
                Some(_) | None => {}
            }
            let claim = self.claim(&key, &account(&key, user_id, None), ledger).await?;
            written |= matches!(claim, ClaimOutcome::Granted);
        }
        Ok(written)
    }

    /// Points the reservation of a key to the user of `wanted`. Safe to repeat: where it points there already, it
    /// is written again, so that those who judge it look again.
    pub(in crate::blog::commands) async fn claim(
        &self,
        key: &NameKey,
        wanted: &AccountItem,
        ledger: &Ledger,
    ) -> Result<ClaimOutcome, Fault> {
        let partition_key = PartitionKey::from(key.as_str());
        for _ in 0..ATTEMPTS_MAX {
            let create = WriteOp::Create(NewItem::encode(key.as_str(), wanted));
            if self.attempt(ACCOUNTS, &partition_key, create, ledger).await? == Attempt::Written {
                return Ok(ClaimOutcome::Granted);
            }
            let Some((reservation, etag)) = self.reservation(key.as_str(), ledger).await? else { continue };
            if reservation.user_id != wanted.user_id {
                match self.judge(key, reservation.user_id, ledger).await? {
                    ReservationState::Held(holder) => {
                        return Ok(ClaimOutcome::Held(Box::new(ReservationOwner {
                            reservation,
                            user: holder.user,
                        })));
                    }
                    ReservationState::Moving => continue,
                    ReservationState::Lapsed => {}
                }
            }
            let item = NewItem::encode(key.as_str(), &with_latest_password(wanted, reservation));
            let take_over = WriteOp::Replace { item, if_match: Some(etag) };
            if self.attempt(ACCOUNTS, &partition_key, take_over, ledger).await? == Attempt::Written {
                return Ok(ClaimOutcome::Granted);
            }
        }
        Err(contended("the reservation of a username"))
    }

    /// Whether another user holds a key of the name, as far as reads show.
    pub(in crate::blog::commands) async fn is_held_by_another(
        &self,
        name: &Username,
        user_id: UserId,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        for key in name.keys() {
            let Some((reservation, _)) = self.reservation(key.as_str(), ledger).await? else { continue };
            if reservation.user_id == user_id {
                continue;
            }
            match self.find(reservation.user_id, ledger).await? {
                UserLookup::User(holder) if has_key(&holder.user, &key)? => return Ok(true),
                UserLookup::User(_) | UserLookup::Missing | UserLookup::Abandoned => {}
            }
        }
        Ok(false)
    }

    /// Deletes the reservations that the user's last rename left, unless another user holds them by now.
    pub(super) async fn release_former(&self, user: &UserItem, ledger: &Ledger) -> Result<(), Fault> {
        for former in user.former_reservations() {
            let key = NameKey::from_stored(former);
            let Some((reservation, etag)) = self.reservation(former, ledger).await? else { continue };
            if reservation.user_id == user.id && self.has_lapsed(&key, user.id, ledger).await? {
                self.delete_reservation(&key, etag, ledger).await?;
            }
        }
        Ok(())
    }

    /// Gives up a claim for a user who was not created.
    async fn release(&self, key: &NameKey, user_id: UserId, ledger: &Ledger) -> Result<(), Fault> {
        let Some((reservation, etag)) = self.reservation(key.as_str(), ledger).await? else { return Ok(()) };
        if reservation.user_id != user_id {
            return Ok(());
        }
        self.delete_reservation(key, etag, ledger).await
    }

    /// Deletes a reservation that has not changed since it was read.
    pub(super) async fn delete_reservation(
        &self,
        key: &NameKey,
        etag: ETag,
        ledger: &Ledger,
    ) -> Result<(), Fault> {
        let delete = WriteOp::Delete { id: key.as_str().to_owned(), if_match: Some(etag) };
        let _: Attempt = self.attempt(ACCOUNTS, &PartitionKey::from(key.as_str()), delete, ledger).await?;
        Ok(())
    }

    async fn has_lapsed(&self, key: &NameKey, holder: UserId, ledger: &Ledger) -> Result<bool, Fault> {
        Ok(matches!(self.judge(key, holder, ledger).await?, ReservationState::Lapsed))
    }

    /// Judges a reservation that was read just now and points to `holder`.
    async fn judge(&self, key: &NameKey, holder: UserId, ledger: &Ledger) -> Result<ReservationState, Fault> {
        let mut patience = PATIENCE.into_iter();
        loop {
            match self.find(holder, ledger).await? {
                UserLookup::User(stored) if has_key(&stored.user, key)? => {
                    return Ok(ReservationState::Held(stored));
                }
                UserLookup::User(stored) => return self.confirm(*stored, ledger).await,
                UserLookup::Abandoned => return Ok(ReservationState::Lapsed),
                UserLookup::Missing => match patience.next() {
                    Some(delay) => tokio::time::sleep(delay).await,
                    None => return self.abandon(holder, ledger).await,
                },
            }
        }
    }

    /// Rewrites the user as it was read: refused when the user has changed since.
    async fn confirm(&self, stored: StoredUser, ledger: &Ledger) -> Result<ReservationState, Fault> {
        let id = stored.user.id;
        let item = NewItem { id: id.to_string(), body: stored.item.body };
        let rewrite = WriteOp::Replace { item, if_match: Some(stored.etag) };
        Ok(self.attempt(USERS, &id.partition_key(), rewrite, ledger).await?.into())
    }

    /// Blocks the user id of a sign-up: refused when its user was created meanwhile.
    async fn abandon(&self, id: UserId, ledger: &Ledger) -> Result<ReservationState, Fault> {
        let item_type = types::ABANDONED.to_owned();
        let block = AbandonedItem { id, item_type, user_id: id, ttl: ABANDONED_TTL_S };
        let create = WriteOp::Create(NewItem::encode(id.to_string(), &block));
        Ok(self.attempt(USERS, &id.partition_key(), create, ledger).await?.into())
    }
}

impl From<Attempt> for ReservationState {
    fn from(attempt: Attempt) -> Self {
        match attempt {
            Attempt::Written => Self::Lapsed,
            Attempt::LookAgain => Self::Moving,
        }
    }
}
