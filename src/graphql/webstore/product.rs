//! The `Product` type.

use async_graphql::{Context, ID, Object, Result};
use uuid::Uuid;

use super::category::ProductCategory;
use super::decimal::MoneyValue;

use super::tag::ProductTag;
use crate::domain::ids::creation_ms;
use crate::graphql::connections::{Connection, Listed};
use crate::graphql::date_time::DateTime;
use crate::graphql::errors::{Code, error};
use crate::graphql::ids::GlobalId;
use crate::graphql::resolution::{Many, One};
use crate::graphql::scope;
use crate::graphql::staff;
use crate::webstore::reads::{CategoryView, ProductView};
use onehop_runtime::clock::format_timestamp;

/// A page of products.
pub type ProductConnection = Connection<Product>;

/// A product.
pub struct Product {
    view: ProductView,
    tags: Vec<ProductTag>,
}

impl Product {
    pub(crate) fn new(mut view: ProductView) -> Self {
        let tags = std::mem::take(&mut view.tags).into_iter().map(ProductTag::new).collect();
        Self { view, tags }
    }

    fn global_id(&self) -> GlobalId {
        GlobalId::Product(self.view.category_id, self.view.id)
    }

    fn category_of(&self) -> ProductCategory {
        let ProductView { category_id: id, category_name: name, .. } = &self.view;
        ProductCategory::new(CategoryView { id: *id, name: name.clone() })
    }
}

impl Listed for Product {
    fn place(&self) -> (&str, Uuid) {
        (&self.view.name, self.view.id.0)
    }
}

/// Something that the web store sells.
#[Object]
impl Product {
    /// Identifies the product among all nodes.
    pub async fn id(&self) -> ID {
        self.global_id().encode().into()
    }

    /// The stock keeping unit: the shop's own number of the product.
    async fn sku(&self) -> &str {
        &self.view.sku
    }

    /// The product's name.
    async fn name(&self) -> &str {
        &self.view.name
    }

    /// The description of the product.
    async fn description(&self, ctx: &Context<'_>) -> Result<String> {
        if let Some(description) = &self.view.description {
            return Ok(description.clone());
        }
        let scope = scope::of(ctx);
        let reads = &scope.services().webstore.reads;
        let product = reads.product(self.view.category_id, self.view.id, scope.ledger()).await;
        let product = product.map_err(|fault| scope.fault(&fault))?;
        let description = product.and_then(|product| product.description);
        description.ok_or_else(|| error(Code::NotFound, "The product was deleted."))
    }

    /// The price of one.
    async fn price(&self) -> One<MoneyValue> {
        One(MoneyValue(self.view.money()))
    }

    /// Whether the product is out of stock. Orders of it are refused until staff change that.
    async fn is_sold_out(&self) -> bool {
        self.view.is_sold_out
    }

    /// When the product was created, as its id states; null for an id of another form.
    async fn creation_date(&self) -> Option<DateTime> {
        creation_ms(self.view.id.0).map(|date_ms| DateTime(format_timestamp(date_ms)))
    }

    /// The category that the product belongs to.
    async fn category(&self) -> One<ProductCategory> {
        One(self.category_of())
    }

    /// Whether the caller may change the product: staff.
    async fn viewer_can_update(&self, ctx: &Context<'_>) -> bool {
        staff::viewer_is_staff(scope::of(ctx))
    }

    /// Whether the caller may delete the product: staff.
    async fn viewer_can_delete(&self, ctx: &Context<'_>) -> bool {
        staff::viewer_is_staff(scope::of(ctx))
    }

    /// The product's tags.
    async fn tags(&self) -> Many<'_, ProductTag> {
        Many(self.tags.iter().collect())
    }
}
