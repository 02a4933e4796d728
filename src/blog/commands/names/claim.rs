//! Claiming a name: create its reservation, or take over one that nobody holds any more.

use std::time::Duration;

use crate::accounts::username::NormalizedUsername;
use crate::blog::containers::{ACCOUNTS, USERS};
use crate::blog::ids::UserId;
use crate::blog::items::{ABANDONED_TTL_S, AbandonedItem, AccountItem, UserItem, types};
use crate::store::{Fault, Ledger, NewItem, PartitionKey, WriteOp};

use super::super::error::contended;
use super::{ATTEMPTS_MAX, Attempt, Found, Names, StoredUser, has_name, normalized};

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
pub(in crate::blog::commands) enum Claim {
    /// The reservation points to the claimant, and was written by this claim.
    Granted,
    /// Another user has the name, or is about to take it.
    Held(Box<Holder>),
}

/// Who has a name, or is about to take it.
#[derive(Debug)]
pub(in crate::blog::commands) struct Holder {
    pub(in crate::blog::commands) reservation: AccountItem,
    pub(in crate::blog::commands) user: UserItem,
}

/// What a judge finds out about a reservation.
enum Standing {
    Held(Box<StoredUser>),
    /// Nobody holds it, and nobody can complete a claim on this version of it.
    Lapsed,
    /// It changed while it was judged.
    Moving,
}

impl Names {
    /// Points the reservation of a name to the user of `wanted`. Safe to repeat: where it points there already, it
    /// is written again, so that those who judge it look again.
    pub(in crate::blog::commands) async fn claim(
        &self,
        name: &NormalizedUsername,
        wanted: &AccountItem,
        ledger: &Ledger,
    ) -> Result<Claim, Fault> {
        let partition_key = PartitionKey::from(name.as_str());
        let item = NewItem::encode(name.as_str(), wanted);
        for _ in 0..ATTEMPTS_MAX {
            let create = WriteOp::Create(item.clone());
            if self.attempt(ACCOUNTS, &partition_key, create, ledger).await? == Attempt::Written {
                return Ok(Claim::Granted);
            }
            let Some((reservation, etag)) = self.reservation(name.as_str(), ledger).await? else { continue };
            if reservation.user_id != wanted.user_id {
                match self.judge(name, reservation.user_id, ledger).await? {
                    Standing::Held(holder) => {
                        return Ok(Claim::Held(Box::new(Holder { reservation, user: holder.user })));
                    }
                    Standing::Moving => continue,
                    Standing::Lapsed => {}
                }
            }
            let take_over = WriteOp::Replace { item: item.clone(), if_match: Some(etag) };
            if self.attempt(ACCOUNTS, &partition_key, take_over, ledger).await? == Attempt::Written {
                return Ok(Claim::Granted);
            }
        }
        Err(contended("the reservation of a username"))
    }

    /// Whether somebody else holds the name, as far as reads can tell.
    pub(in crate::blog::commands) async fn is_held_by_another(
        &self,
        name: &NormalizedUsername,
        user_id: UserId,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let Some((reservation, _)) = self.reservation(name.as_str(), ledger).await? else { return Ok(false) };
        if reservation.user_id == user_id {
            return Ok(false);
        }
        match self.find(reservation.user_id, ledger).await? {
            Found::User(holder) => has_name(&holder.user, name),
            Found::Missing | Found::Abandoned => Ok(false),
        }
    }

    /// Deletes the reservation that the user's last rename left, unless somebody else holds it by now.
    pub(super) async fn release_former(&self, user: &UserItem, ledger: &Ledger) -> Result<(), Fault> {
        let Some(former) = &user.former_username else { return Ok(()) };
        let Some((reservation, etag)) = self.reservation(former, ledger).await? else { return Ok(()) };
        let name = normalized(former)?;
        if reservation.user_id != user.id || !self.has_lapsed(&name, user.id, ledger).await? {
            return Ok(());
        }
        let delete = WriteOp::Delete { id: former.clone(), if_match: Some(etag) };
        self.attempt(ACCOUNTS, &PartitionKey::from(former.as_str()), delete, ledger).await?;
        Ok(())
    }

    async fn has_lapsed(
        &self,
        name: &NormalizedUsername,
        holder: UserId,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        Ok(matches!(self.judge(name, holder, ledger).await?, Standing::Lapsed))
    }

    /// Judges a reservation that was read just now and points to `holder`.
    async fn judge(
        &self,
        name: &NormalizedUsername,
        holder: UserId,
        ledger: &Ledger,
    ) -> Result<Standing, Fault> {
        let mut patience = PATIENCE.into_iter();
        loop {
            match self.find(holder, ledger).await? {
                Found::User(stored) if has_name(&stored.user, name)? => {
                    return Ok(Standing::Held(stored));
                }
                Found::User(stored) => return self.confirm(*stored, ledger).await,
                Found::Abandoned => return Ok(Standing::Lapsed),
                Found::Missing => match patience.next() {
                    Some(delay) => tokio::time::sleep(delay).await,
                    None => return self.abandon(holder, ledger).await,
                },
            }
        }
    }

    /// Rewrites the user as it was read: refused when the user has changed since.
    async fn confirm(&self, stored: StoredUser, ledger: &Ledger) -> Result<Standing, Fault> {
        let id = stored.user.id;
        let item = NewItem { id: id.to_string(), body: stored.item.body };
        let rewrite = WriteOp::Replace { item, if_match: Some(stored.etag) };
        Ok(self.attempt(USERS, &id.partition_key(), rewrite, ledger).await?.into())
    }

    /// Blocks the user id of a sign-up: refused when its user was created meanwhile.
    async fn abandon(&self, id: UserId, ledger: &Ledger) -> Result<Standing, Fault> {
        let item_type = types::ABANDONED.to_owned();
        let block = AbandonedItem { id, item_type, user_id: id, ttl: ABANDONED_TTL_S };
        let create = WriteOp::Create(NewItem::encode(id.to_string(), &block));
        Ok(self.attempt(USERS, &id.partition_key(), create, ledger).await?.into())
    }
}

impl From<Attempt> for Standing {
    fn from(attempt: Attempt) -> Self {
        match attempt {
            Attempt::Written => Self::Lapsed,
            Attempt::LookAgain => Self::Moving,
        }
    }
}
