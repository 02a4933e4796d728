//! Renames: from the user item into posts, comments and likes, page after page.
//!
//! A change of a user goes through three stages. A rename that is only announced is rolled forward, and the change
//! that this makes comes back later. Otherwise all that the user has written gets the name, newest first; the place is
//! saved after each page, so that a crash costs one page. An item that others write without pause is left to
//! `usernames-catch-up`, which sees each of their changes. At last the reservation of the former name is deleted.

mod propagate;
mod release;
mod roll_forward;

use serde::{Deserialize, Serialize};

use super::USERNAMES;
use crate::accounts::username::{NameKey, Username};
use crate::blog::containers::{ACCOUNTS, POSTS, USERS};
use crate::blog::ids::UserId;
use crate::blog::items::{UserItem, types};
use onehop_change_feed::{Projection, ProjectionError, ReadRequest, Step, StepInput};
use onehop_store::{Change, ContainerName, Item, NewItem, PartitionKey, WriteOp};
use propagate::PassPosition;

/// Writes a user's new name wherever the old one stands.
#[derive(Debug, Clone, Copy)]
pub struct Usernames;

/// Which stage asked, and what it has to know.
#[derive(Debug, Serialize, Deserialize)]
enum ProgressState {
    RollForward(roll_forward::ProgressState),
    Propagate(PassPosition),
    Release(release::ProgressState),
}

impl Projection for Usernames {
    fn name(&self) -> &'static str {
        USERNAMES
    }

    fn source(&self) -> ContainerName {
        USERS
    }

    fn types(&self) -> Option<&'static [&'static str]> {
        Some(&[types::USER])
    }

    /// The copies of posts get their names from the posts.
    fn feeds(&self) -> &'static [ContainerName] {
        &[POSTS]
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        let user: UserItem = change.item.decode()?;
        match input.state()? {
            None if user.pending_username.is_some() => Ok(roll_forward::begin(&user)),
            None => propagate::begin(&user),
            Some(ProgressState::RollForward(asked)) => roll_forward::step(&user, asked, input),
            Some(ProgressState::Propagate(place)) if input.results.is_empty() => {
                Ok(propagate::ask(&user, place))
            }
            Some(ProgressState::Propagate(place)) => propagate::step(&user, place, input),
            Some(ProgressState::Release(_)) if input.results.is_empty() => Ok(release::begin(&user)),
            Some(ProgressState::Release(asked)) => release::step(&user, asked, input),
        }
    }
}

fn read_user(id: UserId) -> ReadRequest {
    ReadRequest::item(USERS, id.partition_key(), id.to_string())
}

fn read_reservation(name: &str) -> ReadRequest {
    ReadRequest::item(ACCOUNTS, PartitionKey::from(name), name)
}

/// Writes a user as it was read: refused when the user has changed since. A read may be old where replicas lag, a
/// conditional write is not.
fn confirm(user: UserId, item: &Item) -> onehop_change_feed::IntendedWrite {
    let unchanged = NewItem { id: user.to_string(), body: item.body.clone() };
    let operation = WriteOp::Replace { item: unchanged, if_match: Some(item.etag.clone()) };
    onehop_change_feed::IntendedWrite::one(USERS, user.partition_key(), operation)
}

/// A stored username.
fn parsed(stored: &str) -> Result<Username, ProjectionError> {
    Username::parse(stored).map_err(|error| ProjectionError::new("a stored username breaks the rules", error))
}

/// Whether the user has a name with this key, or has announced one.
fn has_key(user: &UserItem, key: &NameKey) -> Result<bool, ProjectionError> {
    if parsed(&user.username)?.keys().contains(key) {
        return Ok(true);
    }
    match &user.pending_username {
        Some(pending) => Ok(parsed(pending)?.keys().contains(key)),
        None => Ok(false),
    }
}
