//! Repair of bounded lists: brings the entry of an item up to date, adds it where it belongs, and takes
//! surplus entries out.
//!
//! Every batch that adds an entry also writes the last listed entry, as the projection does. An item of a
//! ranking that goes down leaves the list short in the same batch, and then the highest items are repaired,
//! because one of them may be missing.

use super::exact::{Stored, is_listed};
use super::findings::unexpected_shape;
use super::repair::{EntryWrite, TRIES_MAX, delete};
use super::verifier::Verifier;
use crate::body::Body;
use crate::list_newest::LISTING_FACTOR;
use crate::listing::Listing;
use crate::rule::{Keep, ListPartition, ListRule};
use onehop_store::{Direction, Fault, Keyset, Ledger, PartitionKey, Query, WriteOp, limits};

/// A bounded list as its rule declares it.
struct BoundedRule<'a> {
    rule: &'a ListRule,
    items_max: usize,
    key: PartitionKey,
    order_by: &'static str,
}

/// The effect of the repair of an entry.
#[derive(Default)]
struct EntryRepair {
    written: bool,
    /// Whether an entry left a ranking.
    left: bool,
}

impl Verifier {
    pub(super) async fn repair_bounded(&self, rule: &ListRule, id: &str) -> Result<bool, Fault> {
        let (Some(items_max), ListPartition::Constant(key)) = (rule.keep.items_max(), rule.partition) else {
            return Ok(false);
        };
        let order_by = self.declared.order_of(rule).unwrap_or_default();
        let list = BoundedRule { rule, items_max, key: PartitionKey::from(key), order_by };
        let EntryRepair { mut written, mut left } = self.repair_listed(&list, id).await?;
        for _ in 0..TRIES_MAX {
            if !left {
                break;
            }
            left = false;
            for id in self.highest(&list).await? {
                let repair = self.repair_listed(&list, &id).await?;
                written |= repair.written;
                left |= repair.left;
            }
        }
        Ok(written)
    }

    async fn repair_listed(&self, list: &BoundedRule<'_>, id: &str) -> Result<EntryRepair, Fault> {
        let mut repair = EntryRepair::default();
        for _ in 0..TRIES_MAX {
            let listing = self.listing(list).await?;
            let entry = self.read(list.rule.container, &list.key, id).await?;
            let source = self.source_of(list.rule, id, entry.as_ref(), None).await?;
            let live = entry.as_ref().filter(|entry| !entry.body.is_deleted());
            let leaves = live.is_some_and(|entry| list.leaves(&entry.body, source.as_ref()));
            let is_deleted = source.as_ref().is_some_and(|source| source.body.is_deleted());
            let may_enter = list.may_enter(&listing, source.as_ref())?;
            let write = match live.is_some() || may_enter {
                true => self.entry_write(list.rule, &list.key, entry.as_ref(), source).await?,
                false => EntryWrite::None,
            };
            let mut operations = match write {
                EntryWrite::Again => continue,
                EntryWrite::None => listing.overflow(list.items_max).collect(),
                EntryWrite::Write(operation) => match live {
                    // The entry of a deleted item stays as a tombstone.
                    Some(_) if leaves && is_deleted => list.take_out(&listing, operation),
                    Some(entry) if leaves => list.take_out(&listing, delete(entry)?),
                    Some(_) => vec![operation],
                    None => [operation].into_iter().chain(listing.room_for_one(list.items_max)).collect(),
                },
            };
            if operations.is_empty() {
                return Ok(repair);
            }
            operations.truncate(limits::BATCH_OPERATIONS_MAX);
            let written = self.batch(list.rule.container, &list.key, operations).await?;
            repair.written |= written;
            if written && leaves {
                return Ok(EntryRepair { written, left: true });
            }
        }
        Ok(repair)
    }

    async fn listing(&self, list: &BoundedRule<'_>) -> Result<Listing, Fault> {
        let query = Query::Partition {
            container: list.rule.container,
            partition_key: &list.key,
            item_type: list.rule.entry_type,
            direction: Direction::NewestFirst,
            after: None,
            limit: LISTING_FACTOR * list.items_max,
            order_by: list.rule.order_by,
        };
        let page = self.store.query(&query, &Ledger::new()).await?;
        Listing::of(&page, list.order_by).map_err(unexpected_shape)
    }

    /// The ids of the items that the list has to have.
    async fn highest(&self, list: &BoundedRule<'_>) -> Result<Vec<String>, Fault> {
        let source = &list.rule.source;
        let query = Query::Newest {
            container: source.container,
            item_type: source.name,
            after: None,
            limit: list.items_max,
            order_by: list.rule.order_by,
            direction: Direction::NewestFirst,
        };
        let page = self.store.query(&query, &Ledger::new()).await?;
        let id = |item| Ok(Body::selected(item, &[])?.id()?.to_owned());
        page.items.iter().map(id).collect::<Result<_, _>>().map_err(unexpected_shape)
    }
}

impl BoundedRule<'_> {
    /// Whether a live entry leaves its place in a ranking to another item: its item is gone or deleted, or
    /// has gone down.
    fn leaves(&self, entry: &Body, source: Option<&Stored>) -> bool {
        let Keep::Highest(_) = self.rule.keep else { return false };
        let Some(source) = source.filter(|source| !source.body.is_deleted()) else { return true };
        source.body.order_value(self.order_by).unwrap_or_default()
            < entry.order_value(self.order_by).unwrap_or_default()
    }

    fn may_enter(&self, listing: &Listing, source: Option<&Stored>) -> Result<bool, Fault> {
        let Some(source) = source.filter(|source| is_listed(self.rule, &self.key, &source.body)) else {
            return Ok(false);
        };
        let place: Keyset = source.body.keyset(Some(self.order_by)).map_err(unexpected_shape)?;
        Ok(!listing.is_full_before(&place, self.items_max))
    }

    /// The batch in which an entry leaves a ranking, by this operation.
    fn take_out(&self, listing: &Listing, operation: WriteOp) -> Vec<WriteOp> {
        let shortened = listing.shortened(&[operation.id()], self.items_max.saturating_sub(1));
        [operation].into_iter().chain(shortened).collect()
    }
}
