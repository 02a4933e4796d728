//! The queries of the web store.

use async_graphql::{Context, ID, Object, Result};

use super::category::ProductCategory;
use super::nodes;
use super::product::Product;

use super::tag::ProductTag;
use crate::graphql::connections::page_of;
use crate::graphql::errors::bad_input;
use crate::graphql::ids::{GlobalId, InvalidId};
use crate::graphql::query::search_words;
use crate::graphql::resolution::{All, One};
use crate::graphql::scope;
use crate::graphql::staff;

/// The part of the root of all reads that is about the web store.
#[derive(Default)]
pub struct WebstoreQuery;

/// Reads of the web store.
#[Object]
impl WebstoreQuery {
    /// Whether the caller is staff, and may change the catalogue, ship orders, see all customers and moderate
    /// the blog; false for anonymous requests and for customers.
    async fn viewer_is_staff(&self, ctx: &Context<'_>) -> bool {
        staff::viewer_is_staff(scope::of(ctx))
    }

    /// A product; null when it does not exist, or no longer.
    async fn product(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The product's id.")] id: ID,
    ) -> Result<Option<One<Product>>> {
        match GlobalId::decode(&id) {
            Ok(GlobalId::Product(category, id)) => {
                Ok(nodes::product(scope::of(ctx), category, id).await?.map(One))
            }
            Ok(_) => Err(bad_input("id", "is not the id of a product")),
            Err(InvalidId) => Err(bad_input("id", InvalidId)),
        }
    }

    /// The products with all these words in their names, by name; a word may be the beginning of one. It
    /// looks at 1,000 products at most, category after category, and its charge grows with them.
    async fn search_products(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Words, 1 to 100 characters.")] query: String,
        #[graphql(desc = "The most products, 1 to 100.", default = 20)] first: i32,
    ) -> Result<Option<All<Product>>> {
        let words = search_words(&query)?;
        let scope = scope::of(ctx);
        let page = page_of(first, None)?;
        let found = scope.services().webstore.reads.search_products(&words, &page, scope.ledger()).await;
        let found = found.map_err(|fault| scope.fault(&fault))?;
        Ok(Some(All(found.into_iter().map(Product::new).collect())))
    }

    /// All categories, by name.
    async fn product_categories(&self, ctx: &Context<'_>) -> Result<Option<All<ProductCategory>>> {
        let scope = scope::of(ctx);
        let categories = scope.services().webstore.reads.categories(scope.ledger()).await;
        let categories = categories.map_err(|fault| scope.fault(&fault))?;
        Ok(Some(All(categories.into_iter().map(ProductCategory::new).collect())))
    }

    /// All tags, by name.
    async fn product_tags(&self, ctx: &Context<'_>) -> Result<Option<All<ProductTag>>> {
        let scope = scope::of(ctx);
        let tags = scope.services().webstore.reads.tags(scope.ledger()).await;
        let tags = tags.map_err(|fault| scope.fault(&fault))?;
        Ok(Some(All(tags.into_iter().map(ProductTag::new).collect())))
    }
}
