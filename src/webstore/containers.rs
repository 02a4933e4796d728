//! The web store's containers: names, partition keys, and the queries that their indexes serve.

use super::items::types;
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
/// The number of customers that the ranking container keeps.
pub const RANKED_CUSTOMERS_MAX: usize = 100;

/// The items that commands write, by container and the types of its items (`None` for all): everything else
/// can be made from them. The accounts container, which the domains share, is not among them.
pub const WRITE_SIDE: &[(ContainerName, Option<&[&str]>)] = &[
    (PRODUCT_META, Some(&[types::CATEGORY, types::TAG])),
    (PRODUCT, Some(&[types::PRODUCT])),
    (CUSTOMER, Some(&[types::CUSTOMER, types::SALES_ORDER])),
];

/// All containers of the web store but the accounts container.
pub const SPECS: &[ContainerSpec] = &[
    ContainerSpec {
        name: CUSTOMER,
        partition_key: "customerId",
        order_by: Some("sortKey"),
        equality: &[],
        newest_types: &[types::CUSTOMER],
        soft_deletes: true,
    },
    ContainerSpec {
        name: PRODUCT,
        partition_key: "categoryId",
        order_by: Some("name"),
        equality: &[],
        newest_types: &[],
        soft_deletes: true,
    },
    ContainerSpec {
        name: PRODUCT_META,
        partition_key: "type",
        order_by: Some("name"),
        equality: &[],
        newest_types: &[],
        soft_deletes: false,
    },
    ContainerSpec {
        name: PRODUCT_BY_TAG,
        partition_key: "tagId",
        order_by: Some("name"),
        equality: &["productId"],
        newest_types: &[],
        soft_deletes: false,
    },
    ContainerSpec {
        name: RANKING,
        partition_key: "type",
        order_by: Some("sortKey"),
        equality: &[],
        newest_types: &[],
        soft_deletes: true,
    },
];
