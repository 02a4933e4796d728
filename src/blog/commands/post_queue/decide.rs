//! After a refused batch, or one whose answer was lost: what the item beside the post says about an intent. Pure.

use crate::blog::items::{CommentItem, types};
use onehop_store::{Fault, Item};

use super::super::create_comment::made_and_deleted;
use super::super::marker::command_of;
use super::super::unlike_post::no_such_like;
use super::change::{Intent, PostChange};
use crate::blog::commands::Refusal;

/// What to do with an intent.
#[derive(Debug)]
pub(super) enum Verdict {
    /// Send it, as it is now.
    Send(Intent),
    /// It was done before; with the comment as stored, if it is one.
    Done(Option<CommentItem>),
    Refuse(Refusal),
}

/// Judges an intent by its item as read.
pub(super) fn decide(mut intent: Intent, stored: Option<&Item>) -> Result<Verdict, Fault> {
    intent.outdated = false;
    match &mut intent.change {
        PostChange::Edit(_) | PostChange::Delete => Ok(Verdict::Send(intent)),
        PostChange::Like(_) => match stored {
            None => Ok(Verdict::Send(intent)),
            Some(item) if command_of(item)? == Some(intent.command_id) => Ok(Verdict::Done(None)),
            Some(_) => Ok(Verdict::Refuse(Refusal::conflict("postId", "you like this post already"))),
        },
        // A batch with it was sent only because the like was there. Gone since, it was taken back.
        PostChange::Unlike(_) => match stored {
            Some(_) => Ok(Verdict::Send(intent)),
            None if intent.sent => Ok(Verdict::Done(None)),
            None => Ok(Verdict::Refuse(no_such_like())),
        },
        // The id was chosen for this comment alone, so what is there is it.
        PostChange::Comment(_) => match stored.map(Item::decode::<CommentItem>).transpose()? {
            None => Ok(Verdict::Send(intent)),
            Some(comment) if comment.deleted => Ok(Verdict::Refuse(made_and_deleted())),
            Some(comment) => Ok(Verdict::Done(Some(comment))),
        },
        PostChange::DeleteComment { comment, etag } => {
            let Some(item) = stored else { return Ok(Verdict::Refuse(Refusal::comment_not_found())) };
            let found: CommentItem = item.decode()?;
            if !found.deleted && found.item_type == types::COMMENT {
                (*comment, *etag) = (found, item.etag.clone());
                return Ok(Verdict::Send(intent));
            }
            if command_of(item)? == Some(intent.command_id) {
                return Ok(Verdict::Done(None));
            }
            Ok(Verdict::Refuse(Refusal::comment_not_found()))
        }
    }
}
