//! The web store's containers, by the names that commands and reads use. Their partition keys and indexes
//! follow from the model.

use std::sync::LazyLock;

use super::items::types;
use super::model::MODEL;
use crate::domain::containers::WrittenItems;
use onehop_read_models::container_specs;
use onehop_store::{ContainerName, ContainerSpec};

/// The customer and the customer's orders, by customer.
pub const CUSTOMER: ContainerName = ContainerName("customer");
/// Products with copies of the names of their category and tags, by category.
pub const PRODUCT: ContainerName = ContainerName("product");
/// Categories and tags: two lookup lists, one logical partition each.
pub const PRODUCT_META: ContainerName = ContainerName("productMeta");
/// Short copies of products, by tag: one for each tag of a product.
pub const PRODUCT_BY_TAG: ContainerName = ContainerName("productByTag");
/// Short copies of the customers with most orders, all in one logical partition.
pub const RANKING: ContainerName = ContainerName("ranking");

/// The ranking's only partition key.
pub const RANKING_PARTITION: &str = types::CUSTOMER;

/// The items that commands write, by container and the types of its items (`None` for all): everything else
/// can be made from them. The accounts container, which the domains share, is not among them.
pub const WRITE_SIDE: &[WrittenItems] = &[
    (PRODUCT_META, Some(&[types::CATEGORY, types::TAG])),
    (PRODUCT, Some(&[types::PRODUCT])),
    (CUSTOMER, Some(&[types::CUSTOMER, types::SALES_ORDER])),
];

/// All containers of the web store but the accounts container.
///
/// # Panics
/// A mistake in the model, which a test finds.
pub static SPECS: LazyLock<Vec<ContainerSpec>> = LazyLock::new(|| {
    container_specs(&MODEL).unwrap_or_else(|errors| panic!("the web store's model: {errors:?}"))
});
