//! The closed set of query shapes, point reads and counts over a read view.

use std::sync::Arc;

use onehop_store::{Direction, Item, Keyset, OrderIndex, PartitionKey, QueryPage, limits};

use super::container::{Content, LogicalPartition};
use super::hash_range::point_of;
use super::read_view::ReadView;

/// The common parts of the shapes of a query.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryShape<'a> {
    /// `None` for all logical partitions.
    pub(super) partition_key: Option<&'a PartitionKey>,
    pub(super) item_type: &'a str,
    /// A property, by its place among the equality paths of the container, and its value.
    pub(super) equality: Option<(usize, &'a str)>,
    pub(super) order: OrderIndex,
    pub(super) direction: Direction,
    pub(super) after: Option<&'a Keyset>,
    pub(super) limit: usize,
}

/// A page, and the bytes of its items.
pub(super) struct ReadPage {
    pub(super) page: QueryPage,
    pub(super) bytes: usize,
}

type Row<'a> = (&'a str, &'a str, &'a str, &'a Arc<Content>);

impl ReadView<'_> {
    pub(super) fn item(&self, partition_key: &PartitionKey, id: &str) -> Option<Item> {
        let logical = self.container.logical.get(partition_key.as_str())?;
        let content = logical.items.get(id)?.content_at(self.lsn_at(logical.point), self.now_ms)?;
        Some(content.item.clone())
    }

    pub(super) fn count(&self, partition_key: &PartitionKey, item_type: &str) -> u64 {
        let Some(logical) = self.container.logical.get(partition_key.as_str()) else { return 0 };
        self.rows(logical, item_type, OrderIndex::Main).count() as u64
    }

    pub(super) fn page(&self, shape: QueryShape<'_>) -> ReadPage {
        let mut rows: Vec<Row<'_>> = match shape.partition_key {
            Some(key) => {
                let logical = self.container.logical.get(key.as_str());
                logical
                    .into_iter()
                    .flat_map(|logical| self.rows(logical, shape.item_type, shape.order))
                    .collect()
            }
            None => {
                let all = self.container.logical.values();
                all.flat_map(|logical| self.rows(logical, shape.item_type, shape.order)).collect()
            }
        };
        rows.retain(|(order, id, _, content)| {
            let is_equal = |(path, value): (usize, &str)| content.properties.equality[path] == value;
            shape.equality.is_none_or(is_equal) && self.is_after((order, id), shape)
        });
        rows.sort_unstable_by_key(|(order, id, key, _)| (*order, *id, *key));
        if shape.direction == Direction::NewestFirst {
            rows.reverse();
        }
        let limit = shape.limit.min(limits::PAGE_ITEMS_MAX);
        let has_more = rows.len() > limit;
        let items: Arc<[Item]> =
            rows.iter().take(limit).map(|(_, _, _, content)| content.item.clone()).collect();
        let bytes = items.iter().map(|item| item.body.len()).sum();
        ReadPage { page: QueryPage { items, has_more }, bytes }
    }

    /// The places of a query: its logical partition's physical partition, or all of them.
    pub(super) fn places(&self, partition_key: Option<&PartitionKey>) -> Vec<usize> {
        match partition_key {
            Some(key) => vec![self.container.place_of(point_of(self.container.spec.name, key))],
            None => (0..self.container.partitions.len()).collect(),
        }
    }

    /// The items of a type that a query sees: order value, id, partition key, content.
    fn rows<'a>(
        &'a self,
        logical: &'a LogicalPartition,
        item_type: &'a str,
        order: OrderIndex,
    ) -> impl Iterator<Item = Row<'a>> + 'a {
        let (lsn, spec) = (self.lsn_at(logical.point), &self.container.spec);
        logical.items.iter().filter_map(move |(id, chain)| {
            let content = chain.content_at(lsn, self.now_ms)?;
            let properties = &content.properties;
            let is_deleted = spec.soft_deletes && properties.deleted;
            if is_deleted || properties.item_type != item_type {
                return None;
            }
            Some((properties.value_in(order), &**id, &*logical.key, content))
        })
    }

    fn is_after(&self, place: (&str, &str), shape: QueryShape<'_>) -> bool {
        let Some(after) = shape.after else { return true };
        let is_ordered = self.container.spec.order_of(shape.item_type).is_some();
        let order = if is_ordered { after.order_value.as_str() } else { "" };
        match shape.direction {
            Direction::OldestFirst => place > (order, after.id.as_str()),
            Direction::NewestFirst => place < (order, after.id.as_str()),
        }
    }
}
