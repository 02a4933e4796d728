//! The web store's read models, as the article draws its final design. Projections, verification, repair and
//! the diagram in docs/read-models.md follow from these rules.
//!
//! Source: "Data modeling and partitioning for relational workloads", its final design.

use std::sync::LazyLock;

use onehop_read_models::{CopyTarget, ItemType, ListPartition::*, ReadModels, Rule, copy, count, list};

use super::containers::{
    CUSTOMER as CUSTOMERS, PRODUCT as PRODUCTS, PRODUCT_BY_TAG, PRODUCT_META, RANKED_CUSTOMERS_MAX, RANKING,
    SPECS,
};
use super::items::{RANK_KEY, types};

pub static CATEGORY: LazyLock<ItemType> =
    LazyLock::new(|| ItemType::new(PRODUCT_META, types::CATEGORY, &["name"]).in_partition(types::CATEGORY));
pub static TAG: LazyLock<ItemType> =
    LazyLock::new(|| ItemType::new(PRODUCT_META, types::TAG, &["name"]).in_partition(types::TAG));
pub static PRODUCT: LazyLock<ItemType> = LazyLock::new(|| {
    ItemType::new(
        PRODUCTS,
        types::PRODUCT,
        &[
            "categoryId",
            "categoryName",
            "sku",
            "name",
            "description",
            "price",
            "currencyCode",
            "tags",
            "tags[].id",
            "tags[].name",
        ],
    )
    .partitioned_by("categoryId")
});
pub static CUSTOMER: LazyLock<ItemType> = LazyLock::new(|| {
    ItemType::new(
        CUSTOMERS,
        types::CUSTOMER,
        &[
            "customerId",
            "title",
            "firstName",
            "lastName",
            "emailAddress",
            "phoneNumber",
            "creationDate",
            "addresses",
            "salesOrderCount",
            "sortKey",
        ],
    )
});
pub static SALES_ORDER: LazyLock<ItemType> = LazyLock::new(|| {
    ItemType::new(
        CUSTOMERS,
        types::SALES_ORDER,
        &["customerId", "details[].sku", "details[].name", "details[].price", "sortKey"],
    )
    .partitioned_by("customerId")
});

/// The fields of a short copy of a product.
const SHORT_PRODUCT: &[&str] =
    &["categoryId", "categoryName", "sku", "name", "price", "currencyCode", "tags"];
/// The fields of a short copy of a customer.
const RANKED: &[&str] =
    &["firstName", "lastName", "emailAddress", "creationDate", "salesOrderCount", "sortKey"];

pub const CATEGORY_NAMES: &str = "category-names";
pub const TAG_NAMES: &str = "tag-names";
pub const PRODUCT_CATCH_UP: &str = "product-catch-up";
pub const PRODUCTS_BY_TAG: &str = "products-by-tag";
pub const RANKED_CUSTOMERS: &str = "ranking";

#[rustfmt::skip]
fn rules() -> Vec<Rule> { vec![
    copy(CATEGORY_NAMES).of(&CATEGORY, "name").to([CopyTarget::new(&PRODUCT, "categoryName", "categoryId")]).follows(PRODUCT_CATCH_UP),
    copy(TAG_NAMES).of(&TAG, "name").to([CopyTarget::new(&PRODUCT, "tags[].name", "tags[].id").through(PRODUCTS_BY_TAG)]).follows(PRODUCT_CATCH_UP),
    list(PRODUCTS_BY_TAG).of(&PRODUCT).into(PRODUCT_BY_TAG, Element("tags[].id")).fields(SHORT_PRODUCT).element_fields("tagId", "productId").all(),
    list(RANKED_CUSTOMERS).of(&CUSTOMER).into(RANKING, Constant("customer")).fields(RANKED).optional(&["title", "phoneNumber"]).highest(RANKED_CUSTOMERS_MAX),
    count(&SALES_ORDER).as_text("sortKey", RANK_KEY).into(&CUSTOMER, "salesOrderCount", "customerId"),
    copy("order-line-names").of(&PRODUCT, "name").to([CopyTarget::new(&SALES_ORDER, "details[].name", "details[].sku")]).frozen(),
    copy("order-line-prices").of(&PRODUCT, "price").to([CopyTarget::new(&SALES_ORDER, "details[].price", "details[].sku")]).frozen(),
] }

/// The declaration.
///
/// # Panics
/// A mistake in the declaration, which a test finds.
#[must_use]
pub fn read_models() -> ReadModels {
    ReadModels::new(SPECS, rules()).unwrap_or_else(|errors| panic!("the web store's read models: {errors:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declaration_is_free_of_mistakes() {
        let names: Vec<_> = read_models().projections().iter().map(|projection| projection.name()).collect();
        assert_eq!(names, [CATEGORY_NAMES, TAG_NAMES, PRODUCT_CATCH_UP, PRODUCTS_BY_TAG, RANKED_CUSTOMERS]);
    }
}
