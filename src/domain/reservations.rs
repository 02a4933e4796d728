//! Reservations: unique keys across logical partitions, such as usernames and e-mail addresses, by an item
//! for each key in the accounts container (id = key). A crash at any step neither loses a key nor gives it
//! twice.
//!
//! Items of two logical partitions are never written together, so a claim is a sequence of single conditional
//! writes. Other claims have to be able to judge every state between two of them. A key is held by the one
//! holder to whom its reservation points, and only as long as the holder's item has the key. Three rules make
//! that so:
//!
//! 1. *A claim writes the reservation*, even when that points to the claimant already: its ETag changes.
//! 2. *A judge reads the reservation first and the holder second*, then acts with If-Match on the
//!    reservation. Before it calls a reservation lapsed, it rewrites the holder as read, with If-Match: a
//!    read may be old where replicas lag, a conditional write is not. Had the holder announced the key later,
//!    its claim has changed the reservation, and the If-Match fails.
//! 3. *A sign-up is judged by the holder's id.* It writes the reservation first and its holder second. A
//!    judge that finds the holder missing waits a little, then blocks the id with an item: from then on the
//!    sign-up cannot finish (its Create conflicts, and it starts again), and before that the block itself
//!    conflicts.

use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::conditional_write::{self, ATTEMPTS_MAX, WriteAttempt};
use super::containers::ACCOUNTS;
use super::error::contended;
use onehop_store::{ETag, Fault, Ledger, NewItem, PartitionKey, Store, WriteOp};

/// The waits of a claim, step by step, for the holder of a sign-up that may only be slow: together 310 ms,
/// many times the duration of its one write.
const PATIENCE: [Duration; 5] = [
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(40),
    Duration::from_millis(80),
    Duration::from_millis(160),
];

/// The result of looking a holder up by its id.
pub(crate) enum HolderLookup<H> {
    Missing,
    /// A sign-up that was given up: there is no such holder, and never will be.
    Abandoned,
    Found(H),
}

/// The holders of keys, such as users or customers, and their items.
#[async_trait]
pub(crate) trait Holders: Send + Sync {
    type Id: Clone + PartialEq + Send + Sync;
    /// A holder's item as it was read.
    type Holder: Send + Sync;
    /// The stored value of a key.
    type Reservation: Serialize + DeserializeOwned + Send + Sync;

    /// To whom a reservation points.
    fn holder_of(reservation: &Self::Reservation) -> Self::Id;

    /// The value that a claim writes over a reservation that is the claimant's already, or has lapsed.
    fn renewed(wanted: &Self::Reservation, existing: &Self::Reservation) -> Self::Reservation;

    /// The holder with this id.
    async fn find(&self, id: Self::Id, ledger: &Ledger) -> Result<HolderLookup<Self::Holder>, Fault>;

    /// Whether the holder has the key, or has announced it.
    fn has_key(holder: &Self::Holder, key: &str) -> Result<bool, Fault>;

    /// Rewrites the holder as it was read: refused when it has changed since.
    async fn confirm(&self, holder: Self::Holder, ledger: &Ledger) -> Result<WriteAttempt, Fault>;

    /// Blocks the id of a sign-up: refused when its holder was created meanwhile.
    async fn abandon(&self, id: Self::Id, ledger: &Ledger) -> Result<WriteAttempt, Fault>;
}

/// The end of a claim.
pub(crate) enum KeyClaim<H: Holders + ?Sized> {
    /// The reservation points to the claimant, and was written by this claim.
    Granted,
    /// Another holder has the key, or is about to take it.
    Held { reservation: H::Reservation, holder: H::Holder },
}

/// A judge's finding about a reservation.
enum ReservationState<H> {
    Held(H),
    /// No holder has it, and no claim on this version of it can complete.
    Lapsed,
    /// It changed while it was judged.
    Moving,
}

impl<H> From<WriteAttempt> for ReservationState<H> {
    fn from(attempt: WriteAttempt) -> Self {
        match attempt {
            WriteAttempt::Written => Self::Lapsed,
            WriteAttempt::LookAgain => Self::Moving,
        }
    }
}

/// The protocols over the reservations of these holders.
pub(crate) struct Reservations<'a, H: ?Sized> {
    pub(crate) store: &'a dyn Store,
    pub(crate) holders: &'a H,
}

impl<H: Holders + ?Sized> Reservations<'_, H> {
    /// The reservation of a key.
    pub(crate) async fn find(
        &self,
        key: &str,
        ledger: &Ledger,
    ) -> Result<Option<(H::Reservation, ETag)>, Fault> {
        match self.store.read(ACCOUNTS, &PartitionKey::from(key), key, ledger).await? {
            Some(item) => Ok(Some((item.decode()?, item.etag))),
            None => Ok(None),
        }
    }

    /// Points the reservation of a key to the holder of `wanted`. Safe to repeat: a reservation that points
    /// there already is written again, so that its other judges look again.
    pub(crate) async fn claim(
        &self,
        key: &str,
        wanted: &H::Reservation,
        ledger: &Ledger,
    ) -> Result<KeyClaim<H>, Fault> {
        for _ in 0..ATTEMPTS_MAX {
            let create = WriteOp::Create(NewItem::encode(key, wanted));
            if self.attempt(key, create, ledger).await? == WriteAttempt::Written {
                return Ok(KeyClaim::Granted);
            }
            let Some((reservation, etag)) = self.find(key, ledger).await? else { continue };
            let holder = H::holder_of(&reservation);
            if holder != H::holder_of(wanted) {
                match self.judge(key, holder, ledger).await? {
                    ReservationState::Held(holder) => return Ok(KeyClaim::Held { reservation, holder }),
                    ReservationState::Moving => continue,
                    ReservationState::Lapsed => {}
                }
            }
            let item = NewItem::encode(key, &H::renewed(wanted, &reservation));
            let take_over = WriteOp::Replace { item, if_match: Some(etag) };
            if self.attempt(key, take_over, ledger).await? == WriteAttempt::Written {
                return Ok(KeyClaim::Granted);
            }
        }
        Err(contended("a reservation"))
    }

    /// Deletes a reservation that has not changed since it was read.
    pub(crate) async fn delete(&self, key: &str, etag: ETag, ledger: &Ledger) -> Result<WriteAttempt, Fault> {
        let delete = WriteOp::Delete { id: key.to_owned(), if_match: Some(etag) };
        self.attempt(key, delete, ledger).await
    }

    /// Whether a reservation that was read just now, and points to this holder, has lapsed.
    pub(crate) async fn has_lapsed(&self, key: &str, holder: H::Id, ledger: &Ledger) -> Result<bool, Fault> {
        Ok(matches!(self.judge(key, holder, ledger).await?, ReservationState::Lapsed))
    }

    async fn attempt(&self, key: &str, operation: WriteOp, ledger: &Ledger) -> Result<WriteAttempt, Fault> {
        conditional_write::attempt(self.store, ACCOUNTS, &PartitionKey::from(key), operation, ledger).await
    }

    /// Judges a reservation that was read just now and points to `holder`.
    async fn judge(
        &self,
        key: &str,
        holder: H::Id,
        ledger: &Ledger,
    ) -> Result<ReservationState<H::Holder>, Fault> {
        let mut patience = PATIENCE.into_iter();
        loop {
            match self.holders.find(holder.clone(), ledger).await? {
                HolderLookup::Found(found) if H::has_key(&found, key)? => {
                    return Ok(ReservationState::Held(found));
                }
                HolderLookup::Found(found) => return Ok(self.holders.confirm(found, ledger).await?.into()),
                HolderLookup::Abandoned => return Ok(ReservationState::Lapsed),
                HolderLookup::Missing => match patience.next() {
                    Some(delay) => tokio::time::sleep(delay).await,
                    None => return Ok(self.holders.abandon(holder, ledger).await?.into()),
                },
            }
        }
    }
}
