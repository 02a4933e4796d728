//! The `Comment` type.

use std::sync::Arc;

use async_graphql::{Context, ID, Object, Result};
use uuid::Uuid;

use super::connections::Listed;
use super::date_time::DateTime;
use super::ids::GlobalId;
use super::post::Post;
use super::resolution::One;
use super::scope;
use super::staff;
use super::user::User;
use crate::blog::ids::UserId;
use crate::blog::reads::{CommentView, DataModel};

/// A comment, as one data model sees it.
pub struct Comment {
    view: CommentView,
    model: DataModel,
    /// The post, where it was read anyway.
    post: Option<Arc<Post>>,
    /// The author of the post, where that is known without a read.
    post_author: Option<UserId>,
}

impl Comment {
    pub(super) fn new(view: CommentView, model: DataModel, post: Option<Arc<Post>>) -> Self {
        let post_author = post.as_ref().map(|post| post.author_id());
        Self { view, model, post, post_author }
    }

    /// The same, of a post by this author.
    pub(super) fn below_post_of(self, author: UserId) -> Self {
        Self { post_author: Some(author), ..self }
    }

    fn global_id(&self) -> GlobalId {
        GlobalId::Comment(self.view.post, self.view.id)
    }
}

impl Listed for Comment {
    fn place(&self) -> (&str, Uuid) {
        (&self.view.creation_date, self.view.id.0)
    }
}

/// A user's text about a post.
#[Object]
impl Comment {
    /// Identifies the comment among all nodes.
    pub async fn id(&self) -> ID {
        self.global_id().encode().into()
    }

    /// The post that the comment is about.
    async fn post(&self, ctx: &Context<'_>) -> Result<One<Arc<Post>>> {
        match &self.post {
            Some(post) => Ok(One(Arc::clone(post))),
            None => Ok(One(Arc::new(Post::read(scope::of(ctx), self.model, self.view.post).await?))),
        }
    }

    /// The author of the comment.
    async fn author(&self) -> One<User> {
        One(User::new(self.view.author.clone(), self.model))
    }

    /// The text, 1 to 10,000 characters.
    async fn content(&self) -> &str {
        &self.view.content
    }

    /// When the comment was created.
    async fn creation_date(&self) -> DateTime {
        DateTime(self.view.creation_date.clone())
    }

    /// When the content was last changed; null before the first change.
    async fn update_date(&self) -> Option<DateTime> {
        self.view.update_date.clone().map(DateTime)
    }

    /// Grows with each change of the content: 1 for a comment that was never changed.
    async fn version(&self) -> u32 {
        self.view.text_version
    }

    /// Whether the caller may change the comment: its author.
    async fn viewer_can_update(&self, ctx: &Context<'_>) -> bool {
        scope::of(ctx).is_viewer(self.view.author.id)
    }

    /// Whether the caller may delete the comment: its author, the author of the post, and staff. Reading it
    /// costs nothing below a post, for the comment's author and for staff; otherwise the post is read for a
    /// signed-in user.
    async fn viewer_can_delete(&self, ctx: &Context<'_>) -> Result<bool> {
        let scope = scope::of(ctx);
        if scope.viewer().is_none() || scope.is_viewer(self.view.author.id) || staff::viewer_is_staff(scope) {
            return Ok(scope.viewer().is_some());
        }
        let author = match self.post_author {
            Some(author) => author,
            None => Post::read(scope, self.model, self.view.post).await?.author_id(),
        };
        Ok(scope.is_viewer(author))
    }
}
