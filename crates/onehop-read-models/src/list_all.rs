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
        let source = Body::of(&change.item)?;
        let entry = Entry::of(&self.rule, &source)?;
        let key = PartitionKey::from(source.text(self.partition_field)?);
        if input.is_first() && !input.may_be_projected && source.is_new() {
            // Without looking for an entry: where there is one after all, the write is refused, and the change run again.
            let create = WriteOp::Create(entry.into_item());
            return Ok(Step::done().after_writing(vec![IntendedWrite::one(
                self.rule.container,
                key,
                create,
            )]));
        }
        if input.is_first() {
            return Ok(Step::ask(vec![ReadRequest::item(self.rule.container, key, entry.id())]));
        }
        let operation = entry.update(input.item(0)?.map(|item| &**item))?;
        let write = operation.map(|operation| IntendedWrite::one(self.rule.container, key, operation));
        Ok(Step::done().after_writing(write.into_iter().collect()))
    }
}
