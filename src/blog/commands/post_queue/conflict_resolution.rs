//! Conflict resolution (pure): after a refused or unanswered batch, the outcome of an intent from the present
//! item.

use crate::blog::items::{CommentItem, types};
use onehop_runtime::planted;
use onehop_store::{Fault, Item};

use super::intent::{PostChange, QueuedCommand};
use crate::domain::command_marker::command_of;
use crate::domain::error::Refusal;

/// The next step with an intent.
#[derive(Debug)]
pub(super) enum Resolution {
    /// Send it, as it is now.
    Send(QueuedCommand),
    /// It was done before; with the comment as stored, if it is one.
    Done(Option<CommentItem>),
    Refuse(Refusal),
}

/// Judges an intent by its item as read.
pub(super) fn decide(mut intent: QueuedCommand, stored: Option<&Item>) -> Result<Resolution, Fault> {
    intent.outdated = false;
    match &mut intent.change {
        PostChange::Edit(_) | PostChange::Delete => Ok(Resolution::Send(intent)),
        PostChange::Like(_) => match stored {
            None => Ok(Resolution::Send(intent)),
            Some(item)
                if command_of(item)? == Some(intent.command_id)
                    && !planted!("own-like-taken-as-conflict") =>
            {
                Ok(Resolution::Done(None))
            }
            Some(_) => Ok(Resolution::Refuse(Refusal::conflict("postId", "you already like this post"))),
        },
        // A batch with it was sent only because the like was there. Gone since, it was taken back.
        PostChange::Unlike(_) => match stored {
            Some(_) => Ok(Resolution::Send(intent)),
            None if intent.sent => Ok(Resolution::Done(None)),
            None => Ok(Resolution::Refuse(Refusal::like_not_found())),
        },
        // The id was chosen for this comment alone, so the existing item is this comment.
        PostChange::Comment(_) => match stored.map(Item::decode::<CommentItem>).transpose()? {
            None => Ok(Resolution::Send(intent)),
            Some(comment) if comment.deleted => {
                Ok(Resolution::Refuse(Refusal::created_comment_was_deleted()))
            }
            Some(comment) => Ok(Resolution::Done(Some(comment))),
        },
        PostChange::DeleteComment { comment, etag } => {
            let Some(item) = stored else { return Ok(Resolution::Refuse(Refusal::comment_not_found())) };
            let found: CommentItem = item.decode()?;
            if !found.deleted && found.item_type == types::COMMENT {
                (*comment, *etag) = (found, item.etag.clone());
                return Ok(Resolution::Send(intent));
            }
            if command_of(item)? == Some(intent.command_id) {
                return Ok(Resolution::Done(None));
            }
            Ok(Resolution::Refuse(Refusal::comment_not_found()))
        }
    }
}
