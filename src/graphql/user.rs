//! The `User` type.

use async_graphql::{Context, ID, Object, Result};

use super::comment::Comment;
use super::connections::{
    self, CommentConnection, Connection, LikeConnection, PageArguments, PostConnection,
};
use super::ids::GlobalId;
use super::like::Like;
use super::resolution::One;
use super::scope;
use super::staff;
use crate::blog::reads::cursor::{COMMENTS_OF_USER, LIKES_OF_USER, POSTS_OF_USER};
use crate::blog::reads::{DataModel, UserView};

/// A user, as one data model sees it.
pub struct User {
    view: UserView,
    model: DataModel,
}

impl User {
    pub(super) fn new(view: UserView, model: DataModel) -> Self {
        Self { view, model }
    }
}

/// A person who writes posts and comments and likes posts.
#[Object]
impl User {
    /// Identifies the user among all nodes.
    pub async fn id(&self) -> ID {
        GlobalId::User(self.view.id).encode().into()
    }

    /// The user's name, unique in any case.
    async fn username(&self) -> &str {
        &self.view.username
    }

    /// Whether the caller may rename the user: only the user. Reading it costs nothing.
    async fn viewer_can_update(&self, ctx: &Context<'_>) -> bool {
        scope::of(ctx).is_viewer(self.view.id)
    }

    /// Whether the caller may suspend the account: staff, unless the user is staff, too. Reading it costs
    /// nothing.
    async fn viewer_can_suspend(&self, ctx: &Context<'_>) -> bool {
        let scope = scope::of(ctx);
        staff::viewer_is_staff(scope) && scope.services().staff.member(self.view.id.0).is_none()
    }

    /// Whether staff suspended the account, for staff; null for all others. The user is read for it.
    async fn is_suspended(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        let scope = scope::of(ctx);
        if !staff::viewer_is_staff(scope) {
            return Ok(None);
        }
        let suspended = scope.services().reads.accounts().is_suspended(self.view.id, scope.session()).await;
        suspended.map_err(|fault| scope.fault(&fault))
    }

    /// The user's comments, newest first, for the user alone, to export them; null for all others. A query
    /// across partitions.
    async fn comments(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The number of comments, 1 to 100.", default = 20)] first: i32,
        #[graphql(desc = "The cursor after which the page begins.")] after: Option<String>,
    ) -> Result<Option<One<CommentConnection>>> {
        let scope = scope::of(ctx);
        let page = PageArguments { first, after }.parse(COMMENTS_OF_USER.of(self.view.id.0))?;
        if !scope.is_viewer(self.view.id) {
            return Ok(None);
        }
        let reads = scope.services().reads.accounts();
        let comments = reads.comments(self.view.id, &page.request, scope.session()).await;
        let comments = comments.map_err(|fault| scope.fault(&fault))?;
        Ok(Some(One(Connection::new(comments, &page, |view| Comment::new(view, self.model, None)))))
    }

    /// The user's likes, newest first, for the user alone, to export them; null for all others. A query
    /// across partitions.
    async fn likes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The number of likes, 1 to 100.", default = 20)] first: i32,
        #[graphql(desc = "The cursor after which the page begins.")] after: Option<String>,
    ) -> Result<Option<One<LikeConnection>>> {
        let scope = scope::of(ctx);
        let page = PageArguments { first, after }.parse(LIKES_OF_USER.of(self.view.id.0))?;
        if !scope.is_viewer(self.view.id) {
            return Ok(None);
        }
        let reads = scope.services().reads.accounts();
        let likes = reads.likes(self.view.id, &page.request, scope.session()).await;
        let likes = likes.map_err(|fault| scope.fault(&fault))?;
        Ok(Some(One(Connection::new(likes, &page, |view| Like::new(view, self.model, None)))))
    }

    /// Q3: the user's posts, newest first.
    async fn posts(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The number of posts, 1 to 100.", default = 20)] first: i32,
        #[graphql(desc = "The cursor after which the page begins.")] after: Option<String>,
    ) -> Result<One<PostConnection>> {
        let scope = scope::of(ctx);
        let arguments = PageArguments { first, after };
        let page = arguments.parse(POSTS_OF_USER.of(self.view.id.0))?;
        let posts = scope.reads(self.model).posts_of_user(self.view.id, &page.request, scope.session()).await;
        Ok(One(connections::posts(posts.map_err(|fault| scope.fault(&fault))?, &page, self.model, scope)))
    }
}
