//! Stored container definitions: the data directory's record of each container.

use serde::{Deserialize, Serialize};

use crate::ContainerSpec;

/// The record of a container: all dependencies of its keys and index entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredContainer {
    pub(super) name: String,
    pub(super) partition_key: String,
    pub(super) order_by: Option<String>,
    /// The orders of single types: the type, and the property.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) orders: Vec<(String, String)>,
    pub(super) equality: Vec<String>,
    pub(super) newest_types: Vec<String>,
    /// Whether items may still have the keys of earlier orders and indexes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_reindexed: bool,
}

impl From<&ContainerSpec> for StoredContainer {
    fn from(spec: &ContainerSpec) -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self {
            name: spec.name.as_str().to_owned(),
            partition_key: spec.partition_key.to_owned(),
            order_by: spec.order_by.map(str::to_owned),
            orders: spec
                .orders
                .iter()
                .map(|order| (order.item_type.to_owned(), order.property.to_owned()))
                .collect(),
            equality: texts(spec.equality),
            newest_types: texts(spec.newest_types),
            is_reindexed: false,
        }
    }
}
