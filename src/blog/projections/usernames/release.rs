//! Deletes the reservation that a rename left, if the command that renamed did not come to it.
//!
//! The reservation is read first and the user second; the user is then written as read, with If-Match. At the moment of
//! that write the user neither had nor announced the former name; whoever announces it later writes the
//! reservation, and the delete's If-Match fails.

use serde::{Deserialize, Serialize};

use super::{confirm, has_name, read_reservation, read_user};
use crate::blog::containers::ACCOUNTS;
use crate::blog::items::{AccountItem, UserItem};
use crate::changefeed::{IntendedWrite, ProjectionError, Step, Turn};
use crate::store::{PartitionKey, WriteOp};

/// What was asked.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Asked {
    Reservation,
    /// The user, after the reservation with this ETag.
    User {
        etag: String,
    },
    /// The reservation again, after the user was confirmed.
    Confirmed {
        etag: String,
    },
}

/// Looks for the reservation, if there is one to release.
pub(super) fn begin(user: &UserItem) -> Step {
    match &user.former_username {
        Some(former) => Step::ask(vec![read_reservation(former)]).with_note(&note(Asked::Reservation)),
        None => Step::done(),
    }
}

pub(super) fn step(user: &UserItem, asked: Asked, turn: Turn<'_>) -> Result<Step, ProjectionError> {
    let Some(former) = &user.former_username else { return Ok(Step::done()) };
    let Some(item) = turn.item(0)? else { return Ok(Step::done()) };
    match asked {
        Asked::Reservation => {
            let reservation: AccountItem = item.decode()?;
            if reservation.user_id != user.id {
                return Ok(Step::done());
            }
            let etag = item.etag.to_string();
            Ok(Step::ask(vec![read_user(user.id)]).with_note(&note(Asked::User { etag })))
        }
        Asked::User { etag } => {
            if has_name(&item.decode()?, former)? {
                return Ok(Step::done());
            }
            let again = Step::ask(vec![read_reservation(former)]).with_note(&note(Asked::Confirmed { etag }));
            Ok(again.after_writing(vec![confirm(user.id, item)]))
        }
        Asked::Confirmed { etag } => {
            if item.etag.to_string() != etag {
                return Ok(Step::done());
            }
            let delete = WriteOp::Delete { id: former.clone(), if_match: Some(item.etag.clone()) };
            let write = IntendedWrite::one(ACCOUNTS, PartitionKey::from(former.as_str()), delete);
            Ok(Step::done().after_writing(vec![write]))
        }
    }
}

fn note(asked: Asked) -> super::Asked {
    super::Asked::Release(asked)
}
