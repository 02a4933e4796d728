//! The `Node` interface: all objects with a global id.

use std::borrow::Cow;
use std::sync::Arc;

use async_graphql::parser::types::Field;
use async_graphql::registry::Registry;
use async_graphql::{
    ContextSelectionSet, ID, Interface, OutputType, Positioned, Result, ServerResult, Value,
};

use super::comment::Comment;
use super::ids::GlobalId;
use super::like::Like;
use super::post::Post;
use super::resolution::resolve;
use super::scope::RequestScope;
use super::user::User;
use super::webstore::nodes::{self, Customer, Product, ProductCategory, ProductTag, SalesOrder};
use crate::blog::reads::DataModel;
use onehop_store::Fault;

/// Something with an id by which it can be read again.
#[derive(Interface)]
#[graphql(name = "Node", field(name = "id", ty = "ID", desc = "Identifies the object among all nodes."))]
pub enum Node {
    User(User),
    Post(Post),
    Comment(Comment),
    Like(Like),
    Customer(Customer),
    SalesOrder(SalesOrder),
    Product(Product),
    ProductCategory(ProductCategory),
    ProductTag(ProductTag),
}

/// A node as the value of a field, resolved as its own type is.
pub struct SomeNode(Node);

impl OutputType for SomeNode {
    fn type_name() -> Cow<'static, str> {
        Node::type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        Node::create_type_info(registry)
    }

    async fn resolve(
        &self,
        ctx: &ContextSelectionSet<'_>,
        _field: &Positioned<Field>,
    ) -> ServerResult<Value> {
        match &self.0 {
            Node::User(user) => resolve(ctx, user).await,
            Node::Post(post) => resolve(ctx, post).await,
            Node::Comment(comment) => resolve(ctx, comment).await,
            Node::Like(like) => resolve(ctx, like).await,
            Node::Customer(customer) => resolve(ctx, customer).await,
            Node::SalesOrder(order) => resolve(ctx, order).await,
            Node::Product(product) => resolve(ctx, product).await,
            Node::ProductCategory(category) => resolve(ctx, category).await,
            Node::ProductTag(tag) => resolve(ctx, tag).await,
        }
    }
}

/// Reads a node from its logical partition.
pub(super) async fn find(scope: &RequestScope, id: GlobalId) -> Result<Option<SomeNode>> {
    let found = match id {
        GlobalId::User(_) | GlobalId::Post(_) | GlobalId::Comment(..) | GlobalId::Like(..) => {
            find_in_blog(scope, id).await.map_err(|fault| scope.fault(&fault))?
        }
        GlobalId::Product(category, id) => nodes::product(scope, category, id).await?.map(Node::Product),
        GlobalId::ProductCategory(id) => nodes::category(scope, id).await?.map(Node::ProductCategory),
        GlobalId::ProductTag(id) => nodes::tag(scope, id).await?.map(Node::ProductTag),
        GlobalId::Customer(id) => nodes::customer(scope, id).await?.map(Node::Customer),
        GlobalId::SalesOrder(customer, id) => {
            nodes::sales_order(scope, customer, id).await?.map(Node::SalesOrder)
        }
    };
    Ok(found.map(SomeNode))
}

async fn find_in_blog(scope: &RequestScope, id: GlobalId) -> Result<Option<Node>, Fault> {
    const MODEL: DataModel = DataModel::V3;
    let (reads, session) = (scope.reads(MODEL), scope.session());
    Ok(match id {
        GlobalId::User(id) => reads.user(id, session).await?.map(|view| Node::User(User::new(view, MODEL))),
        GlobalId::Post(id) => reads.post(id, session).await?.map(|view| Node::Post(Post::new(view, MODEL))),
        GlobalId::Comment(post, id) => reads.comment(post, id, session).await?.map(|(view, post)| {
            Node::Comment(Comment::new(view, MODEL, Some(Arc::new(Post::new(post, MODEL)))))
        }),
        GlobalId::Like(post, id) => reads
            .like(post, id, session)
            .await?
            .map(|(view, post)| Node::Like(Like::new(view, MODEL, Some(Arc::new(Post::new(post, MODEL)))))),
        _ => None,
    })
}
