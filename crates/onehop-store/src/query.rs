//! The closed set of query shapes. An adapter renders them as it can: the embedded one on its indexes, the
//! Cosmos DB one as parametrised SQL. Soft-deleted items (`"deleted": true`) are in no query's answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ContainerName, Item, PartitionKey};

/// The direction of a query's answer in its order, and then by id. Items of several
/// logical partitions that agree in both come in any order, and a page may end between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the lowest value of the order on.
    OldestFirst,
    /// From the highest value of the order on.
    NewestFirst,
}

impl Direction {
    /// The other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::OldestFirst => Self::NewestFirst,
            Self::NewestFirst => Self::OldestFirst,
        }
    }
}

/// Where a page ended: the value of the order and the id of its last item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyset {
    /// As [`order_value_of`](crate::order_value_of) writes it.
    pub order_value: String,
    /// The id of the last item.
    pub id: String,
}

/// A question to one container. `limit` is the number of items wanted, at most
/// [`super::limits::PAGE_ITEMS_MAX`]. `order_by` is an order that the container declares for the type; `None`
/// for its main order.
#[derive(Debug, Clone)]
pub enum Query<'a> {
    /// Items of a type in one logical partition.
    Partition {
        /// The container.
        container: ContainerName,
        /// The logical partition.
        partition_key: &'a PartitionKey,
        /// The type of the items.
        item_type: &'a str,
        /// An order of the type; `None` for its main order.
        order_by: Option<&'static str>,
        /// From the oldest or from the newest.
        direction: Direction,
        /// The end of the page before; `None` for the first page.
        after: Option<&'a Keyset>,
        /// The most items of the page.
        limit: usize,
    },
    /// Items of a type whose property `path` equals `value`, in all logical partitions.
    Equality {
        /// The container.
        container: ContainerName,
        /// The indexed property.
        path: &'static str,
        /// The value of that property.
        value: &'a str,
        /// The type of the items.
        item_type: &'a str,
        /// An order of the type; `None` for its main order.
        order_by: Option<&'static str>,
        /// From the oldest or from the newest.
        direction: Direction,
        /// The end of the page before; `None` for the first page.
        after: Option<&'a Keyset>,
        /// The most items of the page.
        limit: usize,
    },
    /// The first items of a type in all logical partitions, such as the newest.
    Newest {
        /// The container.
        container: ContainerName,
        /// The type of the items.
        item_type: &'a str,
        /// An order of the type; `None` for its main order.
        order_by: Option<&'static str>,
        /// From the oldest or from the newest.
        direction: Direction,
        /// The end of the page before; `None` for the first page.
        after: Option<&'a Keyset>,
        /// The most items of the page.
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
