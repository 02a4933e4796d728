//! Catch-up: compares the copies in a new or changed target with their sources.
//!
//! A command may write the value that it read just before the source changed. In either order of the two
//! writes, one of the projections sees the other's. The pass of the propagation over the targets begins after
//! the source was written, and this one reads the source after the target was written.

mod cost;

use onehop_change_feed::{Cause, IntendedWrite, Projection, ProjectionError, ReadResult, Step, StepInput};
use onehop_runtime::planted;
use onehop_store::{Change, ContainerName, Item, WriteOp};

use crate::body::{Body, is_copy};
use crate::source_value::source_value;
use crate::target_copy::TargetCopy;

/// Compares the copies in each changed item of one container with their sources, for any number of rules.
#[derive(Debug)]
pub(crate) struct CatchUp {
    pub(crate) name: &'static str,
    pub(crate) container: ContainerName,
    pub(crate) types: Vec<&'static str>,
    pub(crate) copies: Vec<TargetCopy>,
}

impl Projection for CatchUp {
    fn name(&self) -> &'static str {
        self.name
    }

    fn source(&self) -> ContainerName {
        self.container
    }

    fn types(&self) -> Option<&[&'static str]> {
        Some(&self.types)
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        let item = Body::selected(&change.item, &self.fields())?;
        item.required_version()?;
        if item.is_deleted() || planted!("no-catch-up") {
            return Ok(Step::done());
        }
        let copies: Vec<_> = self.copies_of(&item).collect();
        if input.is_first() {
            let mut reads = Vec::new();
            for copy in copies {
                reads.extend(copy.reads(&item)?);
            }
            return Ok(if reads.is_empty() { Step::done() } else { Step::ask(reads) });
        }
        let cause = Cause::Projection(self.name.to_owned());
        let Some(write) = corrected(&copies, change, &change.item, &cause, input.results)? else {
            return Ok(Step::done());
        };
        // A writer that changes the item meanwhile makes a change that comes here again.
        Ok(Step::done().after_writing(vec![write]).yield_to_newer_changes())
    }
}

impl CatchUp {
    fn fields(&self) -> Vec<&'static str> {
        self.copies.iter().flat_map(TargetCopy::needed_fields).collect()
    }

    fn copies_of<'a>(&'a self, item: &'a Body) -> impl Iterator<Item = &'a TargetCopy> {
        self.copies.iter().filter(|copy| copy.item_type.name == item.item_type())
    }
}

/// The write that gives a changed item the present values of its sources; `None` where it has them.
pub(crate) fn corrected(
    copies: &[&TargetCopy],
    change: &Change,
    item: &Item,
    cause: &Cause,
    sources: &[ReadResult],
) -> Result<Option<IntendedWrite>, ProjectionError> {
    let sources = StepInput { results: sources, ..StepInput::first() };
    let fields: Vec<_> = copies.iter().flat_map(|copy| copy.needed_fields()).collect();
    let body = Body::selected(item, &fields)?;
    let mut values = Vec::new();
    for copy in copies {
        for keyed in body.keyed(copy.path, copy.by) {
            let value = source_value(&copy.rule, sources.item(values.len())?)?;
            let differs = value.as_ref().is_some_and(|value| !is_copy(keyed.stored, value));
            values.push((copy, keyed, value.filter(|_| differs)));
        }
    }
    if values.iter().all(|(_, _, value)| value.is_none()) {
        return Ok(None);
    }
    let mut changed = Body::of(item)?;
    for (copy, keyed, value) in values {
        if let Some(value) = value {
            let key = copy.source_key(&keyed)?;
            changed.set_copies(copy.path, copy.by, copy.place(keyed.id, &key), &value);
        }
    }
    let if_match = Some(item.etag.clone());
    let operation = WriteOp::Replace { item: changed.into_next_version(cause)?, if_match };
    let container = copies.first().map(|copy| copy.item_type.container);
    Ok(container.map(|container| IntendedWrite::one(container, change.partition_key.clone(), operation)))
}
