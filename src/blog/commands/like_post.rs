//! C4: like a post. The like's id is derived from post and user, so the store refuses a second one; the like
//! and the post's count are written in one batch.

use std::sync::Arc;

use crate::blog::ids::{LikeId, PostId, UserId};
use crate::blog::items::{LikeItem, PostItem, types};
use onehop_store::Ledger;

use super::post_queue::{PostChange, QueuedCommand};
use super::{CommandError, Commands};

/// The post that the signed-in user likes.
pub struct LikePost {
    pub user_id: UserId,
    pub post_id: PostId,
}

/// The like, and its post after it.
#[derive(Debug, Clone)]
pub struct PostLiked {
    pub like: LikeItem,
    pub post: Arc<PostItem>,
}

impl Commands {
    /// Likes the post.
    ///
    /// # Errors
    /// `CONFLICT` on `postId` when the user likes it already; `NOT_FOUND` on `postId`; `UNAUTHENTICATED` when
    /// the user does not exist.
    pub async fn like_post(&self, input: LikePost, ledger: &Ledger) -> Result<PostLiked, CommandError> {
        let like = LikeItem {
            id: LikeId::derive(input.post_id, input.user_id),
            item_type: types::LIKE.to_owned(),
            post_id: input.post_id,
            user_id: input.user_id,
            user_username: self.username(input.user_id, ledger).await?,
            creation_date: self.timestamp(),
            version: 1,
        };
        let change = PostChange::Like(like.clone());
        let intent = QueuedCommand::new(self.new_id(), input.post_id, input.user_id, change);
        let settled = self.posts.run(intent, ledger).await?;
        Ok(PostLiked { like, post: settled.post })
    }
}
