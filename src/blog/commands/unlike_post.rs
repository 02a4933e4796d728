//! C4 undone: take a like back. The like is deleted for good, in one batch with the post's count.

use std::sync::Arc;

use crate::blog::ids::{LikeId, PostId, UserId};
use crate::blog::items::PostItem;
use onehop_store::Ledger;

use super::post_queue::{PostChange, QueuedCommand};
use super::{CommandError, Commands};

/// The post that the signed-in user likes no longer.
pub struct UnlikePost {
    pub user_id: UserId,
    pub post_id: PostId,
}

impl Commands {
    /// Takes the user's like of the post back.
    ///
    /// # Errors
    /// `NOT_FOUND` on `postId` when there is no such post, or no like of it by this user.
    pub async fn unlike_post(
        &self,
        input: UnlikePost,
        ledger: &Ledger,
    ) -> Result<Arc<PostItem>, CommandError> {
        let id = LikeId::derive(input.post_id, input.user_id);
        let change = PostChange::Unlike(id);
        let intent = QueuedCommand::new(self.new_id(), input.post_id, input.user_id, change);
        let settled = self.posts.run(intent, ledger).await?;
        Ok(settled.post)
    }
}
