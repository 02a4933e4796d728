//! The `User` type, and the entries of the moderation log, which are about users.

use async_graphql::{Context, Enum, ID, Object, Result};
use uuid::Uuid;

use super::comment::Comment;
use super::connections::{
    self, CommentConnection, Connection, LikeConnection, Listed, PageArguments, PostConnection,
};
use super::date_time::DateTime;
use super::ids::GlobalId;
use super::like::Like;
use super::resolution::One;
use super::scope::{self, RequestScope};
use super::staff;
use crate::blog::ids::UserId;
use crate::blog::items::{ModerationAct, ModerationEntryItem};
use crate::blog::reads::cursor::{COMMENTS_OF_USER, LIKES_OF_USER, POSTS_OF_USER};
use crate::blog::reads::{DataModel, ModerationEntryView, UserView};

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

/// The kinds of acts in the moderation log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "ModerationAct")]
pub enum ModerationAction {
    /// A post was deleted, with its comments and likes.
    DeletePost,
    /// A comment was deleted.
    DeleteComment,
    /// An account was suspended.
    SuspendUser,
    /// A suspended account was given back.
    UnsuspendUser,
}

/// An entry of the moderation log.
pub struct ModerationEntry(ModerationEntryView);

/// A page of the moderation log.
pub type ModerationEntryConnection = Connection<ModerationEntry>;

impl ModerationEntry {
    pub(super) fn new(view: ModerationEntryView) -> Self {
        Self(view)
    }

    fn entry(&self) -> &ModerationEntryItem {
        self.0.entry()
    }
}

impl Listed for ModerationEntry {
    fn place(&self) -> (&str, Uuid) {
        (&self.entry().creation_date, self.entry().id.0)
    }
}

/// An act of staff: the deletion of a text, or the suspension of an account. Entries are kept for two years.
#[Object]
impl ModerationEntry {
    /// Identifies the entry in the log.
    async fn id(&self) -> ID {
        self.entry().id.to_string().into()
    }

    /// The act.
    async fn action(&self) -> ModerationAction {
        self.entry().action.into()
    }

    /// The member of staff who acted; null where the account is deleted.
    async fn staff(&self, ctx: &Context<'_>) -> Result<Option<One<User>>> {
        find_user(scope::of(ctx), self.entry().staff_id).await
    }

    /// The author of the deleted text, or the user of the account; null where the account is deleted.
    async fn user(&self, ctx: &Context<'_>) -> Result<Option<One<User>>> {
        find_user(scope::of(ctx), self.entry().user_id).await
    }

    /// The id of the deleted post, or of the post of the deleted comment.
    async fn post_id(&self) -> Option<ID> {
        self.entry().post_id.map(|post| GlobalId::Post(post).encode().into())
    }

    /// The id of the deleted comment.
    async fn comment_id(&self) -> Option<ID> {
        let ModerationEntryItem { post_id, comment_id, .. } = self.entry();
        let comment = post_id.zip(*comment_id);
        comment.map(|(post, comment)| GlobalId::Comment(post, comment).encode().into())
    }

    /// The reason that the member of staff gave.
    async fn reason(&self) -> Option<&str> {
        self.entry().reason.as_deref()
    }

    /// When it was done.
    async fn creation_date(&self) -> DateTime {
        DateTime(self.entry().creation_date.clone())
    }
}

/// The user with this id, as V3 has it.
async fn find_user(scope: &RequestScope, id: UserId) -> Result<Option<One<User>>> {
    let user = scope.reads(DataModel::V3).user(id, scope.session()).await;
    Ok(user.map_err(|fault| scope.fault(&fault))?.map(|view| One(User::new(view, DataModel::V3))))
}
