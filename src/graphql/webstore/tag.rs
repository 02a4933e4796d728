//! The `ProductTag` type.

use async_graphql::{Context, ID, Object, Result};

use super::product::{Product, ProductConnection};

use crate::graphql::connections::PageArguments;
use crate::graphql::ids::GlobalId;
use crate::graphql::resolution::One;
use crate::graphql::scope;
use crate::graphql::staff;
use crate::webstore::reads::{PRODUCTS_OF_TAG, TagView};

/// A tag.
pub struct ProductTag(pub(super) TagView);

impl ProductTag {
    pub(crate) fn new(view: TagView) -> Self {
        Self(view)
    }
}

/// A tag of products; a product may have several.
#[Object]
impl ProductTag {
    /// Identifies the tag among all nodes.
    pub async fn id(&self) -> ID {
        GlobalId::ProductTag(self.0.id).encode().into()
    }

    /// The tag's name.
    async fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether the caller may change the tag: staff.
    async fn viewer_can_update(&self, ctx: &Context<'_>) -> bool {
        staff::viewer_is_staff(scope::of(ctx))
    }

    /// The products with the tag, by name. They follow changes of products within moments.
    async fn products(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The number of products, 1 to 100.", default = 20)] first: i32,
        #[graphql(desc = "The cursor after which the page begins.")] after: Option<String>,
    ) -> Result<One<ProductConnection>> {
        let scope = scope::of(ctx);
        let page = PageArguments { first, after }.parse(PRODUCTS_OF_TAG.of(self.0.id.0))?;
        let products =
            scope.services().webstore.reads.products_of_tag(self.0.id, &page.request, scope.ledger()).await;
        let products = products.map_err(|fault| scope.fault(&fault))?;
        Ok(One(ProductConnection::new(products, &page, Product::new)))
    }
}
