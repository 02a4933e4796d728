//! The payloads of the web store's mutations: the writes of a command.

use async_graphql::{ID, SimpleObject};

use super::category::ProductCategory;
use super::product::Product;
use super::tag::ProductTag;
use crate::graphql::resolution::One;

/// The category that was made.
#[derive(SimpleObject)]
pub struct CreateProductCategoryPayload {
    /// The new category.
    pub(super) product_category: One<ProductCategory>,
}

/// The category that was renamed.
#[derive(SimpleObject)]
pub struct UpdateProductCategoryPayload {
    /// The category. Its products follow within moments.
    pub(super) product_category: One<ProductCategory>,
}

/// The tag that was made.
#[derive(SimpleObject)]
pub struct CreateProductTagPayload {
    /// The new tag.
    pub(super) product_tag: One<ProductTag>,
}

/// The tag that was renamed.
#[derive(SimpleObject)]
pub struct UpdateProductTagPayload {
    /// The tag. Its products follow within moments.
    pub(super) product_tag: One<ProductTag>,
}

/// The product that was made.
#[derive(SimpleObject)]
pub struct CreateProductPayload {
    /// The new product.
    pub(super) product: One<Product>,
}

/// The product that was changed.
#[derive(SimpleObject)]
pub struct UpdateProductPayload {
    /// The product.
    pub(super) product: One<Product>,
}

/// The product that is gone.
#[derive(SimpleObject)]
pub struct DeleteProductPayload {
    /// The id that the product had.
    pub(super) deleted_product_id: ID,
}
