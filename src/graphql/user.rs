//! The `User` type.

use async_graphql::{Context, ID, Object, Result};

use super::connections::{self, PageArguments, PostConnection};
use super::ids::GlobalId;
use super::resolution::One;
use super::scope;
use crate::blog::reads::cursor::POSTS_OF_USER;
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
