//! C3 undone: delete a comment. Its author may, and the author of the post, who moderates the comments below
//! it.

use std::sync::Arc;

use crate::accounts::staff::StaffMember;
use crate::blog::containers::POSTS;
use crate::blog::ids::{CommentId, PostId, UserId};
use crate::blog::items::{CommentItem, PostItem, types};
use onehop_store::{ETag, Ledger, Store};

use super::post_queue::{PostChange, QueuedCommand};
use super::{CommandError, Commands, Refusal};

/// The comment that a user deletes, and its post.
pub struct DeleteComment {
    pub user_id: UserId,
    pub post_id: PostId,
    pub comment_id: CommentId,
}

/// The rest of the comment, and its post after it.
#[derive(Debug, Clone)]
pub struct DeletedComment {
    pub comment_id: CommentId,
    pub post: Arc<PostItem>,
}

impl Commands {
    /// Deletes the comment.
    ///
    /// # Errors
    /// `NOT_FOUND` on `commentId` (or `postId`, when the post is gone); `FORBIDDEN` to all but the authors of
    /// the comment and of its post.
    pub async fn delete_comment(
        &self,
        input: DeleteComment,
        ledger: &Ledger,
    ) -> Result<DeletedComment, CommandError> {
        let settled = self.posts.run(self.comment_deletion(&input, ledger).await?, ledger).await?;
        Ok(DeletedComment { comment_id: input.comment_id, post: settled.post })
    }

    /// The same for a member of staff, who need not be an author.
    pub(super) async fn delete_any_comment(
        &self,
        input: DeleteComment,
        by: &StaffMember,
        ledger: &Ledger,
    ) -> Result<DeletedComment, CommandError> {
        let intent = self.comment_deletion(&input, ledger).await?.by_staff(by);
        let settled = self.posts.run(intent, ledger).await?;
        Ok(DeletedComment { comment_id: input.comment_id, post: settled.post })
    }

    async fn comment_deletion(
        &self,
        input: &DeleteComment,
        ledger: &Ledger,
    ) -> Result<QueuedCommand, CommandError> {
        let (comment, etag) = live_comment(&*self.store, input.post_id, input.comment_id, ledger).await?;
        let change = PostChange::DeleteComment { comment, etag };
        Ok(QueuedCommand::new(self.new_id(), input.post_id, input.user_id, change))
    }
}

/// A comment that is not deleted.
///
/// # Errors
/// `NOT_FOUND` on `commentId`.
pub(super) async fn live_comment(
    store: &dyn Store,
    post: PostId,
    comment: CommentId,
    ledger: &Ledger,
) -> Result<(CommentItem, ETag), CommandError> {
    let id = comment.to_string();
    let Some(item) = store.read(POSTS, &post.partition_key(), &id, ledger).await? else {
        return Err(Refusal::comment_not_found().into());
    };
    let Ok(comment) = item.decode::<CommentItem>() else {
        // The id of a like or of the post itself.
        return Err(Refusal::comment_not_found().into());
    };
    if comment.deleted || comment.item_type != types::COMMENT {
        return Err(Refusal::comment_not_found().into());
    }
    Ok((comment, item.etag))
}
