//! Complete list: an entry of each item, in the logical partition that a field of the item names. A deleted
//! item leaves a soft-deleted entry, so that a late change does not bring it back.

//!
//! Entries do not move. A change of the field that names the logical partition would leave the old entry
//! behind, so such a change is refused where an entry of the item is found in another logical partition.

mod cost;

use std::sync::Arc;

use onehop_change_feed::{IntendedWrite, Projection, ProjectionError, ReadRequest, Step, StepInput};
use onehop_store::{Change, ContainerName, Direction, Item, PartitionKey, QueryPage};
use serde::{Deserialize, Serialize};

use crate::body::Body;
use crate::entry::Entry;
use crate::item_type::{ID, VERSION_FIRST};
use crate::rule::ListRule;

/// Keeps an entry of each item.
#[derive(Debug)]
pub(crate) struct CompleteList {
    pub(crate) rule: Arc<ListRule>,
    pub(crate) partition_field: &'static str,
    pub(crate) types: [&'static str; 1],
}

/// The requested reads beside the entry of the item.
#[derive(Debug, Serialize, Deserialize)]
enum ListLookup {
    /// The entries of the item in all logical partitions.
    EntriesOfItem,
}

impl Projection for CompleteList {
    fn name(&self) -> &'static str {
        self.rule.name
    }

    fn source(&self) -> ContainerName {
        self.rule.source.container
    }

    fn types(&self) -> Option<&[&'static str]> {
        Some(&self.types)
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        if input.is_first() {
            return self.begin(change, input.may_be_projected);
        }
        match input.state()? {
            None => self.compare(change, input.item(0)?),
            Some(ListLookup::EntriesOfItem) => self.create_unless_elsewhere(change, input.page(0)?),
        }
    }
}

impl CompleteList {
    /// Asks for the entry of an item. A new item's is created without looking for one: where there is one
    /// after all, the write is refused, and the change run again.
    fn begin(&self, change: &Change, may_be_projected: bool) -> Result<Step, ProjectionError> {
        let item = Body::selected(&change.item, &[self.partition_field])?;
        let key = PartitionKey::from(item.text(self.partition_field)?);
        item.required_version()?;
        if may_be_projected || !item.is_new() {
            return Ok(Step::ask(vec![ReadRequest::item(self.rule.container, key, item.id()?)]));
        }
        self.write(change, None)
    }

    /// Replaces the entry where it is older. Without an entry, the item may have changed before it was
    /// listed, or have been in another logical partition.
    fn compare(&self, change: &Change, entry: Option<&Arc<Item>>) -> Result<Step, ProjectionError> {
        let is_first_version = Body::selected(&change.item, &[])?.version() == VERSION_FIRST;
        if entry.is_some() || is_first_version || self.rule.immutable_partition {
            return self.write(change, entry);
        }
        let entries = ReadRequest::Equality {
            container: self.rule.container,
            path: ID,
            value: change.id.clone(),
            item_type: self.rule.source.name,
            direction: Direction::OldestFirst,
            after: None,
            limit: 1,
        };
        Ok(Step::ask(vec![entries]).with_state(&ListLookup::EntriesOfItem))
    }

    fn create_unless_elsewhere(&self, change: &Change, entries: &QueryPage) -> Result<Step, ProjectionError> {
        let Some(entry) = entries.items.first() else { return self.write(change, None) };
        let field = self.partition_field;
        let present = Body::selected(&change.item, &[field])?;
        let key_field = self.rule.key_field.unwrap_or(field);
        if Body::selected(entry, &[key_field])?.text(key_field)? == present.text(field)? {
            // It was created meanwhile.
            return self.begin(change, true);
        }
        Err(ProjectionError::text(format!(
            "the field `{field}` has changed, and the entry of the item is in another logical partition: entries do not move"
        )))
    }

    fn write(&self, change: &Change, entry: Option<&Arc<Item>>) -> Result<Step, ProjectionError> {
        let source = Body::of(&change.item)?;
        let key = PartitionKey::from(source.text(self.partition_field)?);
        let operation = Entry::of(&self.rule, &source)?.update(entry.map(|item| &**item))?;
        let write = operation.map(|operation| IntendedWrite::one(self.rule.container, key, operation));
        Ok(Step::done().after_writing(write.into_iter().collect()))
    }
}
