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
use super::user::User;
use crate::blog::reads::{CommentView, DataModel};

/// A comment, as one data model sees it.
pub struct Comment {
    view: CommentView,
    model: DataModel,
    /// The post, where it was read anyway.
    post: Option<Arc<Post>>,
}

impl Comment {
    pub(super) fn new(view: CommentView, model: DataModel, post: Option<Arc<Post>>) -> Self {
        Self { view, model, post }
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

/// What a user wrote about a post.
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

    /// Who wrote the comment.
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
}
