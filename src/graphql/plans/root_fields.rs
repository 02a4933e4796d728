//! Root fields: which queries have plans, declared once.

use super::blog_fields as blog;
use super::objects::{PointType, RootField, RootSource};
use super::webstore_fields as webstore;

/// The fields of `Query` that plans answer.
pub(super) const ROOT_FIELDS: &[RootField] = &[
    RootField { name: "node", source: RootSource::Node(NODES), has_model: false },
    RootField { name: "viewer", source: RootSource::Caller(&blog::USERS), has_model: false },
    RootField { name: "user", source: RootSource::Point(&blog::USERS), has_model: true },
    RootField { name: "post", source: RootSource::Point(&blog::POSTS), has_model: true },
    RootField { name: "feed", source: RootSource::Page(&blog::FEED), has_model: true },
    RootField { name: "product", source: RootSource::Point(&webstore::PRODUCTS), has_model: false },
    RootField {
        name: "productCategories",
        source: RootSource::All(&webstore::ALL_CATEGORIES),
        has_model: false,
    },
    RootField { name: "productTags", source: RootSource::All(&webstore::ALL_TAGS), has_model: false },
    RootField { name: "viewerCustomer", source: RootSource::Caller(&webstore::CUSTOMERS), has_model: false },
    RootField { name: "customer", source: RootSource::Point(&webstore::CUSTOMERS), has_model: false },
];

const NODES: &[&PointType] = &[
    &blog::USERS,
    &blog::POSTS,
    &blog::COMMENTS,
    &blog::LIKES,
    &webstore::PRODUCTS,
    &webstore::CATEGORIES,
    &webstore::TAGS,
    &webstore::CUSTOMERS,
    &webstore::SALES_ORDERS,
];
