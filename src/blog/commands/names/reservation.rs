//! Claim of a name: creates its reservation, or takes over a lapsed one.

use async_trait::async_trait;

use crate::accounts::username::{NameKey, Username};
use crate::blog::containers::USERS;
use crate::blog::ids::UserId;
use crate::blog::items::{AbandonedItem, AccountItem, UserItem, types};
use crate::domain::containers::ABANDONED_TTL_S;
use crate::domain::reservations::{HolderLookup, Holders, KeyClaim, Reservations};
use onehop_store::{ETag, Fault, Ledger, NewItem, WriteOp};

use super::{
    StoredUser, UserLookup, UsernameReservations, WriteAttempt, account, has_key, parsed,
    with_latest_password,
};

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

/// The user who has a name, or is about to take it.
#[derive(Debug)]
pub(in crate::blog::commands) struct ReservationOwner {
    pub(in crate::blog::commands) reservation: AccountItem,
    pub(in crate::blog::commands) user: UserItem,
}

impl UsernameReservations {
    /// Claims a name under all of its keys, for the user of `wanted`, which is the reservation of the first
    /// key. When one is held by another user, the claims made before are given up.
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

    /// Reserves the missing keys of a user's name again; returns whether a reservation was written. A
    /// reservation that was lost took the password with it.
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

    /// Points the reservation of a key to the user of `wanted`. Safe to repeat: a reservation that points
    /// there already is written again, so that its other judges look again.
    pub(in crate::blog::commands) async fn claim(
        &self,
        key: &NameKey,
        wanted: &AccountItem,
        ledger: &Ledger,
    ) -> Result<ClaimOutcome, Fault> {
        Ok(match self.reservations().claim(key.as_str(), wanted, ledger).await? {
            KeyClaim::Granted => ClaimOutcome::Granted,
            KeyClaim::Held { reservation, holder } => {
                ClaimOutcome::Held(Box::new(ReservationOwner { reservation, user: holder.user }))
            }
        })
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
        let _: WriteAttempt = self.reservations().delete(key.as_str(), etag, ledger).await?;
        Ok(())
    }

    async fn has_lapsed(&self, key: &NameKey, holder: UserId, ledger: &Ledger) -> Result<bool, Fault> {
        self.reservations().has_lapsed(key.as_str(), holder, ledger).await
    }

    fn reservations(&self) -> Reservations<'_, Self> {
        Reservations { store: &*self.store, holders: self }
    }
}

#[async_trait]
impl Holders for UsernameReservations {
    type Id = UserId;
    type Holder = StoredUser;
    type Reservation = AccountItem;

    fn holder_of(reservation: &AccountItem) -> UserId {
        reservation.user_id
    }

    fn renewed(wanted: &AccountItem, existing: &AccountItem) -> AccountItem {
        with_latest_password(wanted, existing.clone())
    }

    async fn find(&self, id: UserId, ledger: &Ledger) -> Result<HolderLookup<StoredUser>, Fault> {
        Ok(match Self::find(self, id, ledger).await? {
            UserLookup::Missing => HolderLookup::Missing,
            UserLookup::Abandoned => HolderLookup::Abandoned,
            UserLookup::User(stored) => HolderLookup::Found(*stored),
        })
    }

    fn has_key(holder: &StoredUser, key: &str) -> Result<bool, Fault> {
        has_key(&holder.user, &NameKey::from_stored(key))
    }

    async fn confirm(&self, holder: StoredUser, ledger: &Ledger) -> Result<WriteAttempt, Fault> {
        let id = holder.user.id;
        let item = NewItem { id: id.to_string(), body: holder.item.body };
        let rewrite = WriteOp::Replace { item, if_match: Some(holder.etag) };
        self.attempt(USERS, &id.partition_key(), rewrite, ledger).await
    }

    async fn abandon(&self, id: UserId, ledger: &Ledger) -> Result<WriteAttempt, Fault> {
        let item_type = types::ABANDONED.to_owned();
        let block = AbandonedItem { id, item_type, user_id: id, ttl: ABANDONED_TTL_S };
        let create = WriteOp::Create(NewItem::encode(id.to_string(), &block));
        self.attempt(USERS, &id.partition_key(), create, ledger).await
    }
}
