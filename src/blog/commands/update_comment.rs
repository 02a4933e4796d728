//! C3: edit a comment. One conditional write of the comment alone; its post stays as it is.

use crate::blog::containers::POSTS;
use crate::blog::ids::{CommentId, PostId, UserId};
use crate::blog::items::CommentItem;
use onehop_runtime::planted;
use onehop_store::{Ledger, NewItem, WriteOp};

use super::delete_comment::live_comment;
use super::text::CommentContent;
use super::{CommandError, Commands, Refusal};
use crate::domain::conditional_write::{ATTEMPTS_MAX, is_ambiguous, judge};
use crate::domain::error::{InvalidField, InvalidFields, contended};

/// The author's new text, as typed.
pub struct UpdateComment {
    pub user_id: UserId,
    pub post_id: PostId,
    pub comment_id: CommentId,
    pub content: String,
    /// The version of the text that was edited; with another one the edit is refused.
    pub if_version: Option<i32>,
}

impl UpdateComment {
    /// The invalid fields, for an input that is refused for another one anyway.
    #[must_use]
    pub fn invalid_fields(self) -> Vec<InvalidField> {
        let mut invalid = InvalidFields::default();
        invalid.check(CommentContent::parse(self.content));
        invalid.into_vec()
    }
}

impl Commands {
    /// Edits the comment. The same text again changes nothing.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `content`; `NOT_FOUND` on `commentId`; `FORBIDDEN` to all but the author;
    /// `CONFLICT` on `ifVersion`, with the current version.
    pub async fn update_comment(
        &self,
        input: UpdateComment,
        ledger: &Ledger,
    ) -> Result<CommentItem, CommandError> {
        let UpdateComment { user_id, post_id, comment_id, content, if_version } = input;
        let content = CommentContent::parse(content)?;
        let (mut was_sent, mut may_be_done, mut is_latest) = (false, false, false);
        for _ in 0..ATTEMPTS_MAX {
            let store = if is_latest { &self.latest } else { &self.store };
            let found = live_comment(&**store, post_id, comment_id, ledger).await;
            let (comment, etag) = found.map_err(|error| error.unless_done(may_be_done))?;
            if comment.user_id != user_id {
                return Err(Refusal::forbidden("only its author can change a comment").into());
            }
            let is_made = comment.content == content.as_str();
            let is_of =
                |version: u32| if_version.is_none_or(|wanted| i64::from(wanted) == i64::from(version));
            // The answer to the write was lost.
            let is_own_work = was_sent && is_made && is_of(comment.text_version.saturating_sub(1));
            let follows_a_later_edit =
                if_version.is_some_and(|wanted| i64::from(wanted) > i64::from(comment.text_version));
            if (is_made || follows_a_later_edit) && !is_latest && !planted!("edit-trusts-a-replica") {
                is_latest = true;
                continue;
            }
            if !is_own_work && !is_of(comment.text_version) {
                let refusal = CommandError::from(Refusal::comment_changed(comment.text_version));
                return Err(refusal.unless_done(may_be_done));
            }
            if is_made {
                return Ok(comment);
            }
            let edited = CommentItem {
                content: content.as_str().to_owned(),
                version: comment.version + 1,
                text_version: comment.text_version + 1,
                update_date: Some(self.timestamp()),
                ..comment
            };
            let item = NewItem::encode(comment_id.to_string(), &edited);
            let replace = WriteOp::Replace { item, if_match: Some(etag) };
            let written = self.store.write(POSTS, &post_id.partition_key(), replace, ledger).await;
            may_be_done |= is_ambiguous(&written);
            if judge(written)?.is_some() {
                return Ok(edited);
            }
            was_sent = true;
        }
        Err(contended("a comment").into())
    }
}
