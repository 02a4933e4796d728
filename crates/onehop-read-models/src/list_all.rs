//! Complete list: an entry of each item, in the logical partition that a field of the item names. A deleted item leaves a
//! soft-deleted entry, so that a late change does not bring it back.

mod cost;

use onehop_change_feed::{IntendedWrite, Projection, ProjectionError, ReadRequest, Step, StepInput};
use onehop_store::{Change, ContainerName, PartitionKey, WriteOp};

use crate::body::Body;
use crate::entry::Entry;
use crate::rule::ListRule;

/// Keeps an entry of each item.
#[derive(Debug)]
pub(crate) struct CompleteList {
    pub(crate) rule: ListRule,
    pub(crate) partition_field: &'static str,
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
        let source = Body::of(&change.item)?;
        let key = PartitionKey::from(source.text(self.partition_field)?);
        let operation = Entry::of(&self.rule, &source)?.update(input.item(0)?.map(|item| &**item))?;
        let write = operation.map(|operation| IntendedWrite::one(self.rule.container, key, operation));
        Ok(Step::done().after_writing(write.into_iter().collect()))
    }
}

impl CompleteList {
    /// Asks for the entry of an item. A new item's is created without looking for one: where there is one after all, the write is
    /// refused, and the change run again.
    fn begin(&self, change: &Change, may_be_projected: bool) -> Result<Step, ProjectionError> {
        let container = self.rule.container;
        let item = Body::selected(&change.item, &[self.partition_field])?;
        let key = PartitionKey::from(item.text(self.partition_field)?);
        if may_be_projected || !item.is_new() {
            return Ok(Step::ask(vec![ReadRequest::item(container, key, item.id()?)]));
        }
        let create = WriteOp::Create(Entry::of(&self.rule, &Body::of(&change.item)?)?.into_item());
        Ok(Step::done().after_writing(vec![IntendedWrite::one(container, key, create)]))
    }
}
