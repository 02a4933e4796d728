//! C2: edit a post. Title, content, tags, or several of them; with optimistic concurrency, if the client says
//! which version it has edited.

use std::sync::Arc;

use crate::blog::ids::{PostId, UserId};
use crate::blog::items::PostItem;
use onehop_store::Ledger;

use super::post_queue::{PostChange, PostEdit, QueuedCommand};
use super::tags::Tags;
use super::text::{PostContent, Title};
use super::{CommandError, Commands, Refusal};
use crate::domain::error::{InvalidField, InvalidFields};

/// The author's changes, as typed.
pub struct UpdatePost {
    pub user_id: UserId,
    pub post_id: PostId,
    pub title: Option<String>,
    pub content: Option<String>,
    pub tags: Option<Vec<String>>,
    /// The version of the text that was edited; with another one the edit is refused.
    pub if_version: Option<i32>,
}

impl UpdatePost {
    /// The invalid fields, for an input that is refused for another one anyway.
    #[must_use]
    pub fn invalid_fields(self) -> Vec<InvalidField> {
        let mut invalid = InvalidFields::default();
        invalid.check(self.title.map(Title::parse).transpose());
        invalid.check(self.content.map(PostContent::parse).transpose());
        invalid.check(self.tags.map(Tags::parse).transpose());
        invalid.into_vec()
    }
}

impl Commands {
    /// Edits the post.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `title`, `content` or `tags`, also when none is given; `NOT_FOUND` on `postId`;
    /// `FORBIDDEN` to all but the author; `CONFLICT` on `ifVersion`, with the current version.
    pub async fn update_post(
        &self,
        input: UpdatePost,
        ledger: &Ledger,
    ) -> Result<Arc<PostItem>, CommandError> {
        if input.title.is_none() && input.content.is_none() && input.tags.is_none() {
            return Err(Refusal::bad_input("title", "or content or tags must be given").into());
        }
        let mut invalid = InvalidFields::default();
        let title = invalid.check(input.title.map(Title::parse).transpose());
        let content = invalid.check(input.content.map(PostContent::parse).transpose());
        let tags = invalid.check(input.tags.map(Tags::parse).transpose());
        let (Some(title), Some(content), Some(tags)) = (title, content, tags) else {
            return Err(invalid.refusal().into());
        };
        let change = PostChange::Edit(PostEdit {
            title: title.map(Into::into),
            content: content.map(Into::into),
            tags: tags.map(Into::into),
            if_version: input.if_version,
            date: self.timestamp(),
        });
        let intent = QueuedCommand::new(self.new_id(), input.post_id, input.user_id, change);
        let settled = self.posts.run(intent, ledger).await?;
        Ok(settled.post)
    }
}
