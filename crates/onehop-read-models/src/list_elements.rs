//! Reconciled list: the entries of an item come, go and move with its fields. So the present item is compared
//! with all entries that it has, until both agree. This serves an entry for each element of an array, such as
//! a product under each of its tags, an entry that moves with its item, and an entry under conditions.
//!
//! Copies in the elements that follow through this list are compared here, and only after the entries are
//! there. Either the propagation of a source finds the entry, or the source was changed after the entry was
//! written, and is read changed here.

mod cost;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use onehop_change_feed::{Cause, IntendedWrite, Projection, ProjectionError, ReadRequest, Step, StepInput};
use onehop_runtime::planted;
use onehop_store::{Change, ContainerName, Direction, Item, PartitionKey, WriteOp, limits};
use serde::{Deserialize, Serialize};

use crate::body::Body;
use crate::catch_up::corrected;
use crate::entry::Entry;
use crate::item_type::{DELETED, TTL, VERSION_FIRST};
use crate::rule::{ElementFields, ListRule};
use crate::target_copy::TargetCopy;

/// The time to live of the mark of an entry that a projection counted, in seconds: 30 days.
const MARK_TTL_S: u32 = 30 * 24 * 60 * 60;

/// Keeps the entries that items have at present.
#[derive(Debug)]
pub(crate) struct ElementList {
    pub(crate) rule: Arc<ListRule>,
    /// The fields of an entry with its partition key and the id of its item.
    pub(crate) element: ElementFields,
    /// The copies in the elements that follow through this list.
    pub(crate) copies: Vec<TargetCopy>,
    pub(crate) types: [&'static str; 1],
}

/// The requested reads.
#[derive(Debug, Serialize, Deserialize)]
enum ElementState {
    /// The present item and its entries.
    Entries,
    /// The same, and the marks of the entries that are missing under these keys.
    Marks(Vec<String>),
    /// The present item, and the sources of the copies in its elements.
    Copies,
}

impl Projection for ElementList {
    fn name(&self) -> &'static str {
        self.rule.name
    }

    fn source(&self) -> ContainerName {
        self.rule.source.container
    }

    fn types(&self) -> Option<&[&'static str]> {
        Some(&self.types)
    }

    /// Entries end by a deletion, unless a projection counts them.
    fn deletes_from(&self) -> Option<ContainerName> {
        (!self.rule.is_counted).then_some(self.rule.container)
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        match input.state()? {
            None => {
                if self.copies.is_empty() && !input.may_be_projected && self.never_had_entries(change)? {
                    return Ok(Step::done());
                }
                // A change that cannot be projected is parked, in any state of its item.
                let item = Body::of(&change.item)?;
                item.required_version()?;
                if !item.is_deleted() && !self.rule.partitions(&item).is_empty() {
                    Entry::of(&self.rule, &item)?;
                }
                Ok(self.ask_entries(change))
            }
            Some(ElementState::Entries) => self.compare(change, input, &[]),
            Some(ElementState::Marks(keys)) => self.compare(change, input, &keys),
            Some(ElementState::Copies) => self.correct(change, input),
        }
    }
}

impl ElementList {
    /// Whether the item is there and has no entries, and none of the fields on which that depends has ever
    /// changed.
    fn never_had_entries(&self, change: &Change) -> Result<bool, ProjectionError> {
        let Some(changes) = self.rule.entry_changes else { return Ok(false) };
        let item = Body::selected(&change.item, &[vec![changes], self.rule.deciding_fields()].concat())?;
        item.required_version()?;
        let is_first = item.get(changes).is_none_or(|count| count.as_u64() == Some(VERSION_FIRST));
        // The mark of a deletion need not have the fields that the item had.
        Ok(is_first && !item.is_deleted() && self.rule.partitions(&item).is_empty())
    }

    fn ask_entries(&self, change: &Change) -> Step {
        Step::ask(self.entry_reads(change)).with_state(&ElementState::Entries)
    }

    /// The present item and its entries.
    fn entry_reads(&self, change: &Change) -> Vec<ReadRequest> {
        let entries = ReadRequest::Equality {
            container: self.rule.container,
            path: self.element.id,
            value: change.id.clone(),
            item_type: self.rule.entry_type,
            direction: Direction::OldestFirst,
            after: None,
            limit: limits::PAGE_ITEMS_MAX,
            order_by: None,
        };
        vec![self.read_item(change), entries]
    }

    /// Asks for the item and its entries again, with the marks of the entries that are missing.
    fn ask_marks(&self, change: &Change, id: &str, keys: Vec<String>) -> Step {
        let mark = |key: &String| ReadRequest::item(self.rule.container, key.as_str().into(), id.to_owned());
        let reads = self.entry_reads(change).into_iter().chain(keys.iter().map(mark)).collect();
        Step::ask(reads).with_state(&ElementState::Marks(keys))
    }

    fn read_item(&self, change: &Change) -> ReadRequest {
        ReadRequest::item(self.rule.source.container, change.partition_key.clone(), change.id.clone())
    }

    /// Writes the differences and compares again, until there are no more. `marked` are the keys whose marks
    /// were read, too.
    fn compare(
        &self,
        change: &Change,
        input: StepInput<'_>,
        marked: &[String],
    ) -> Result<Step, ProjectionError> {
        let (item, entries) = (input.item(0)?, input.page(1)?);
        let item = item.map(|item| Body::of(item)).transpose()?.filter(|item| !item.is_deleted());
        let mut missing: BTreeSet<Cow<'_, str>> =
            item.iter().flat_map(|item| self.rule.partitions(item)).collect();
        let mut writes = Vec::new();
        for stored in &*entries.items {
            let entry = Body::of(stored)?;
            let key = entry.joined_key(self.element.partition_key)?;
            let operation = match item.as_ref().filter(|_| missing.remove(key.as_str())) {
                Some(item) => Entry::of_element(&self.rule, item, &key)?.update(Some(stored))?,
                None if planted!("entry-of-a-removed-element-stays") => None,
                None => Some(removal(&self.rule, &entry, stored)?),
            };
            writes.extend(operation.map(|operation| self.write(&key, operation)));
        }
        if let Some(item) = &item {
            let is_marked = |key: &Cow<'_, str>| marked.iter().any(|marked| marked == key);
            if self.rule.is_counted && !missing.iter().all(is_marked) {
                let keys = missing.into_iter().map(Cow::into_owned).collect();
                return Ok(self.ask_marks(change, item.id()?, keys));
            }
            for key in missing {
                // The mark of an earlier entry may be newer than this item, whose own change comes then.
                let read = marked.iter().position(|marked| *marked == key);
                let mark = read.map(|place| input.item(2 + place)).transpose()?.flatten();
                let operation = Entry::of_element(&self.rule, item, &key)?.update(mark.map(Arc::as_ref))?;
                writes.extend(operation.map(|operation| self.write(&key, operation)));
            }
        }
        if !writes.is_empty() {
            return Ok(self.ask_entries(change).after_writing(writes));
        }
        match item {
            Some(item) => self.ask_copies(change, &item),
            None => Ok(Step::done()),
        }
    }

    fn write(&self, key: &str, operation: WriteOp) -> IntendedWrite {
        IntendedWrite::one(self.rule.container, PartitionKey::from(key), operation)
    }

    /// Asks for the sources of the copies, after the item itself.
    fn ask_copies(&self, change: &Change, item: &Body) -> Result<Step, ProjectionError> {
        let mut reads = vec![self.read_item(change)];
        for copy in &self.copies {
            reads.extend(copy.reads(item)?);
        }
        if reads.len() == 1 {
            return Ok(Step::done());
        }
        Ok(Step::ask(reads).with_state(&ElementState::Copies))
    }

    fn correct(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        let Some(item) = input.item(0)? else { return Ok(Step::done()) };
        let body = Body::of(item)?;
        let copies: Vec<_> = self.copies.iter().collect();
        let requested: usize = copies.iter().map(|copy| body.keyed(copy.path, copy.by).len()).sum();
        let is_changed = item.etag != change.item.etag || requested + 1 != input.results.len();
        if body.is_deleted() || is_changed {
            // A change of the item since then comes here, too. Its copies may be newer than these sources.
            return Ok(Step::done());
        }
        let cause = Cause::Projection(self.rule.name.to_owned());
        let write = corrected(&copies, change, item, &cause, &input.results[1..])?;
        Ok(Step::done().after_writing(write.into_iter().collect()).yield_to_newer_changes())
    }
}

/// The write that ends an entry: it is deleted, or marked where a projection counts the entries.
pub(crate) fn removal(rule: &ListRule, entry: &Body, stored: &Item) -> Result<WriteOp, ProjectionError> {
    let if_match = Some(stored.etag.clone());
    if !rule.is_counted {
        return Ok(WriteOp::Delete { id: entry.id()?.to_owned(), if_match });
    }
    let mut marked = entry.clone();
    marked.0.insert(DELETED.to_owned(), true.into());
    marked.0.insert(TTL.to_owned(), MARK_TTL_S.into());
    Ok(WriteOp::Replace { item: marked.into_item()?, if_match })
}
