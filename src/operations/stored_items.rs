//! Stored items and entries of lists, as the operator sees them. Secrets are left out.

use async_graphql::{Json, SimpleObject};
use serde_json::Value;

use super::scalars::Count;
use crate::served::{BrowsedItem, BrowsedPage, ServedModel};

/// A page of stored items or entries.
#[derive(SimpleObject)]
pub struct StoredItemPage {
    /// The items. A page may have fewer than `first`, although more follow.
    items: Vec<StoredItem>,
    /// The position after which the next page begins; null on the last page.
    end: Option<String>,
}

/// A stored item, or an entry of a list.
#[derive(SimpleObject)]
pub struct StoredItem {
    /// The type of the item, as the model names it.
    #[graphql(name = "type")]
    type_name: String,
    /// The values of the item's partition key; several of a hierarchical key.
    partition_key: Vec<String>,
    /// The id within the logical partition.
    id: String,
    /// The id in the API.
    node_id: String,
    /// The properties, without secrets.
    body: Json<Value>,
    /// The length of the JSON, in bytes.
    bytes: Count,
    /// When the item was last written, RFC 3339; null in a list.
    written_at: Option<String>,
}

impl StoredItemPage {
    pub(super) fn of(model: &ServedModel, page: BrowsedPage) -> Self {
        let items = page.items.into_iter().map(|item| StoredItem::of(model, item));
        Self { items: items.collect(), end: page.end }
    }
}

impl StoredItem {
    pub(super) fn of(model: &ServedModel, item: BrowsedItem) -> Self {
        Self {
            type_name: model.ty(item.place.ty).name.to_owned(),
            partition_key: item.partition_values().collect(),
            node_id: item.place.encode(model),
            id: item.place.id,
            body: Json(Value::Object(item.body)),
            bytes: Count(item.bytes as u64),
            written_at: item.written_at,
        }
    }
}
