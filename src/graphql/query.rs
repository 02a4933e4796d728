//! The queries of the blog, and `node`. The `model` of a field holds for everything under it.

use async_graphql::{Context, ID, Object, Result};
use futures::future::try_join_all;

use super::comparison::{self, ReadPlan, ReadRequest};
use super::connections::{self, PageArguments, PostConnection};
use super::errors::{self, Code, bad_input};
use super::ids::{GlobalId, InvalidId};
use super::model::DataModel;
use super::node::{self, SomeNode};
use super::post::Post;
use super::resolution::One;
use super::schema::SchemaOptions;
use super::scope;
use super::scope::RequestScope;
use super::user::User;
use crate::accounts::Username;
use crate::blog::commands::{TAG_CHARS_MAX, normalised_tag};
use crate::blog::ids::UserId;
use crate::blog::reads;
use crate::blog::reads::cursor::FEED;
use crate::blog::reads::{Page, PostSearch, PostSearchPage, TaggedPosts};
use crate::domain::search::{SEARCH_CHARS_MAX, SearchWords};

/// The most nodes that are read by one field.
pub(super) const NODES_MAX: usize = 100;

/// The part of the root of all reads that is about the blog.
#[derive(Default)]
pub struct BlogQuery;

/// Reads of the blog.
#[Object]
impl BlogQuery {
    /// The object with this id; null when it does not exist, or no longer.
    async fn node(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The id of a node of the blog or of the web store.")] id: ID,
    ) -> Result<Option<SomeNode>> {
        let id = GlobalId::decode(&id).map_err(|invalid| bad_input("id", invalid))?;
        node::find(scope::of(ctx), id).await
    }

    /// The objects with these ids, in their order; null for each that does not exist, or no longer.
    async fn nodes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The ids of nodes of the blog or of the web store, at most 100.")] ids: Vec<ID>,
    ) -> Result<Option<Vec<Option<SomeNode>>>> {
        let scope = scope::of(ctx);
        if ids.len() > NODES_MAX {
            return Err(bad_input("ids", format_args!("must be at most {NODES_MAX}, are {}", ids.len())));
        }
        let ids = ids.iter().map(|id| GlobalId::decode(id)).collect::<Result<Vec<_>, _>>();
        let ids = ids.map_err(|invalid| bad_input("ids", invalid))?;
        try_join_all(ids.into_iter().map(|id| node::find(scope, id))).await.map(Some)
    }

    /// The signed-in user; null for anonymous requests.
    async fn viewer(&self, ctx: &Context<'_>) -> Result<Option<One<User>>> {
        let scope = scope::of(ctx);
        match scope.viewer() {
            Some(id) => find_user(scope, id, reads::DataModel::V3).await,
            None => Ok(None),
        }
    }

    /// Q1: a user; null for an unknown id.
    async fn user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user's id.")] id: ID,
        #[graphql(desc = "The data model that answers.", default_with = "DataModel::V3")] model: DataModel,
    ) -> Result<Option<One<User>>> {
        match GlobalId::decode(&id) {
            Ok(GlobalId::User(id)) => find_user(scope::of(ctx), id, model.into()).await,
            Ok(_) => Err(bad_input("id", "is not the id of a user")),
            Err(InvalidId) => Err(bad_input("id", InvalidId)),
        }
    }

    /// The user with this name in any case; null for an unknown name.
    async fn user_by_username(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user's name.")] username: String,
        #[graphql(desc = "The data model that answers.", default_with = "DataModel::V3")] model: DataModel,
    ) -> Result<Option<One<User>>> {
        let (scope, model) = (scope::of(ctx), model.into());
        // A text that is no username has no user.
        let Ok(username) = Username::parse(&username) else {
            return Ok(None);
        };
        let user = scope.reads(model).user_by_username(username.normalized().as_str(), scope.session()).await;
        Ok(user.map_err(|fault| scope.fault(&fault))?.map(|view| One(User::new(view, model))))
    }

    /// Q2: a post; null when it does not exist, or no longer.
    async fn post(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The post's id.")] id: ID,
        #[graphql(desc = "The data model that answers.", default_with = "DataModel::V3")] model: DataModel,
    ) -> Result<Option<One<Post>>> {
        let (scope, model) = (scope::of(ctx), model.into());
        let id = match GlobalId::decode(&id) {
            Ok(GlobalId::Post(id)) => id,
            Ok(_) => return Err(bad_input("id", "is not the id of a post")),
            Err(InvalidId) => return Err(bad_input("id", InvalidId)),
        };
        let post = scope.reads(model).post(id, scope.session()).await.map_err(|fault| scope.fault(&fault))?;
        Ok(post.map(|view| One(Post::new(view, model))))
    }

    /// Q6: the most recent posts, newest first. In V3 at most the 100 that the feed container keeps.
    async fn feed(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The number of posts, 1 to 100.", default = 20)] first: i32,
        #[graphql(desc = "The cursor after which the page begins.")] after: Option<String>,
        #[graphql(desc = "The data model that answers.", default_with = "DataModel::V3")] model: DataModel,
    ) -> Result<Option<One<PostConnection>>> {
        let (scope, model) = (scope::of(ctx), model.into());
        let page = PageArguments { first, after }.parse(FEED.single())?;
        let posts = scope.reads(model).feed(&page.request, scope.session()).await;
        let posts = posts.map_err(|fault| scope.fault(&fault))?;
        Ok(Some(One(connections::posts(posts, &page, model, scope))))
    }

    /// The posts with a tag, newest first. Tags are compared in lower case.
    async fn posts_by_tag(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The tag, in any case.")] tag: String,
        #[graphql(desc = "The number of posts, 1 to 100.", default = 20)] first: i32,
        #[graphql(desc = "The cursor after which the page begins.")] after: Option<String>,
    ) -> Result<Option<One<PostConnection>>> {
        let Some(tag) = normalised_tag(&tag) else {
            let rule = format_args!("must have 1 to {TAG_CHARS_MAX} letters, digits and + # . -");
            return Err(bad_input("tag", rule));
        };
        let scope = scope::of(ctx);
        let page = PageArguments { first, after }.parse(TaggedPosts::list(&tag))?;
        let posts = scope.services().reads.tagged().page(&tag, &page.request, scope.session()).await;
        let posts = posts.map_err(|fault| scope.fault(&fault))?;
        Ok(Some(One(connections::posts(posts, &page, reads::DataModel::V3, scope))))
    }

    /// The posts with all these words in their titles, newest first; a word may be the beginning of one. A
    /// page looks at 1,000 posts at most, so it may have fewer posts than `first` although more follow. It
    /// reads across partitions, and its charge grows with the posts that it looks at.
    async fn search_posts(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Words, 1 to 100 characters.")] query: String,
        #[graphql(desc = "The number of posts, 1 to 100.", default = 20)] first: i32,
        #[graphql(desc = "The cursor after which the page begins.")] after: Option<String>,
    ) -> Result<Option<One<PostConnection>>> {
        let words = search_words(&query)?;
        let scope = scope::of(ctx);
        let page = PageArguments { first, after }.parse(PostSearch::list(&words))?;
        let found = scope.services().reads.search().page(&words, &page.request, scope.session()).await;
        let PostSearchPage { posts, end } = found.map_err(|fault| scope.fault(&fault))?;
        let posts = Page { items: posts, has_next: end.is_some() };
        let connection = connections::posts(posts, &page, reads::DataModel::V3, scope);
        Ok(Some(One(connection.ending_at(&page, end))))
    }

    /// Runs one read request of the article under each data model, on the live data, and returns the
    /// operations of each read. It writes nothing, and its charge is the sum of all plans. `FORBIDDEN`
    /// where the server does not show its operations on the store.
    async fn comparison(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The request.")] request: ReadRequest,
        #[graphql(desc = "A user's id for Q1 and Q3, a post's for Q2, Q4 and Q5; Q6 has no use for one.")]
        id: Option<ID>,
        #[graphql(desc = "The number of items of a list, 1 to 100.", default = 20)] first: i32,
    ) -> Result<Option<Vec<ReadPlan>>> {
        if !ctx.data_unchecked::<SchemaOptions>().operations {
            return Err(errors::error(Code::Forbidden, "The comparison is switched off on this server."));
        }
        comparison::compare(scope::of(ctx), request, id.as_ref(), first).await.map(Some)
    }
}

/// The words of a search.
///
/// # Errors
/// `BAD_USER_INPUT` for `query`.
pub(super) fn search_words(text: &str) -> Result<SearchWords> {
    SearchWords::parse(text).ok_or_else(|| {
        let rule = format_args!("must have 1 to {SEARCH_CHARS_MAX} characters, and a letter or a digit");
        bad_input("query", rule)
    })
}

async fn find_user(scope: &RequestScope, id: UserId, model: reads::DataModel) -> Result<Option<One<User>>> {
    let user = scope.reads(model).user(id, scope.session()).await.map_err(|fault| scope.fault(&fault))?;
    Ok(user.map(|view| One(User::new(view, model))))
}
