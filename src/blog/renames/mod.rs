//! Renames: finishes the rename of a user that a command left unfinished. A rename that is only announced is
//! rolled forward, and the change that this makes comes back later; then the reservations of the former name
//! are deleted.

mod release;
mod roll_forward;

use serde::{Deserialize, Serialize};

use crate::accounts::username::{NameKey, Username};
use crate::blog::containers::{ACCOUNTS, USERS};
use crate::blog::ids::UserId;
use crate::blog::items::{UserItem, is_user, types};
use onehop_change_feed::{Projection, ProjectionError, ReadRequest, Step, StepInput};
use onehop_runtime::planted;
use onehop_store::{Change, ContainerName, Item, NewItem, PartitionKey, WriteOp};

/// The name of the projection.
pub const RENAMES: &str = "renames";

/// Finishes renames.
#[derive(Debug, Clone, Copy)]
pub struct Renames;

/// The stage that requested the reads, and its state.
#[derive(Debug, Serialize, Deserialize)]
enum RenameProgress {
    RollForward(roll_forward::RollForwardProgress),
    Release(release::ReleaseProgress),
}

impl Projection for Renames {
    fn name(&self) -> &'static str {
        RENAMES
    }

    fn source(&self) -> ContainerName {
        USERS
    }

    fn types(&self) -> Option<&[&'static str]> {
        Some(&[types::USER])
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        // The present item, at a repeat, may be the rest of a deleted account.
        if !is_user(&change.item)? {
            return Ok(Step::done());
        }
        let user: UserItem = change.item.decode()?;
        match input.state()? {
            None if planted!("rename-left-half-done") => Ok(Step::done()),
            None if user.pending_username.is_some() => Ok(roll_forward::begin(&user)),
            None => Ok(release::begin(&user)),
            Some(RenameProgress::RollForward(requested)) => roll_forward::step(&user, requested, input),
            Some(RenameProgress::Release(requested)) => release::step(&user, requested, input),
        }
    }
}

fn read_user(id: UserId) -> ReadRequest {
    ReadRequest::item(USERS, id.partition_key(), id.to_string())
}

fn read_reservation(name: &str) -> ReadRequest {
    ReadRequest::item(ACCOUNTS, PartitionKey::from(name), name)
}

/// Writes a user as it was read: refused when the user has changed since. A read may be old where replicas
/// lag, a conditional write is not.
fn confirm(user: UserId, item: &Item) -> onehop_change_feed::IntendedWrite {
    let unchanged = NewItem { id: user.to_string(), body: item.body.clone() };
    let operation = WriteOp::Replace { item: unchanged, if_match: Some(item.etag.clone()) };
    onehop_change_feed::IntendedWrite::one(USERS, user.partition_key(), operation)
}

/// A stored username.
fn parsed(stored: &str) -> Result<Username, ProjectionError> {
    Username::parse(stored).map_err(|error| ProjectionError::new("a stored username breaks the rules", error))
}

/// Whether an item is a user who has a name with this key, or has announced one.
fn has_key(item: &Item, key: &NameKey) -> Result<bool, ProjectionError> {
    if !is_user(item)? {
        return Ok(false);
    }
    let user: UserItem = item.decode()?;
    if parsed(&user.username)?.keys().contains(key) {
        return Ok(true);
    }
    match &user.pending_username {
        Some(pending) => Ok(parsed(pending)?.keys().contains(key)),
        None => Ok(false),
    }
}
