//! Relay connections: a page of a list as edges and nodes, and the arguments that ask for it.

use std::sync::Arc;

use async_graphql::resolver_utils::ContainerType;
use async_graphql::{Error, Object, SimpleObject};
use uuid::Uuid;

use super::comment::Comment;
use super::errors::bad_input;
use super::like::Like;
use super::loaders::PostPage;
use super::post::Post;
use super::resolution::{Many, One};
use super::scope::RequestScope;
use super::user::ModerationEntry;
use super::webstore::customer::Customer;
use super::webstore::product::Product;
use super::webstore::sales_order::SalesOrder;
use crate::blog::reads::{DataModel, FIRST_MAX, FIRST_MIN, Page, PageRequest, PostView};
use crate::domain::cursor::{self, List};
use onehop_store::Keyset;

/// A page of posts.
pub type PostConnection = Connection<Post>;
/// A page of comments.
pub type CommentConnection = Connection<Comment>;
/// A page of likes.
pub type LikeConnection = Connection<Like>;

/// An object that stands in lists.
pub(super) trait Listed: ContainerType + 'static {
    /// Where the object stands in its list: the value that orders it, and its id.
    fn place(&self) -> (&str, Uuid);
}

/// The arguments of a list, as the client gave them.
pub(super) struct PageArguments {
    pub(super) first: i32,
    pub(super) after: Option<String>,
}

impl PageArguments {
    /// The page they ask for in a list.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` for `first` or `after`.
    pub(super) fn parse(&self, list: List) -> Result<ListPage, Error> {
        let after = self.after.as_deref().map(|after| cursor::decode(list, after)).transpose();
        let after = after.map_err(|invalid| bad_input("after", invalid))?;
        Ok(ListPage { list, request: page_of(self.first, after)? })
    }
}

/// A page that is asked for, and its list.
pub(super) struct ListPage {
    list: List,
    pub(super) request: PageRequest,
}

/// The first this many items after a position.
///
/// # Errors
/// `BAD_USER_INPUT` for `first`.
pub(super) fn page_of(first: i32, after: Option<Keyset>) -> Result<PageRequest, Error> {
    let out_of_bounds = || bad_input("first", format_args!("must be {FIRST_MIN} to {FIRST_MAX}, is {first}"));
    PageRequest::new(i64::from(first), after).ok_or_else(out_of_bounds)
}

/// A page of a list.
pub struct Connection<T> {
    edges: Vec<Edge<T>>,
    has_next_page: bool,
    has_previous_page: bool,
    /// The cursor at the end of a search, which may be behind the last item.
    search_end: Option<String>,
}

/// One item of a list and where it stands.
pub struct Edge<T> {
    node: T,
    list: List,
}

/// Where a page stands in its list.
#[derive(SimpleObject)]
pub struct PageInfo {
    /// Whether more items follow this page.
    has_next_page: bool,
    /// Whether items precede this page: true whenever `after` was given.
    has_previous_page: bool,
    /// The cursor of the first item; null on an empty page.
    start_cursor: Option<String>,
    /// The cursor of the last item, to be given as `after` for the next page; null on an empty page. Of a
    /// search that goes on, the cursor of the last item that it has looked at.
    end_cursor: Option<String>,
}

/// The connection of a page of posts, which share their reads.
pub(super) fn posts(
    posts: Page<PostView>,
    page: &ListPage,
    model: DataModel,
    scope: &Arc<RequestScope>,
) -> PostConnection {
    let ids = posts.items.iter().map(|post| post.id).collect();
    let shared = Arc::new(PostPage::new(scope, model, ids));
    Connection::new(posts, page, |view| Post::on_page(view, model, Arc::clone(&shared)))
}

impl<T: Listed> Connection<T> {
    /// The connection of a page.
    pub(super) fn new<V>(found: Page<V>, page: &ListPage, node: impl Fn(V) -> T) -> Self {
        let ListPage { list, request } = page;
        Self {
            edges: found.items.into_iter().map(|view| Edge { node: node(view), list: *list }).collect(),
            has_next_page: found.has_next,
            has_previous_page: request.after().is_some(),
            search_end: None,
        }
    }

    /// The same page with the end of its search, which may be behind its last item.
    pub(super) fn ending_at(self, page: &ListPage, end: Option<Keyset>) -> Self {
        let cursor = |end: Keyset| {
            let id = Uuid::try_parse(&end.id).ok()?;
            Some(cursor::encode(page.list, &end.order_value, id))
        };
        Self { search_end: end.and_then(cursor), ..self }
    }

    fn info(&self) -> PageInfo {
        PageInfo {
            has_next_page: self.has_next_page,
            has_previous_page: self.has_previous_page,
            start_cursor: self.edges.first().map(Edge::place),
            end_cursor: self.search_end.clone().or_else(|| self.edges.last().map(Edge::place)),
        }
    }
}

impl<T: Listed> Edge<T> {
    fn place(&self) -> String {
        let (order_value, id) = self.node.place();
        cursor::encode(self.list, order_value, id)
    }
}

/// A page of a list.
#[Object(
    concrete(name = "PostConnection", params(Post)),
    concrete(name = "CommentConnection", params(Comment)),
    concrete(name = "LikeConnection", params(Like)),
    concrete(name = "ModerationEntryConnection", params(ModerationEntry)),
    concrete(name = "ProductConnection", params(Product)),
    concrete(name = "CustomerConnection", params(Customer)),
    concrete(name = "SalesOrderConnection", params(SalesOrder))
)]
impl<T: Listed> Connection<T>
where
    Edge<T>: ContainerType,
{
    /// The items with their cursors, in the order of the list.
    async fn edges(&self) -> Many<'_, Edge<T>> {
        Many(self.edges.iter().collect())
    }

    /// The items alone, in the order of the list.
    async fn nodes(&self) -> Many<'_, T> {
        Many(self.edges.iter().map(|edge| &edge.node).collect())
    }

    /// Where the page stands in the list.
    async fn page_info(&self) -> One<PageInfo> {
        One(self.info())
    }
}

/// An item of a list.
#[Object(
    concrete(name = "PostEdge", params(Post)),
    concrete(name = "CommentEdge", params(Comment)),
    concrete(name = "LikeEdge", params(Like)),
    concrete(name = "ModerationEntryEdge", params(ModerationEntry)),
    concrete(name = "ProductEdge", params(Product)),
    concrete(name = "CustomerEdge", params(Customer)),
    concrete(name = "SalesOrderEdge", params(SalesOrder))
)]
impl<T: Listed> Edge<T> {
    /// The item.
    async fn node(&self) -> One<&T> {
        One(&self.node)
    }

    /// Where the item stands in the list.
    async fn cursor(&self) -> String {
        self.place()
    }
}
