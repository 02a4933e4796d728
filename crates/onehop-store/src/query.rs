//! The closed set of query shapes. An adapter renders them as it can: the embedded one on its indexes, the
//! Cosmos DB one as parametrised SQL. Soft-deleted items (`"deleted": true`) are in no query's answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ContainerName, Item, PartitionKey};

/// The direction of a query's answer in its order, and then by id. Items of several
/// logical partitions that agree in both come in any order, and a page may end between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    OldestFirst,
    NewestFirst,
}

/// Where a page ended: the value of the order property and the id of its last item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyset {
    /// As [`order_value`](crate::order_value) writes it.
    pub order_value: String,
    pub id: String,
}

/// A question to one container. `limit` is the number of items wanted, at most
/// [`super::limits::PAGE_ITEMS_MAX`]. `order_by` is an order that the container declares for the type; `None`
/// for its main order.
#[derive(Debug, Clone)]
pub enum Query<'a> {
    /// Items of a type in one logical partition.
    Partition {
        container: ContainerName,
        partition_key: &'a PartitionKey,
        item_type: &'a str,
        order_by: Option<&'static str>,
        direction: Direction,
        after: Option<&'a Keyset>,
        limit: usize,
    },
    /// Items of a type whose property `path` equals `value`, in all logical partitions.
    Equality {
        container: ContainerName,
        path: &'static str,
        value: &'a str,
        item_type: &'a str,
        order_by: Option<&'static str>,
        direction: Direction,
        after: Option<&'a Keyset>,
        limit: usize,
    },
    /// The first items of a type in all logical partitions, such as the newest.
    Newest {
        container: ContainerName,
        item_type: &'a str,
        order_by: Option<&'static str>,
        direction: Direction,
        after: Option<&'a Keyset>,
        limit: usize,
    },
}

/// A page of an answer.
#[derive(Debug, Clone, Default)]
pub struct QueryPage {
    /// Shared with the caches of the store.
    pub items: Arc<[Item]>,
    /// Whether more items follow the last one.
    pub has_more: bool,
}
