//! Complete list: an entry of each item. All entries are in one logical partition, or a field of the item
//! that never changes names it. A deleted item leaves a soft-deleted entry, so that a late change does not
//! bring it back.

mod cost;

use std::sync::Arc;

use onehop_change_feed::{IntendedWrite, Projection, ProjectionError, ReadRequest, Step, StepInput};
use onehop_store::{Change, ContainerName, Item, PartitionKey};

use crate::body::Body;
use crate::entry::Entry;
use crate::rule::{ListPartition, ListRule};

/// Keeps an entry of each item.
#[derive(Debug)]
pub(crate) struct CompleteList {
    pub(crate) rule: Arc<ListRule>,
    pub(crate) types: [&'static str; 1],
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
        self.write(change, input.item(0)?)
    }
}

impl CompleteList {
    /// Asks for the entry of an item. A new item's is created without looking for one: where there is one
    /// after all, the write is refused, and the change run again.
    fn begin(&self, change: &Change, may_be_projected: bool) -> Result<Step, ProjectionError> {
        let key_fields: Vec<_> = self.rule.partition.fields().collect();
        let item = Body::selected(&change.item, &key_fields)?;
        let key = self.key(&item)?;
        item.required_version()?;
        if may_be_projected || !item.is_new() {
            return Ok(Step::ask(vec![ReadRequest::item(self.rule.container, key, item.id()?)]));
        }
        self.write(change, None)
    }

    /// The logical partition of an item's entry.
    fn key(&self, item: &Body) -> Result<PartitionKey, ProjectionError> {
        Ok(match self.rule.partition {
            ListPartition::Field(fields) => {
                let key = self.rule.key_of(item).map_or_else(|| item.joined_key(fields), Ok);
                PartitionKey::new(key?)
            }
            ListPartition::Element(field) => PartitionKey::from(item.text(field)?),
            ListPartition::Constant(key) => PartitionKey::from(key),
        })
    }

    /// Replaces the entry where it is older.
    fn write(&self, change: &Change, entry: Option<&Arc<Item>>) -> Result<Step, ProjectionError> {
        let source = Body::of(&change.item)?;
        let key = self.key(&source)?;
        let operation = Entry::of(&self.rule, &source)?.update(entry.map(|item| &**item))?;
        let write = operation.map(|operation| IntendedWrite::one(self.rule.container, key, operation));
        Ok(Step::done().after_writing(write.into_iter().collect()))
    }
}
