//! C2: delete a post. A tombstone without title and content stays for as long as projections may need to see
//! it.

use std::sync::Arc;

use crate::accounts::staff::StaffMember;
use crate::blog::ids::{PostId, UserId};
use crate::blog::items::PostItem;
use onehop_store::Ledger;

use super::post_queue::{PostChange, QueuedCommand};
use super::{CommandError, Commands};

/// The post that its author deletes.
pub struct DeletePost {
    pub user_id: UserId,
    pub post_id: PostId,
}

impl Commands {
    /// Deletes the post and returns the rest of it.
    ///
    /// # Errors
    /// `NOT_FOUND` on `postId`; `FORBIDDEN` to all but the author.
    pub async fn delete_post(
        &self,
        input: DeletePost,
        ledger: &Ledger,
    ) -> Result<Arc<PostItem>, CommandError> {
        let intent = QueuedCommand::new(self.new_id(), input.post_id, input.user_id, PostChange::Delete);
        let settled = self.posts.run(intent, ledger).await?;
        Ok(settled.post)
    }

    /// The same for a member of staff, who need not be the author.
    pub(super) async fn delete_any_post(
        &self,
        input: DeletePost,
        by: &StaffMember,
        ledger: &Ledger,
    ) -> Result<Arc<PostItem>, CommandError> {
        let intent = QueuedCommand::new(self.new_id(), input.post_id, input.user_id, PostChange::Delete);
        let settled = self.posts.run(intent.by_staff(by), ledger).await?;
        Ok(settled.post)
    }
}
