//! The `Post` type.

use std::sync::Arc;

use async_graphql::{Context, ID, Object, Result};
use uuid::Uuid;

use super::comment::Comment;
use super::connections::{CommentConnection, Connection, LikeConnection, Listed, PageArguments};
use super::date_time::DateTime;
use super::errors::{Code, error};
use super::ids::GlobalId;
use super::like::Like;
use super::loaders::PostPage;
use super::resolution::One;
use super::scope::{self, RequestScope};
use super::staff;
use super::user::User;
use crate::blog::ids::{PostId, UserId};
use crate::blog::reads::cursor::{COMMENTS, LIKES};
use crate::blog::reads::{DataModel, PostView};

/// A post, as one data model sees it.
#[derive(Clone)]
pub struct Post {
    view: PostView,
    model: DataModel,
    /// The page of a list that this post is on: a read for one post of it is a read for all.
    page: Option<Arc<PostPage>>,
}

impl Post {
    /// A post that was read by itself.
    pub(super) fn new(view: PostView, model: DataModel) -> Self {
        Self { view, model, page: None }
    }

    /// Reads the post of a comment or a like that was not read together with it.
    ///
    /// # Errors
    /// `NOT_FOUND`: the post was deleted. A masked fault of the store.
    pub(super) async fn read(scope: &RequestScope, model: DataModel, id: PostId) -> Result<Self> {
        let post = scope.reads(model).post(id, scope.session()).await.map_err(|fault| scope.fault(&fault))?;
        let post = post.ok_or_else(|| error(Code::NotFound, "The post was deleted."))?;
        Ok(Self::new(post, model))
    }

    /// The author of the post.
    pub(super) fn author_id(&self) -> UserId {
        self.view.author.id
    }

    /// A post of a list.
    pub(super) fn on_page(view: PostView, model: DataModel, page: Arc<PostPage>) -> Self {
        Self { view, model, page: Some(page) }
    }

    /// The post as its comments and likes refer to it, if the selection of their list asks for that.
    fn as_parent(&self, ctx: &Context<'_>) -> Option<Arc<Self>> {
        let list = ctx.look_ahead();
        let is_asked_for = list.field("nodes").field("post").exists()
            || list.field("edges").field("node").field("post").exists();
        is_asked_for.then(|| Arc::new(self.clone()))
    }
}

impl Listed for Post {
    fn place(&self) -> (&str, Uuid) {
        (&self.view.creation_date, self.view.id.0)
    }
}

/// A user's public text.
#[Object]
impl Post {
    /// Identifies the post among all nodes.
    pub async fn id(&self) -> ID {
        GlobalId::Post(self.view.id).encode().into()
    }

    /// The author of the post.
    async fn author(&self) -> One<User> {
        One(User::new(self.view.author.clone(), self.model))
    }

    /// The title, 1 to 200 characters.
    async fn title(&self) -> &str {
        &self.view.title
    }

    /// The whole text. In a list it is fetched only when asked for, in one batch for the page. A post that
    /// was deleted while its copies are still listed shows its summary.
    async fn content(&self, ctx: &Context<'_>) -> Result<String> {
        if let Some(content) = self.view.content() {
            return Ok(content.to_owned());
        }
        let content = match &self.page {
            Some(page) => page.content(self.view.id).await?,
            None => {
                PostPage::new(scope::of(ctx), self.model, vec![self.view.id]).content(self.view.id).await?
            }
        };
        Ok(content.unwrap_or_else(|| self.view.summary()))
    }

    /// The start of the text as plain text, without the marks of Markdown, cut at a word boundary. An
    /// ellipsis ends it where the text goes on. Reading it costs nothing more in any list.
    async fn summary(&self) -> String {
        self.view.summary()
    }

    /// The subjects of the post: at most 5 words in lower case, by which `postsByTag` finds it.
    async fn tags(&self) -> &[String] {
        &self.view.tags
    }

    /// When the post was created.
    async fn creation_date(&self) -> DateTime {
        DateTime(self.view.creation_date.clone())
    }

    /// When the title, the content or the tags were last changed; null before.
    async fn update_date(&self) -> Option<DateTime> {
        self.view.update_date.clone().map(DateTime)
    }

    /// Grows with each change of the title, the content or the tags: 1 for a post that was never changed.
    async fn version(&self) -> u32 {
        self.view.text_version
    }

    /// The number of comments on the post.
    async fn comment_count(&self) -> u32 {
        self.view.comment_count
    }

    /// The number of likes of the post.
    async fn like_count(&self) -> u32 {
        self.view.like_count
    }

    /// Whether the signed-in user likes the post; false for anonymous requests. In a list it is looked up
    /// in one batch for the page.
    async fn viewer_has_liked(&self, ctx: &Context<'_>) -> Result<bool> {
        let scope = scope::of(ctx);
        let Some(viewer) = scope.viewer() else {
            return Ok(false);
        };
        match &self.page {
            Some(page) => page.liked(self.view.id, viewer).await,
            None => PostPage::new(scope, self.model, vec![self.view.id]).liked(self.view.id, viewer).await,
        }
    }

    /// Whether the caller may change the post: its author. Reading it costs nothing.
    async fn viewer_can_update(&self, ctx: &Context<'_>) -> bool {
        scope::of(ctx).is_viewer(self.author_id())
    }

    /// Whether the caller may delete the post: its author, and staff. Reading it costs nothing.
    async fn viewer_can_delete(&self, ctx: &Context<'_>) -> bool {
        scope::of(ctx).is_viewer(self.author_id()) || staff::viewer_is_staff(scope::of(ctx))
    }

    /// Q4: the post's comments, oldest first.
    async fn comments(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The number of comments, 1 to 100.", default = 20)] first: i32,
        #[graphql(desc = "The cursor after which the page begins.")] after: Option<String>,
    ) -> Result<One<CommentConnection>> {
        let scope = scope::of(ctx);
        let page = PageArguments { first, after }.parse(COMMENTS.of(self.view.id.0))?;
        let comments = scope.reads(self.model).comments(self.view.id, &page.request, scope.session()).await;
        let comments = comments.map_err(|fault| scope.fault(&fault))?;
        let parent = self.as_parent(ctx);
        let comment = |view| Comment::new(view, self.model, parent.clone()).below_post_of(self.author_id());
        Ok(One(Connection::new(comments, &page, comment)))
    }

    /// Q5: the post's likes, newest first.
    async fn likes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The number of likes, 1 to 100.", default = 20)] first: i32,
        #[graphql(desc = "The cursor after which the page begins.")] after: Option<String>,
    ) -> Result<One<LikeConnection>> {
        let scope = scope::of(ctx);
        let page = PageArguments { first, after }.parse(LIKES.of(self.view.id.0))?;
        let likes = scope.reads(self.model).likes(self.view.id, &page.request, scope.session()).await;
        let likes = likes.map_err(|fault| scope.fault(&fault))?;
        let parent = self.as_parent(ctx);
        Ok(One(Connection::new(likes, &page, |view| Like::new(view, self.model, parent.clone()))))
    }
}
