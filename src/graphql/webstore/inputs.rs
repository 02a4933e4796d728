//! The inputs of the web store's mutations. Their limits are the commands' own.

use async_graphql::{ID, InputObject, MaybeUndefined};

use super::decimal::Decimal;

/// An amount of money.
#[derive(InputObject)]
pub struct MoneyInput {
    /// The amount, with no more decimals than the currency has.
    pub amount: Decimal,
    /// The currency, by ISO 4217.
    pub currency_code: String,
}

/// A new category.
#[derive(InputObject)]
pub struct CreateProductCategoryInput {
    /// 1 to 100 characters.
    pub name: String,
}

/// Another name of a category.
#[derive(InputObject)]
pub struct UpdateProductCategoryInput {
    /// The category's id.
    pub product_category_id: ID,
    /// 1 to 100 characters.
    pub name: String,
}

/// A new tag.
#[derive(InputObject)]
pub struct CreateProductTagInput {
    /// 1 to 100 characters.
    pub name: String,
}

/// Another name of a tag.
#[derive(InputObject)]
pub struct UpdateProductTagInput {
    /// The tag's id.
    pub product_tag_id: ID,
    /// 1 to 100 characters.
    pub name: String,
}

/// A new product.
#[derive(InputObject)]
pub struct CreateProductInput {
    /// The stock keeping unit: 1 to 40 characters, unique among all products in any case.
    pub sku: String,
    /// 1 to 200 characters.
    pub name: String,
    /// 1 to 2,000 characters.
    pub description: String,
    /// The price of one.
    pub price: MoneyInput,
    /// The id of the category.
    pub category_id: ID,
    /// The ids of the tags, at most 10.
    pub tag_ids: Vec<ID>,
}

/// The changes of a product; omitted fields stay.
#[derive(InputObject)]
pub struct UpdateProductInput {
    /// The product's id.
    pub product_id: ID,
    /// 1 to 200 characters.
    pub name: Option<String>,
    /// 1 to 2,000 characters.
    pub description: Option<String>,
    /// The price of one. Orders that were placed keep theirs.
    pub price: Option<MoneyInput>,
    /// Whether the product is out of stock. Orders that were placed stay.
    pub is_sold_out: Option<bool>,
    /// The ids of all tags that the product has from now on, at most 10; null removes all.
    pub tag_ids: MaybeUndefined<Vec<ID>>,
}

/// The product to delete.
#[derive(InputObject)]
pub struct DeleteProductInput {
    /// The product's id.
    pub product_id: ID,
}
