//! The `User` type.

use async_graphql::parser::types::Field;
use async_graphql::{Context, ID, Object, Result, Value};

use super::at_hand::{AtHand, One, Scope};
use super::connections::{self, PageArguments, PostConnection};
use super::ids::GlobalId;
use super::scope;
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

impl AtHand for User {
    const TYPE: &'static str = "User";
    const IS_NODE: bool = true;

    fn at_hand(&self, field: &Field, _scope: Scope<'_>) -> Option<Value> {
        at_hand(&self.view, field)
    }
}

/// What is at hand of a user, also of one who is part of another object.
pub(super) fn at_hand(view: &UserView, field: &Field) -> Option<Value> {
    match field.name.node.as_str() {
        "id" => Some(Value::String(GlobalId::User(view.id).encode())),
        "username" => Some(Value::String(view.username.clone())),
        _ => None,
    }
}

/// Somebody who writes posts and comments and likes posts.
#[Object]
impl User {
    /// Identifies the user among all nodes.
    pub async fn id(&self) -> ID {
        GlobalId::User(self.view.id).encode().into()
    }

    /// The user's name, unique whatever its case.
    async fn username(&self) -> &str {
        &self.view.username
    }

    /// Q3: the user's posts, newest first.
    async fn posts(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many posts, 1 to 100.", default = 20)] first: i32,
        #[graphql(desc = "The cursor after which the page begins.")] after: Option<String>,
    ) -> Result<One<PostConnection>> {
        let scope = scope::of(ctx);
        let arguments = PageArguments { first, after };
        let page = arguments.parse::<super::post::Post>()?;
        let posts = scope.reads(self.model).posts_of_user(self.view.id, &page, scope.session()).await;
        Ok(One(connections::posts(posts.map_err(|fault| scope.fault(&fault))?, &page, self.model, scope)))
    }
}
