//! Finishes a rename that a command announced and, perhaps, left there. Any number may do this at the same
//! time, the command included, and each step is a conditional write.
//!
//! The new name is claimed key by key. A claim on a key writes its reservation, even if it points to the user
//! already. Then the user takes the name, if its item is the one for which the claim was made. A name of
//! which another user has a key is not taken: the announcement is withdrawn. A reservation whose user neither
//! has nor announces the name has lapsed and is taken over, after that user was confirmed. A reservation
//! whose user does not exist belongs to a sign-up that may only be slow: it is left to the next command,
//! which can wait.

use serde::{Deserialize, Serialize};

use super::{confirm, has_key, parsed, read_reservation, read_user};
use crate::accounts::username::{NameKey, Username};
use crate::blog::commands::left_keys;
use crate::blog::containers::{ACCOUNTS, USERS};
use crate::blog::ids::UserId;
use crate::blog::items::{AccountItem, UserItem, is_user, types};
use onehop_change_feed::{IntendedWrite, ProjectionError, Step, StepInput};
use onehop_store::{Item, NewItem, PartitionKey, WriteOp};

/// The requested reads. `user` is the ETag of the user for whom a claim is made, `key` the place of the
/// claimed key among the keys of the new name.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum RollForwardProgress {
    /// The user.
    User,
    /// The old and the new reservation.
    Reservations {
        user: String,
        #[serde(default)]
        key: usize,
    },
    /// The holder of the key, after the reservation with this ETag.
    Holder {
        user: String,
        #[serde(default)]
        key: usize,
        reservation: String,
        holder: UserId,
    },
    /// Both reservations again: the one with this ETag has lapsed.
    Lapsed {
        user: String,
        #[serde(default)]
        key: usize,
        reservation: String,
    },
    /// The user, to take the name that is reserved now.
    Claimed { user: String },
    /// The user, to take the announcement back.
    Refused { user: String },
}

pub(super) fn begin(user: &UserItem) -> Step {
    Step::ask(vec![read_user(user.id)]).with_state(&note(RollForwardProgress::User))
}

pub(super) fn step(
    change: &UserItem,
    asked: RollForwardProgress,
    input: StepInput<'_>,
) -> Result<Step, ProjectionError> {
    let Some(pending) = &change.pending_username else { return Ok(Step::done()) };
    let (old, new) = (parsed(&change.username)?, parsed(pending)?);
    let names = Names { user: change, pending, keys: new.keys(), old };
    match asked {
        RollForwardProgress::User => match input.item(0)? {
            // A later change of the user follows this one.
            Some(item) if names.is_announced(item)? => {
                let user = item.etag.to_string();
                Ok(names.ask_reservations(0, RollForwardProgress::Reservations { user, key: 0 }))
            }
            _ => Ok(Step::done()),
        },
        RollForwardProgress::Reservations { user, key } => names.claim(Target { user, key }, input),
        RollForwardProgress::Holder { user, key, reservation, holder } => {
            names.judge(Target { user, key }, reservation, holder, input)
        }
        RollForwardProgress::Lapsed { user, key, reservation } => match input.item(1)? {
            Some(item) if item.etag.to_string() == reservation => {
                names.reserve(Target { user, key }, Some(item), input)
            }
            _ => Ok(begin(change)),
        },
        RollForwardProgress::Claimed { user } => {
            names.finish(&user, input, |user, former, former_keys| UserItem {
                username: pending.clone(),
                version: user.version + 1,
                pending_username: None,
                former_username: Some(former),
                former_keys,
                ..user
            })
        }
        RollForwardProgress::Refused { user } => {
            names.finish(&user, input, |user, _, _| UserItem { pending_username: None, ..user })
        }
    }
}

/// The user of the change, and the name it announced with its keys.
struct Names<'a> {
    user: &'a UserItem,
    old: Username,
    pending: &'a str,
    keys: Vec<NameKey>,
}

/// For whom a claim is made, and on which key.
struct Target {
    user: String,
    key: usize,
}

impl Names<'_> {
    fn is_announced(&self, item: &Item) -> Result<bool, ProjectionError> {
        if !is_user(item)? {
            return Ok(false);
        }
        let user: UserItem = item.decode()?;
        Ok(user.pending_username.as_deref() == Some(self.pending) && user.version == self.user.version)
    }

    /// The key at this place. A note of another version of the program may know more of them.
    fn key(&self, key: usize) -> Result<&NameKey, ProjectionError> {
        self.keys.get(key).ok_or_else(|| ProjectionError::text("the new name has no such key".to_owned()))
    }

    /// Asks for the reservation of the old name and for the reservation of a key of the new one.
    fn ask_reservations(&self, key: usize, asked: RollForwardProgress) -> Step {
        let old = self.old.normalized();
        let keys = self.keys.get(key).map(NameKey::as_str);
        let reads = std::iter::once(old.as_str()).chain(keys).map(read_reservation).collect();
        Step::ask(reads).with_state(&note(asked))
    }

    /// Reserves the key, or asks who holds it.
    fn claim(&self, target: Target, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        let Some(item) = input.item(1)? else { return self.reserve(target, None, input) };
        let reservation: AccountItem = item.decode()?;
        if reservation.user_id == self.user.id {
            return self.reserve(target, Some(item), input);
        }
        let Target { user, key } = target;
        let holder = reservation.user_id;
        let asked = RollForwardProgress::Holder { user, key, reservation: item.etag.to_string(), holder };
        Ok(Step::ask(vec![read_user(holder)]).with_state(&note(asked)))
    }

    /// Decides whether the one to whom the reservation points holds the key.
    fn judge(
        &self,
        Target { user, key }: Target,
        reservation: String,
        holder: UserId,
        input: StepInput<'_>,
    ) -> Result<Step, ProjectionError> {
        let Some(item) = input.item(0)? else { return Ok(Step::done()) };
        if has_key(item, self.key(key)?)? {
            return Ok(Step::ask(vec![read_user(self.user.id)])
                .with_state(&note(RollForwardProgress::Refused { user })));
        }
        let writes = if is_user(item)? { vec![confirm(holder, item)] } else { Vec::new() };
        let asked = RollForwardProgress::Lapsed { user, key, reservation };
        Ok(self.ask_reservations(key, asked).after_writing(writes))
    }

    /// Writes the reservation of a key, the first with the password of the old one, and goes on to the next
    /// key. Without the old one the rename was finished since the user was read.
    fn reserve(
        &self,
        Target { user, key }: Target,
        existing: Option<&std::sync::Arc<Item>>,
        input: StepInput<'_>,
    ) -> Result<Step, ProjectionError> {
        let old: Option<AccountItem> = input.item(0)?.map(|item| item.decode()).transpose()?;
        let Some(own) = old.filter(|old| old.user_id == self.user.id) else { return Ok(Step::done()) };
        let new = self.key(key)?.as_str();
        let account = AccountItem {
            id: new.to_owned(),
            item_type: types::ACCOUNT.to_owned(),
            user_id: self.user.id,
            password_hash: own.password_hash.filter(|_| key == 0),
            password_version: if key == 0 { own.password_version } else { 0 },
            idempotency_key_hash: None,
        };
        let account = match existing.map(|item| item.decode::<AccountItem>()).transpose()? {
            Some(later)
                if later.user_id == account.user_id && later.password_version > account.password_version =>
            {
                AccountItem {
                    password_hash: later.password_hash,
                    password_version: later.password_version,
                    ..account
                }
            }
            _ => account,
        };
        let item = NewItem::encode(new, &account);
        let operation = match existing {
            None => WriteOp::Create(item),
            Some(existing) => WriteOp::Replace { item, if_match: Some(existing.etag.clone()) },
        };
        let write = IntendedWrite::one(ACCOUNTS, PartitionKey::from(new), operation);
        let next = key + 1;
        let ask = if next < self.keys.len() {
            self.ask_reservations(next, RollForwardProgress::Reservations { user, key: next })
        } else {
            Step::ask(vec![read_user(self.user.id)]).with_state(&note(RollForwardProgress::Claimed { user }))
        };
        Ok(ask.after_writing(vec![write]))
    }

    /// Writes the user, if it is still the one with this ETag. The change that this makes goes on from there.
    fn finish(
        &self,
        etag: &str,
        input: StepInput<'_>,
        become_: impl FnOnce(UserItem, String, Vec<String>) -> UserItem,
    ) -> Result<Step, ProjectionError> {
        let Some(item) = input.item(0)?.filter(|item| item.etag.to_string() == etag) else {
            return Ok(begin(self.user));
        };
        let former = self.old.normalized().as_str().to_owned();
        let user = become_(item.decode()?, former, left_keys(&self.old.keys(), &self.keys));
        let written = NewItem::encode(user.id.to_string(), &user);
        let operation = WriteOp::Replace { item: written, if_match: Some(item.etag.clone()) };
        let write = IntendedWrite::one(USERS, user.id.partition_key(), operation);
        Ok(Step::done().after_writing(vec![write]))
    }
}

fn note(asked: RollForwardProgress) -> super::RenameProgress {
    super::RenameProgress::RollForward(asked)
}
