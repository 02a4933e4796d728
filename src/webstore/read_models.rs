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

    /// Rules without the lists of fields that their item types may have.
    fn comparable(rules: &[Rule]) -> Vec<Rule> {
        let bare = |item_type: &ItemType| ItemType { fields: [].into(), ..item_type.clone() };
        let rule = |rule: &Rule| match rule {
            Rule::Copy(copy) => {
                let target = |target: &onehop_read_models::CopyTarget| onehop_read_models::CopyTarget {
                    item_type: bare(&target.item_type),
                    ..target.clone()
                };
                let targets = copy.targets.iter().map(target).collect();
                Rule::Copy(
                    onehop_read_models::CopyRule { source: bare(&copy.source), targets, ..(**copy).clone() }
                        .into(),
                )
            }
            Rule::List(list) => Rule::List(
                onehop_read_models::ListRule { source: bare(&list.source), ..(**list).clone() }.into(),
            ),
            Rule::Count(count) => Rule::Count(
                onehop_read_models::CountRule {
                    counted: bare(&count.counted),
                    parent: bare(&count.parent),
                    ..(**count).clone()
                }
                .into(),
            ),
            Rule::Owns(owns) => Rule::Owns(
                onehop_read_models::OwnsRule {
                    owner: bare(&owns.owner),
                    owned: owns.owned.iter().map(bare).collect(),
                    ..(**owns).clone()
                }
                .into(),
            ),
        };
        rules.iter().map(rule).collect()
    }

    fn rendered(specs: &[onehop_store::ContainerSpec]) -> Vec<String> {
        specs.iter().filter(|spec| spec.name.as_str() != "accounts").map(|spec| format!("{spec:?}")).collect()
    }

    #[test]
    fn the_model_gives_the_rules_and_containers() {
        let model = onehop_model::Model::read("model.graphql", include_str!("model.graphql")).unwrap();
        let specs = onehop_read_models::container_specs(&model).unwrap();
        assert_eq!(rendered(&specs), rendered(SPECS));
        let names = onehop_read_models::ProjectionNames::default()
            .copy("ProductCategory.name", CATEGORY_NAMES)
            .copy("ProductTag.name", TAG_NAMES)
            .frozen_copy("Product.name", "order-line-names")
            .frozen_copy("Product.price", "order-line-prices");
        let derived = ReadModels::from_model_with(&model, &names).unwrap();
        let (derived, constant) = (comparable(derived.rules()), comparable(&rules()));
        // The copies that never change follow last. The model has the SKU among them, and no key: the command
        // finds the product.
        let following = constant.len() - 2;
        assert_eq!(derived[..following], constant[..following]);
        let names = |rules: &[Rule]| -> Vec<_> { rules.iter().filter_map(Rule::name).collect() };
        assert_eq!(
            names(&derived[following..]),
            ["Product.sku.frozen", "order-line-names", "order-line-prices"]
        );
    }
}
