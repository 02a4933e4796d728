//! Deletes the reservations that a rename left, if the command that renamed did not come to it.
//!
//! A reservation is read first and the user second; the user is then written as read, with If-Match. At the
//! moment of that write the user neither had nor announced a name with that key; a command that announces one
//! later writes the reservation, and the delete's If-Match fails.

use serde::{Deserialize, Serialize};

use super::{confirm, has_key, read_reservation, read_user};
use crate::accounts::username::NameKey;
use crate::blog::containers::ACCOUNTS;
use crate::blog::items::{AccountItem, UserItem};
use onehop_change_feed::{IntendedWrite, ProjectionError, Step, StepInput};
use onehop_store::{PartitionKey, WriteOp};

/// The requested reads. `key` is the place of the reservation among the reservations to release.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ReleaseProgress {
    /// The first reservation.
    Reservation,
    /// A further reservation.
    Further { key: usize },
    /// The user, after the reservation with this ETag.
    User {
        #[serde(default)]
        key: usize,
        etag: String,
    },
    /// The reservation again, after the user was confirmed.
    Confirmed {
        #[serde(default)]
        key: usize,
        etag: String,
    },
}

impl ReleaseProgress {
    fn key(&self) -> usize {
        match self {
            Self::Reservation => 0,
            Self::Further { key } | Self::User { key, .. } | Self::Confirmed { key, .. } => *key,
        }
    }
}

/// Looks for the reservations, if there are any to release.
pub(super) fn begin(user: &UserItem) -> Step {
    ask(user, 0)
}

/// Looks for the reservation of one of the former keys.
fn ask(user: &UserItem, key: usize) -> Step {
    match user.former_reservations().nth(key) {
        Some(former) => {
            let asked =
                if key == 0 { ReleaseProgress::Reservation } else { ReleaseProgress::Further { key } };
            Step::ask(vec![read_reservation(former)]).with_state(&note(asked))
        }
        None => Step::done(),
    }
}

pub(super) fn step(
    user: &UserItem,
    asked: ReleaseProgress,
    input: StepInput<'_>,
) -> Result<Step, ProjectionError> {
    let key = asked.key();
    let Some(former) = user.former_reservations().nth(key) else { return Ok(Step::done()) };
    let Some(item) = input.item(0)? else { return Ok(ask(user, key + 1)) };
    match asked {
        ReleaseProgress::Reservation | ReleaseProgress::Further { .. } => {
            let reservation: AccountItem = item.decode()?;
            if reservation.user_id != user.id {
                return Ok(ask(user, key + 1));
            }
            let etag = item.etag.to_string();
            Ok(Step::ask(vec![read_user(user.id)]).with_state(&note(ReleaseProgress::User { key, etag })))
        }
        ReleaseProgress::User { etag, .. } => {
            if has_key(item, &NameKey::from_stored(former))? {
                return Ok(ask(user, key + 1));
            }
            let again = Step::ask(vec![read_reservation(former)]);
            let again = again.with_state(&note(ReleaseProgress::Confirmed { key, etag }));
            Ok(again.after_writing(vec![confirm(user.id, item)]))
        }
        ReleaseProgress::Confirmed { etag, .. } => {
            if item.etag.to_string() != etag {
                return Ok(ask(user, key + 1));
            }
            let delete = WriteOp::Delete { id: former.to_owned(), if_match: Some(item.etag.clone()) };
            let write = IntendedWrite::one(ACCOUNTS, PartitionKey::from(former), delete);
            Ok(ask(user, key + 1).after_writing(vec![write]))
        }
    }
}

fn note(asked: ReleaseProgress) -> super::RenameProgress {
    super::RenameProgress::Release(asked)
}

#[cfg(test)]
mod tests {
    use crate::blog::read_models::testing::{asked, change, first, user};
    use crate::blog::renames::Renames;

    #[test]
    fn a_renamed_user_releases_the_former_name() {
        let mut grace = user(1, "grace", 2);
        grace.former_username = Some("ada".to_owned());
        let change = change(grace.id.partition_key(), grace.id.to_string(), &grace);
        let step = first(&Renames, &change);
        assert_eq!(asked(&step), ["accounts/ada"]);
    }
}
