//! Propagation: a source's field into its copies, page after page, when the source changes.
//!
//! The pass begins after the source was written, so it sees every target written before that with an old
//! copy. A target written later is compared by the catch-up. The place is saved after each page that wrote,
//! so that a crash costs one page. A target that others write without pause is left to the catch-up, which
//! sees each of their changes.

mod cost;

use std::collections::BTreeMap;
use std::sync::Arc;

use onehop_change_feed::{Cause, Projection, ProjectionError, ReadRequest, Step, StepInput, WakingFields};
use onehop_runtime::planted;
use onehop_store::{Change, ContainerName, Direction, Item, Keyset, PartitionKey, QueryPage, WriteOp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::batches::in_batches;
use crate::body::{Body, SourcePlace};
use crate::field_path::FieldPath;
use crate::item_type::{ItemPartition, VERSION_FIRST};
use crate::rule::{CopyRule, CopyTarget, ListRule};
use crate::source_value::source_value;

/// Targets between two saved places.
const PAGE_ITEMS: usize = 500;
/// Targets between two saved places where each is read by itself.
const ENTRY_PAGE_ITEMS: usize = 100;

/// Writes a source's field into its copies.
#[derive(Debug)]
pub(crate) struct Propagation {
    pub(crate) rule: Arc<CopyRule>,
    /// For each target with copies in elements of an array: the list that has an entry of each item, and the
    /// property that orders it.
    pub(crate) through: Vec<Option<(Arc<ListRule>, Option<&'static str>)>>,
    pub(crate) types: [&'static str; 1],
    pub(crate) feeds: Vec<ContainerName>,
    /// The property that orders the items of each target's container.
    pub(crate) order_by: Vec<Option<&'static str>>,
}

/// The progress of a pass.
#[derive(Debug, Serialize, Deserialize)]
struct PassPosition {
    /// The place of the target in the rule.
    target: usize,
    /// Where the page begins.
    after: Option<Keyset>,
    /// Where the page of list entries ended whose items were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entries: Option<PageEnd>,
}

/// Where a page ended.
#[derive(Debug, Serialize, Deserialize)]
enum PageEnd {
    Last,
    At(Keyset),
}

impl Projection for Propagation {
    fn name(&self) -> &'static str {
        self.rule.name
    }

    fn source(&self) -> ContainerName {
        self.rule.source.container
    }

    fn types(&self) -> Option<&[&'static str]> {
        Some(&self.types)
    }

    fn feeds(&self) -> &[ContainerName] {
        &self.feeds
    }

    /// The copied field. The catch-up compares the writes of a pass, so a pass need not be repeated.
    fn waking_fields(&self, change: &Change) -> Option<WakingFields> {
        let source = Body::selected(&change.item, &[self.rule.field]).ok()?;
        (!source.is_deleted()).then(|| source.waking_fields(&[self.rule.field]))
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        // A state of an earlier version of the program is dropped: the pass begins anew.
        let position = input.state::<PassPosition>().unwrap_or_default();
        let Some(position) = position else { return self.begin(change) };
        let Some(target) = self.rule.targets.get(position.target) else { return Ok(Step::done()) };
        if input.results.is_empty() {
            return Ok(self.ask(change, PassPosition { entries: None, ..position }));
        }
        let Some(value) = source_value(&self.rule, input.item(0)?)? else { return Ok(Step::done()) };
        match (self.list_of(position.target), position.entries) {
            (None, _) => {
                let page = input.page(1)?;
                let end = page_end(page, self.order_by.get(position.target).copied().flatten())?;
                let next = after(position.target, end);
                self.write(change, target, &value, page.items.iter(), next)
            }
            (Some((_, order_by)), None) => {
                let position = PassPosition { entries: None, ..position };
                self.ask_items(change, target, input.page(1)?, order_by, position)
            }
            (Some(_), Some(end)) => {
                let items = (1..input.results.len()).filter_map(|place| input.item(place).transpose());
                let items = items.collect::<Result<Vec<&Arc<Item>>, _>>()?;
                let next = after(position.target, end);
                self.write(change, target, &value, items.into_iter().map(|item| &**item), next)
            }
        }
    }
}

impl Propagation {
    fn begin(&self, change: &Change) -> Result<Step, ProjectionError> {
        let source = Body::selected(&change.item, &[])?;
        // Of a source as it was created nothing can carry an older value.
        if source.required_version()? == VERSION_FIRST {
            return Ok(Step::done());
        }
        Ok(self.ask(change, PassPosition { target: 0, after: None, entries: None }))
    }

    /// Asks for a page, together with the present source: the value of the change may be old already.
    fn ask(&self, change: &Change, position: PassPosition) -> Step {
        let Some(target) = self.rule.targets.get(position.target) else { return Step::done() };
        let page = match self.list_of(position.target) {
            Some((list, _)) => {
                let (container, item_type) = (list.container, list.entry_type);
                partition_page(
                    container,
                    item_type,
                    &change.id,
                    &position,
                    planted::size(ENTRY_PAGE_ITEMS, 2),
                )
            }
            None => self.targets_page(target, &change.id, &position),
        };
        Step::ask(vec![self.read_source(change), page]).with_state(&position)
    }

    /// Last: a target that was read before holds no newer value than the source, so no copy goes back in
    /// time.
    fn read_source(&self, change: &Change) -> ReadRequest {
        ReadRequest::last_item(self.rule.source.container, change.partition_key.clone(), change.id.clone())
    }

    /// The list through which the items of a target are found, with the property that orders it.
    fn list_of(&self, target: usize) -> Option<(&ListRule, Option<&'static str>)> {
        let (list, order_by) = self.through.get(target)?.as_ref()?;
        Some((list, *order_by))
    }

    fn targets_page(&self, target: &CopyTarget, id: &str, position: &PassPosition) -> ReadRequest {
        let CopyTarget { item_type: target, by, .. } = target;
        if target.partition == ItemPartition::Field(by) {
            return partition_page(target.container, target.name, id, position, planted::size(PAGE_ITEMS, 3));
        }
        ReadRequest::Equality {
            container: target.container,
            path: by,
            value: id.to_owned(),
            item_type: target.name,
            direction: Direction::NewestFirst,
            after: position.after.clone(),
            limit: planted::size(PAGE_ITEMS, 3),
            order_by: None,
        }
    }

    /// Asks for the items behind a page of list entries.
    fn ask_items(
        &self,
        change: &Change,
        target: &CopyTarget,
        page: &QueryPage,
        order_by: Option<&'static str>,
        position: PassPosition,
    ) -> Result<Step, ProjectionError> {
        let mut reads = vec![self.read_source(change)];
        for entry in &*page.items {
            let entry = Body::of(entry)?;
            let key = entry.partition_key(&target.item_type)?;
            reads.push(ReadRequest::item(target.item_type.container, key, entry.id()?));
        }
        let entries = Some(page_end(page, order_by)?);
        Ok(Step::ask(reads).with_state(&PassPosition { entries, ..position }))
    }

    /// Writes the value where another one is, and asks for the next page.
    fn write<'a>(
        &self,
        change: &Change,
        target: &CopyTarget,
        value: &Value,
        items: impl Iterator<Item = &'a Item>,
        next: PassPosition,
    ) -> Result<Step, ProjectionError> {
        let (path, by) = (FieldPath::parse(target.field), FieldPath::parse(target.by));
        let key = target.source_key.map(|fields| (fields, &change.partition_key));
        let source = SourcePlace { id: &change.id, key };
        let cause = Cause::Projection(self.rule.name.to_owned());
        let mut by_partition: BTreeMap<PartitionKey, Vec<WriteOp>> = BTreeMap::new();
        for item in items {
            let mut body = Body::of(item)?;
            // An item without a version is parked by its own change, and compared once it is mended.
            let is_target = !body.is_deleted() && body.required_version().is_ok();
            if !is_target || !body.set_copies(path, by, source, value) {
                continue;
            }
            let key = body.partition_key(&target.item_type)?;
            let if_match = Some(item.etag.clone());
            let operation = WriteOp::Replace { item: body.into_next_version(&cause)?, if_match };
            by_partition.entry(key).or_default().push(operation);
        }
        let container = target.item_type.container;
        let batches = |(key, operations): (PartitionKey, Vec<_>)| in_batches(container, &key, operations);
        let writes: Vec<_> = by_partition.into_iter().flat_map(batches).collect();
        let wrote = !writes.is_empty();
        // A writer that changes a target meanwhile makes a change that the catch-up compares with the new
        // value.
        let step = self.ask(change, next).after_writing(writes).yield_to_newer_changes();
        Ok(if wrote { step.checkpoint() } else { step })
    }
}

/// The position behind a page.
fn after(target: usize, end: PageEnd) -> PassPosition {
    match end {
        PageEnd::Last => PassPosition { target: target + 1, after: None, entries: None },
        PageEnd::At(keyset) => PassPosition { target, after: Some(keyset), entries: None },
    }
}

fn page_end(page: &QueryPage, order_by: Option<&'static str>) -> Result<PageEnd, ProjectionError> {
    match page.items.last() {
        Some(last) if page.has_more && !planted!("propagation-stops-after-a-page") => {
            let fields: Vec<_> = order_by.into_iter().collect();
            Ok(PageEnd::At(Body::selected(last, &fields)?.keyset(order_by)?))
        }
        _ => Ok(PageEnd::Last),
    }
}

fn partition_page(
    container: ContainerName,
    item_type: &'static str,
    key: &str,
    position: &PassPosition,
    limit: usize,
) -> ReadRequest {
    ReadRequest::Partition {
        container,
        partition_key: PartitionKey::from(key),
        item_type,
        direction: Direction::NewestFirst,
        after: position.after.clone(),
        limit,
        order_by: None,
    }
}
