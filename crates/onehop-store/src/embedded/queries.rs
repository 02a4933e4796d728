//! Queries: the closed set of query shapes, on the items of a logical partition and on the indexes.

use super::keys;
use super::reader::{FanOutQuery, PartitionMerge};
use super::store::{EmbeddedContainer, EmbeddedStore};
use crate::document::{can_exist, check_keyset, is_indexable};
use crate::{ContainerName, Direction, Fault, FaultKind, Keyset, Ledger, OrderIndex, Query, limits};

/// The parts of a query that all shapes have.
struct PageRequest<'a> {
    container: keys::ContainerId,
    item_type: &'a str,
    order: OrderIndex,
    direction: Direction,
    after: Option<&'a Keyset>,
    limit: usize,
    now_ms: i64,
}

impl EmbeddedStore {
    /// A page of a query: its container, and the number of physical partitions that were visited for it.
    pub(super) async fn merged_page(
        &self,
        query: &Query<'_>,
        ledger: &Ledger,
        now_ms: i64,
    ) -> Result<(ContainerName, u32, PartitionMerge), Fault> {
        match *query {
            Query::Partition { container, partition_key, item_type, order_by, direction, after, limit } => {
                let EmbeddedContainer { id, spec, .. } = self.container(container)?;
                let (container_id, order) = (*id, spec.order_index(item_type, order_by)?);
                let limit = limit.min(limits::PAGE_ITEMS_MAX);
                let page = PageRequest {
                    container: container_id,
                    item_type,
                    order,
                    direction,
                    after,
                    limit,
                    now_ms,
                };
                let merged = self.page_of_partition(partition_key.as_str(), &page, ledger).await?;
                Ok((container, 1, merged))
            }
            Query::Equality { container, path, value, item_type, order_by, direction, after, limit } => {
                let EmbeddedContainer { id, spec, .. } = self.container(container)?;
                let order = spec.order_index(item_type, order_by)?;
                let index = spec.equality.iter().position(|indexed| *indexed == path).ok_or_else(|| {
                    Fault::new(FaultKind::Internal, format!("{container} has no index on {path}"))
                })?;
                let index = u8::try_from(index).unwrap_or(u8::MAX);
                ledger.touch(|| self.marks.of_container(*id));
                check_keyset(after)?;
                let page = PageRequest { container: *id, item_type, order, direction, after, limit, now_ms };
                let merged = if is_indexable(value) && is_indexable(item_type) {
                    let segment = keys::type_in_order(item_type, order);
                    let prefix = |physical| keys::equality_prefix(*id, physical, index, value, &segment);
                    self.fan_out(&page, (0..self.partitions).map(prefix).collect()).page()?
                } else {
                    PartitionMerge::default()
                };
                Ok((container, u32::from(self.partitions), merged))
            }
            Query::Newest { container, item_type, order_by, direction, after, limit } => {
                let EmbeddedContainer { id, spec, .. } = self.container(container)?;
                let order = spec.order_index(item_type, order_by)?;
                if !spec.newest_types.contains(&item_type) {
                    let message = format!("{container} has no index on the newest {item_type}");
                    return Err(Fault::new(FaultKind::Internal, message));
                }
                ledger.touch(|| self.marks.of_container(*id));
                check_keyset(after)?;
                let page = PageRequest { container: *id, item_type, order, direction, after, limit, now_ms };
                let segment = keys::type_in_order(item_type, order);
                let prefix = |physical| keys::newest_prefix(*id, physical, &segment);
                let merged = self.fan_out(&page, (0..self.partitions).map(prefix).collect()).page()?;
                Ok((container, u32::from(self.partitions), merged))
            }
        }
    }

    /// A page of a logical partition: of its items, or of the index of a further order.
    async fn page_of_partition(
        &self,
        partition_key: &str,
        page: &PageRequest<'_>,
        ledger: &Ledger,
    ) -> Result<PartitionMerge, Fault> {
        let mark = self.marks.of_partition(page.container, partition_key);
        ledger.touch(|| mark);
        check_keyset(page.after)?;
        if !can_exist(partition_key, "") || !is_indexable(page.item_type) {
            return Ok(PartitionMerge::default());
        }
        let (items, has_more) = if page.order == OrderIndex::Main {
            let prefix = keys::live_prefix(page.container, partition_key, page.item_type);
            let PageRequest { direction, after, limit, now_ms, .. } = *page;
            self.partition_page(mark, &prefix, direction, after, limit, now_ms).await?
        } else {
            let physical = keys::physical_partition(partition_key, self.partitions);
            let segment = keys::type_in_order(page.item_type, page.order);
            let prefix = keys::order_prefix(page.container, physical, partition_key, &segment);
            let merged = self.fan_out(page, vec![prefix]).page()?;
            (merged.items, merged.has_more)
        };
        let asked = self.calibration.ordered_pages().items_per_partition(1, page.limit);
        let returned = (items.len() + usize::from(has_more)).min(asked);
        Ok(PartitionMerge { items, has_more, returned })
    }

    /// A query of the parts of an index with these prefixes.
    fn fan_out<'a>(&'a self, page: &PageRequest<'a>, prefixes: Vec<Vec<u8>>) -> FanOutQuery<'a> {
        FanOutQuery {
            engine: &self.engine,
            client: self.calibration.ordered_pages(),
            container: page.container,
            item_type: page.item_type,
            order: page.order,
            prefixes,
            direction: page.direction,
            after: page.after,
            limit: page.limit.min(limits::PAGE_ITEMS_MAX),
            now_ms: page.now_ms,
        }
    }
}
