//! Count written behind: after each change of a counted item, a projection counts the items of its parent and
//! stores the number there.
//!
//! The number is compared again after it was written. So of two writers that count at the same time the last
//! one stores the present number. An unchanged number writes nothing.

mod cost;

use std::sync::Arc;

use onehop_change_feed::{
    Cause, IntendedWrite, Projection, ProjectionError, ReadRequest, ReadResult, Step, StepInput,
};
use onehop_store::{Change, ContainerName, PartitionKey, WriteOp};

use crate::body::Body;
use crate::rule::CountRule;
use crate::stored_count::StoredCount;

/// Keeps a count in parents.
#[derive(Debug)]
pub(crate) struct CountBehind {
    pub(crate) rule: Arc<CountRule>,
    pub(crate) name: &'static str,
    pub(crate) types: [&'static str; 1],
    /// The fields of a counted item that lead to its parent.
    pub(crate) fields: Box<[&'static str]>,
}

impl Projection for CountBehind {
    fn name(&self) -> &'static str {
        self.name
    }

    fn source(&self) -> ContainerName {
        self.rule.counted.container
    }

    fn types(&self) -> Option<&[&'static str]> {
        Some(&self.types)
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        let counted = Body::selected(&change.item, &self.fields)?;
        counted.required_version()?;
        let id = counted.text(self.rule.by)?;
        let parent_key = self.rule.parent_key(&counted, &change.partition_key)?;
        if input.is_first() {
            return Ok(self.ask(change, parent_key, id));
        }
        let Some(item) = input.item(0)? else { return Ok(Step::done()) };
        let Some(ReadResult::Count(number)) = input.results.get(1) else {
            return Err(ProjectionError::text("no count was requested at position 1"));
        };
        let mut parent = Body::of(item)?;
        let is_parent = parent.item_type() == self.rule.parent.name && !parent.is_deleted();
        if !is_parent || StoredCount::of(&self.rule, &parent).drift(&self.rule, *number).is_none() {
            return Ok(Step::done());
        }
        StoredCount::expected(&self.rule, *number).store(&self.rule, &mut parent);
        let cause = Cause::Projection(self.name.to_owned());
        let replaced = parent.into_next_version(&cause)?;
        let write = WriteOp::Replace { item: replaced, if_match: Some(item.etag.clone()) };
        let write = IntendedWrite::one(self.rule.parent.container, parent_key.clone(), write);
        Ok(self.ask(change, parent_key, id).after_writing(vec![write]))
    }
}

impl CountBehind {
    /// Asks for the parent, and for the number of its items.
    fn ask(&self, change: &Change, parent_key: PartitionKey, id: &str) -> Step {
        let partition_key = change.partition_key.clone();
        let parent = ReadRequest::item(self.rule.parent.container, parent_key, id);
        let items = ReadRequest::Count {
            container: self.rule.counted.container,
            partition_key,
            item_type: self.rule.counted.name,
        };
        Step::ask(vec![parent, items])
    }
}
