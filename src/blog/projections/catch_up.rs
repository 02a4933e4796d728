//! Names in posts, comments and likes that were written while their author's rename ran.
//!
//! A command may write the name that it read just before the rename. Whichever of the two was written first, one of the
//! projections sees the other: the pass of `usernames` over the items begins after the rename was written, and this one
//! reads the user after the item was written.

use super::USERNAMES_CATCH_UP;
use super::names::{Written, rename, username_of};
use crate::blog::containers::{POSTS, USERS};
use crate::blog::items::types;
use crate::changefeed::{IntendedWrite, Projection, ProjectionError, ReadRequest, Step, Turn};
use crate::store::{Change, ContainerName, PartitionKey};

/// Compares the name in each item of `posts` with its author's.
#[derive(Debug, Clone, Copy)]
pub struct UsernamesCatchUp;

impl Projection for UsernamesCatchUp {
    fn name(&self) -> &'static str {
        USERNAMES_CATCH_UP
    }

    fn source(&self) -> ContainerName {
        POSTS
    }

    fn types(&self) -> Option<&'static [&'static str]> {
        Some(&[types::POST, types::COMMENT, types::LIKE])
    }

    fn step(&self, change: &Change, turn: Turn<'_>) -> Result<Step, ProjectionError> {
        let written: Written<'_> = serde_json::from_slice(&change.item.body)?;
        if written.deleted {
            return Ok(Step::done());
        }
        if turn.is_first() {
            let user = ReadRequest::shared_item(USERS, PartitionKey::from(written.user_id), written.user_id);
            return Ok(Step::ask(vec![user]));
        }
        match username_of(turn.item(0)?)? {
            Some(name) if name != written.user_username => {
                let operation = rename(&change.item, written.item_type, &name)?;
                let write = IntendedWrite::one(POSTS, change.partition_key.clone(), operation);
                Ok(Step::done().after_writing(vec![write]))
            }
            _ => Ok(Step::done()),
        }
    }
}
