//! Owned items: deleted when their owner is soft-deleted, for good unless other rules have to see it. The
//! tombstone of the owner keeps new ones from being written.

mod cost;

use std::sync::Arc;

use onehop_change_feed::{Cause, Projection, ProjectionError, ReadRequest, Step, StepInput};
use onehop_runtime::planted::size;
use onehop_store::{Change, ContainerName, Direction, Item, Keyset, PartitionKey, WriteOp, limits};
use serde::{Deserialize, Serialize};

use crate::batches::in_batches;
use crate::body::Body;
use crate::item_type::{DELETED, ItemPartition, TTL};
use crate::rule::{OwnedType, OwnsRule};

/// Deletes the items that deleted owners leave behind.
#[derive(Debug)]
pub(crate) struct OwnedItems {
    pub(crate) rule: Arc<OwnsRule>,
    pub(crate) types: [&'static str; 1],
    /// The property that orders the items of each owned type.
    pub(crate) orders: Vec<Option<&'static str>>,
}

/// The position of a deletion: the owned type, and the last item that was looked at.
#[derive(Debug, Default, Serialize, Deserialize)]
struct OwnedPosition {
    place: usize,
    after: Option<Keyset>,
}

impl Projection for OwnedItems {
    fn name(&self) -> &'static str {
        self.rule.name
    }

    fn source(&self) -> ContainerName {
        self.rule.owner.container
    }

    fn types(&self) -> Option<&[&'static str]> {
        Some(&self.types)
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        // A state of an earlier version of the program is dropped: the deletion begins anew.
        let position = input.state::<OwnedPosition>().unwrap_or_default();
        let Some(OwnedPosition { place, .. }) = position.filter(|_| !input.results.is_empty()) else {
            let owner = Body::selected(&change.item, &[])?;
            owner.required_version()?;
            let first = OwnedPosition::default();
            return Ok(if owner.is_deleted() {
                self.ask(&change.partition_key, first)
            } else {
                Step::done()
            });
        };
        let (Some(owned), page) = (self.rule.owned.get(place), input.page(0)?) else {
            return Ok(Step::done());
        };
        let cause = Cause::Projection(self.rule.name.to_owned());
        let mut deletions = Vec::new();
        for item in &*page.items {
            if self.is_alone() || Body::selected(item, &[owned.by])?.text(owned.by)? == change.id {
                deletions.push(owned.deletion(item, &cause)?);
            }
        }
        let next = match page.items.last().filter(|_| page.has_more) {
            Some(last) => OwnedPosition { place, after: self.after(place, last)? },
            None => OwnedPosition { place: place + 1, after: None },
        };
        let writes = in_batches(self.rule.owner.container, &change.partition_key, deletions);
        Ok(self.ask(&change.partition_key, next).after_writing(writes))
    }
}

impl OwnedItems {
    /// Whether all items of the owned types in the logical partition are the owner's.
    fn is_alone(&self) -> bool {
        self.rule.owner.partition == ItemPartition::Id
    }

    /// Where the next page begins. Deleted items are in no page, so one without items of other owners begins
    /// at the start.
    fn after(&self, place: usize, last: &Item) -> Result<Option<Keyset>, ProjectionError> {
        if self.is_alone() {
            return Ok(None);
        }
        let order_by = self.orders.get(place).copied().flatten();
        let fields: Vec<_> = order_by.into_iter().collect();
        Body::selected(last, &fields)?.keyset(order_by).map(Some)
    }

    fn ask(&self, partition_key: &PartitionKey, position: OwnedPosition) -> Step {
        let Some(OwnedType { item_type: owned, .. }) = self.rule.owned.get(position.place) else {
            return Step::done();
        };
        let page = ReadRequest::Partition {
            container: owned.container,
            partition_key: partition_key.clone(),
            item_type: owned.name,
            direction: Direction::OldestFirst,
            after: position.after.clone(),
            limit: size(limits::BATCH_OPERATIONS_MAX, 4),
            order_by: None,
        };
        Step::ask(vec![page]).with_state(&position)
    }
}

impl OwnedType {
    /// The write that deletes an item after its owner.
    pub(crate) fn deletion(&self, item: &Item, cause: &Cause) -> Result<WriteOp, ProjectionError> {
        let Some(ttl_s) = self.tombstone_ttl_s else {
            return Ok(WriteOp::Delete { id: Body::selected(item, &[])?.id()?.to_owned(), if_match: None });
        };
        let mut body = Body::of(item)?;
        body.0.insert(DELETED.to_owned(), true.into());
        body.0.insert(TTL.to_owned(), ttl_s.into());
        let item_after = body.into_next_version(cause)?;
        Ok(WriteOp::Replace { item: item_after, if_match: Some(item.etag.clone()) })
    }
}
