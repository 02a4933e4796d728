//! The `Like` type.

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
use crate::blog::reads::{DataModel, LikeView};

/// A like, as one data model sees it.
pub struct Like {
    view: LikeView,
    model: DataModel,
    /// The post, where it was read anyway.
    post: Option<Arc<Post>>,
}

impl Like {
    pub(super) fn new(view: LikeView, model: DataModel, post: Option<Arc<Post>>) -> Self {
        Self { view, model, post }
    }

    fn global_id(&self) -> GlobalId {
        GlobalId::Like(self.view.post, self.view.id)
    }
}

impl Listed for Like {
    fn place(&self) -> (&str, Uuid) {
        (&self.view.creation_date, self.view.id.0)
    }
}

/// That a user likes a post.
#[Object]
impl Like {
    /// Identifies the like among all nodes.
    pub async fn id(&self) -> ID {
        self.global_id().encode().into()
    }

    /// The post that is liked.
    async fn post(&self, ctx: &Context<'_>) -> Result<One<Arc<Post>>> {
        match &self.post {
            Some(post) => Ok(One(Arc::clone(post))),
            None => Ok(One(Arc::new(Post::read(scope::of(ctx), self.model, self.view.post).await?))),
        }
    }

    /// The user who likes the post.
    async fn user(&self) -> One<User> {
        One(User::new(self.view.user.clone(), self.model))
    }

    /// When the like was given.
    async fn creation_date(&self) -> DateTime {
        DateTime(self.view.creation_date.clone())
    }
}
