//! Finishes a rename that a command announced and, perhaps, left there. Any number may do this at the same time, the
//! command included, and each step is a conditional write.
//!
//! A claim on the new name writes its reservation, also where that points to the user already; then the user takes
//! the name, if its item is the one that the claim was made for. A name that another user has is not taken: the
//! announcement is withdrawn. A reservation whose user neither has nor announces the name has lapsed and is taken
//! over, after that user was confirmed. One whose user does not exist belongs to a sign-up that may only be slow:
//! it is left to the next command, which can wait.

use serde::{Deserialize, Serialize};

use super::{confirm, has_name, normalized, read_reservation, read_user};
use crate::blog::containers::{ACCOUNTS, USERS};
use crate::blog::ids::UserId;
use crate::blog::items::{AccountItem, UserItem, types};
use crate::changefeed::{IntendedWrite, ProjectionError, Step, Turn};
use crate::store::{ETag, Item, NewItem, PartitionKey, WriteOp};

/// What was asked. `user` is the ETag of the user for whom a claim is made.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Asked {
    /// The user.
    User,
    /// The old and the new reservation.
    Reservations { user: String },
    /// Whoever holds the new name, after the reservation with this ETag.
    Holder { user: String, reservation: String, holder: UserId },
    /// Both reservations again: the one with this ETag has lapsed.
    Lapsed { user: String, reservation: String },
    /// The user, to take the name that is reserved now.
    Claimed { user: String },
    /// The user, to take the announcement back.
    Refused { user: String },
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(rename = "type")]
    item_type: &'a str,
}

pub(super) fn begin(user: &UserItem) -> Step {
    Step::ask(vec![read_user(user.id)]).with_note(&note(Asked::User))
}

pub(super) fn step(change: &UserItem, asked: Asked, turn: Turn<'_>) -> Result<Step, ProjectionError> {
    let Some(pending) = &change.pending_username else { return Ok(Step::done()) };
    let names = Names { user: change, pending };
    match asked {
        Asked::User => match turn.item(0)? {
            // Whatever the user has become, a change of it follows this one.
            Some(item) if names.is_announced(item)? => {
                names.ask_reservations(|user| Asked::Reservations { user }, &item.etag)
            }
            _ => Ok(Step::done()),
        },
        Asked::Reservations { user } => names.claim(user, turn),
        Asked::Holder { user, reservation, holder } => names.judge(user, reservation, holder, turn),
        Asked::Lapsed { user, reservation } => match turn.item(1)? {
            Some(item) if item.etag.to_string() == reservation => names.reserve(user, Some(item), turn),
            _ => Ok(begin(change)),
        },
        Asked::Claimed { user } => names.finish(&user, turn, |user, former| UserItem {
            username: pending.clone(),
            version: user.version + 1,
            pending_username: None,
            former_username: Some(former),
            ..user
        }),
        Asked::Refused { user } => {
            names.finish(&user, turn, |user, _| UserItem { pending_username: None, ..user })
        }
    }
}

/// The user of the change and the name it announced.
struct Names<'a> {
    user: &'a UserItem,
    pending: &'a str,
}

impl Names<'_> {
    fn is_announced(&self, item: &Item) -> Result<bool, ProjectionError> {
        let user: UserItem = item.decode()?;
        Ok(user.pending_username.as_deref() == Some(self.pending) && user.version == self.user.version)
    }

    fn ask_reservations(
        &self,
        asked: impl FnOnce(String) -> Asked,
        user: &ETag,
    ) -> Result<Step, ProjectionError> {
        let (old, new) = (normalized(&self.user.username)?, normalized(self.pending)?);
        let reads = vec![read_reservation(old.as_str()), read_reservation(new.as_str())];
        Ok(Step::ask(reads).with_note(&note(asked(user.to_string()))))
    }

    /// Reserves the new name, or asks who holds it.
    fn claim(&self, user: String, turn: Turn<'_>) -> Result<Step, ProjectionError> {
        let Some(item) = turn.item(1)? else { return self.reserve(user, None, turn) };
        let reservation: AccountItem = item.decode()?;
        if reservation.user_id == self.user.id {
            return self.reserve(user, Some(item), turn);
        }
        let holder = reservation.user_id;
        let asked = Asked::Holder { user, reservation: item.etag.to_string(), holder };
        Ok(Step::ask(vec![read_user(holder)]).with_note(&note(asked)))
    }

    /// Decides whether the one to whom the reservation points holds the name.
    fn judge(
        &self,
        user: String,
        reservation: String,
        holder: UserId,
        turn: Turn<'_>,
    ) -> Result<Step, ProjectionError> {
        let Some(item) = turn.item(0)? else { return Ok(Step::done()) };
        let abandoned = serde_json::from_slice::<Kind<'_>>(&item.body)?.item_type == types::ABANDONED;
        let new = normalized(self.pending)?;
        if !abandoned && has_name(&item.decode()?, new.as_str())? {
            return Ok(Step::ask(vec![read_user(self.user.id)]).with_note(&note(Asked::Refused { user })));
        }
        let writes = if abandoned { Vec::new() } else { vec![confirm(holder, item)] };
        let old = normalized(&self.user.username)?;
        let reads = vec![read_reservation(old.as_str()), read_reservation(new.as_str())];
        Ok(Step::ask(reads).with_note(&note(Asked::Lapsed { user, reservation })).after_writing(writes))
    }

    /// Writes the reservation of the new name, with the password of the old one. Without the old one the rename was
    /// finished since the user was read.
    fn reserve(
        &self,
        user: String,
        existing: Option<&std::sync::Arc<Item>>,
        turn: Turn<'_>,
    ) -> Result<Step, ProjectionError> {
        let old: Option<AccountItem> = turn.item(0)?.map(|item| item.decode()).transpose()?;
        let Some(own) = old.filter(|old| old.user_id == self.user.id) else { return Ok(Step::done()) };
        let new = normalized(self.pending)?;
        let account = AccountItem {
            id: new.as_str().to_owned(),
            item_type: types::ACCOUNT.to_owned(),
            user_id: self.user.id,
            password_hash: own.password_hash,
            idempotency_key_hash: None,
        };
        let item = NewItem::encode(new.as_str(), &account);
        let operation = match existing {
            None => WriteOp::Create(item),
            Some(existing) => WriteOp::Replace { item, if_match: Some(existing.etag.clone()) },
        };
        let write = IntendedWrite::one(ACCOUNTS, PartitionKey::from(new.as_str()), operation);
        let ask = Step::ask(vec![read_user(self.user.id)]).with_note(&note(Asked::Claimed { user }));
        Ok(ask.after_writing(vec![write]))
    }

    /// Writes the user, if it is still the one with this ETag. The change that this makes goes on from there.
    fn finish(
        &self,
        etag: &str,
        turn: Turn<'_>,
        become_: impl FnOnce(UserItem, String) -> UserItem,
    ) -> Result<Step, ProjectionError> {
        let Some(item) = turn.item(0)?.filter(|item| item.etag.to_string() == etag) else {
            return Ok(begin(self.user));
        };
        let former = normalized(&self.user.username)?.into_string();
        let user = become_(item.decode()?, former);
        let written = NewItem::encode(user.id.to_string(), &user);
        let operation = WriteOp::Replace { item: written, if_match: Some(item.etag.clone()) };
        let write = IntendedWrite::one(USERS, user.id.partition_key(), operation);
        Ok(Step::done().after_writing(vec![write]))
    }
}

fn note(asked: Asked) -> super::Asked {
    super::Asked::RollForward(asked)
}
