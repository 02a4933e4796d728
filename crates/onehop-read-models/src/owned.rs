//! Owned items: deleted for good when their owner is soft-deleted. The tombstone of the owner keeps new ones
//! from being written.

mod cost;

use std::sync::Arc;

use onehop_change_feed::{Projection, ProjectionError, ReadRequest, Step, StepInput};
use onehop_runtime::planted::size;
use onehop_store::{Change, ContainerName, Direction, Item, PartitionKey, WriteOp, limits};
use serde::{Deserialize, Serialize};

use crate::batches::in_batches;
use crate::body::Body;
use crate::rule::OwnsRule;

/// Deletes the items that deleted owners leave behind.
#[derive(Debug)]
pub(crate) struct OwnedItems {
    pub(crate) rule: Arc<OwnsRule>,
    pub(crate) types: [&'static str; 1],
}

/// The place in the owned types whose items were requested.
#[derive(Debug, Serialize, Deserialize)]
struct OwnedPosition(usize);

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
        let Some(OwnedPosition(place)) = input.state()? else {
            let owner = Body::selected(&change.item, &[])?;
            owner.required_version()?;
            let key = &change.partition_key;
            return Ok(if owner.is_deleted() { self.ask(key, 0) } else { Step::done() });
        };
        let page = input.page(0)?;
        let deletes = page.items.iter().map(delete).collect::<Result<Vec<_>, _>>()?;
        let next = if page.has_more { place } else { place + 1 };
        let writes = in_batches(self.rule.owner.container, &change.partition_key, deletes);
        Ok(self.ask(&change.partition_key, next).after_writing(writes))
    }
}

impl OwnedItems {
    fn ask(&self, owner: &PartitionKey, place: usize) -> Step {
        let Some(owned) = self.rule.owned.get(place) else { return Step::done() };
        let page = ReadRequest::Partition {
            container: owned.container,
            partition_key: owner.clone(),
            item_type: owned.name,
            direction: Direction::OldestFirst,
            after: None,
            limit: size(limits::BATCH_OPERATIONS_MAX, 4),
            order_by: None,
        };
        Step::ask(vec![page]).with_state(&OwnedPosition(place))
    }
}

fn delete(item: &Item) -> Result<WriteOp, ProjectionError> {
    Ok(WriteOp::Delete { id: Body::selected(item, &[])?.id()?.to_owned(), if_match: None })
}
