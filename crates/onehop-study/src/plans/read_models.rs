//! Operations of read models because of a change: the change feed, entries of lists, and copies.

use onehop_model::{
    CopyOrigin, FieldKind, ItemType, KeySource, ListSource, Name, ReferenceField, StoredField, ValueSource,
};
use serde_json::Value;

use super::charges::PlannedQuery;
use super::operation::{BusiestShare, PlannedOperation, PlannedScope, RequestPlan, push};
use super::planner::Planner;
use super::writes::{ChangeKind, ItemChange, next_version};
use crate::data::{EmbeddedReference, embedded_references};
use crate::designs::DesignList;

/// Items of a page of a query for the targets of a copy.
const COPY_PAGE_ITEMS: f64 = 100.0;

/// The targets of a copy: items of a type with a reference to the source.
struct CopyTargets<'a> {
    item: &'a ItemType,
    /// Its name; within embedded objects such as `lines.product`.
    reference: String,
    embedded: Option<EmbeddedReference<'a>>,
}

impl Planner<'_> {
    /// Adds the operations of all read models that see a change.
    pub(super) fn follow(&self, change: &ItemChange<'_>, plan: &mut RequestPlan) {
        let lists: Vec<DesignList<'_>> = self
            .data
            .lists()
            .into_iter()
            .filter(|found| found.related.item_type == change.item.name)
            .collect();
        let targets = self.copy_targets(change);
        if self.is_followed(&change.item.container) {
            let bytes = self.writer().item(change.item, &change.visible).to_string().len() as f64;
            push(&mut plan.behind, self.change(change.item, bytes));
        }
        for list in lists {
            self.entries(list, change, 1.0, &mut plan.behind);
        }
        for target in targets {
            self.copies(&target, change, &mut plan.behind);
        }
    }

    /// Whether a container's change feed is followed: a list or a copy has its source there.
    pub(crate) fn is_followed(&self, container: &str) -> bool {
        let is_here = |ty: &str| self.model().item(ty).is_some_and(|item| &*item.container == container);
        let has_list = self.data.lists().iter().any(|found| is_here(&found.related.item_type));
        let is_followed = |reference: &ReferenceField| {
            !reference.frozen && !reference.copies.is_empty() && is_here(&reference.target)
        };
        let items = self.model().items().iter();
        has_list
            || items.clone().flat_map(|item| &item.fields).any(|field| match &field.kind {
                FieldKind::Reference(reference) => is_followed(reference),
                _ => false,
            })
            || items
                .flat_map(|item| embedded_references(self.model(), item))
                .any(|found| is_followed(found.reference))
    }

    /// The entries of one list because of a change of its item, in so many requests.
    fn entries(
        &self,
        found: DesignList<'_>,
        change: &ItemChange<'_>,
        times: f64,
        behind: &mut Vec<PlannedOperation>,
    ) {
        let (item, list) = (change.item, found.list);
        let meets = self.selectivity(item, &found.related.conditions);
        let each = self.entries_of(item, list, &change.visible);
        let share = self.entry_share(item, &list.by);
        let kept = self.kept_share(found, item);
        let container = &*list.container;
        let entry = |visible: &Value| self.writer().entry((item, list), visible);
        let about = |verb: &str| format!("{verb} entry of {}", list.projection);
        let one = |name: String, write| self.batch(container, name, &[write], share);
        let mut write_entry = |verb: &str, write, visible: &Value, times: f64| {
            push(behind, one(about(verb), write).repeated(times));
            if self.is_followed(container) {
                let bytes = entry(visible).to_string().len() as f64;
                push(behind, self.unwanted_change(list, bytes).repeated(times));
            }
        };
        match &change.kind {
            ChangeKind::Created => {
                let enters = if list.keep.is_some() && !is_newest_first(found, item) { kept } else { 1.0 };
                let times = times * meets * each * enters;
                write_entry(
                    "create",
                    self.create(container, &entry(&change.visible)),
                    &change.visible,
                    times,
                );
                if list.keep.is_some() {
                    push(
                        behind,
                        one(about("drop"), self.delete(container, &entry(&change.visible))).repeated(times),
                    );
                }
            }
            ChangeKind::Changed(fields) => {
                let is_shown = list.fields.iter().any(|path| fields.contains(&path.first().to_string()));
                let is_tested = found
                    .related
                    .conditions
                    .iter()
                    .any(|test| fields.contains(&test.field.first().to_string()));
                if is_tested {
                    // The item enters or leaves the list.
                    let write = self.create(container, &entry(&change.visible));
                    write_entry("create", write, &change.visible, times * each * kept);
                } else if is_shown {
                    let (before, mut after) = (entry(&change.before), entry(&change.visible));
                    if before == after {
                        grow_counts(&mut after, item, fields);
                    }
                    next_version(item, &mut after);
                    let write = self.replace(container, &before, &after);
                    write_entry("replace", write, &change.visible, times * meets * each * kept);
                }
            }
            ChangeKind::Removed => {
                let write = self.delete(container, &entry(&change.visible));
                push(behind, one(about("delete"), write).repeated(times * meets * each * kept));
            }
        }
    }

    /// Entries of one item: one for each element of an array.
    fn entries_of(&self, item: &ItemType, list: &ListSource, visible: &Value) -> f64 {
        let elements = |by: &Name| {
            let is_list = item.field(by).is_some_and(|field| field.ty.list.is_some());
            match visible.get(&**by) {
                Some(Value::Array(elements)) => elements.len() as f64,
                _ if is_list => 0.0,
                _ => 1.0,
            }
        };
        list.by.iter().map(elements).product()
    }

    /// The share of items that a bounded list has an entry of.
    fn kept_share(&self, found: DesignList<'_>, item: &ItemType) -> f64 {
        let Some(keep) = found.list.keep else { return 1.0 };
        let survey = self.data.survey.of(&item.name);
        let groups = survey
            .and_then(|survey| survey.grouped(&found.list.by))
            .map_or(1.0, |groups| groups.values() as f64);
        let items = self.data.items(&item.name) as f64;
        (f64::from(keep) * groups / items.max(1.0)).min(1.0)
    }

    /// The items that have a copy of a changed field.
    fn copy_targets(&self, change: &ItemChange<'_>) -> Vec<CopyTargets<'_>> {
        let ChangeKind::Changed(fields) = &change.kind else { return Vec::new() };
        let mut targets = Vec::new();
        for item in self.model().items() {
            for field in &item.fields {
                match &field.kind {
                    FieldKind::Reference(reference) if copies_any(reference, change.item, fields) => {
                        targets.push(CopyTargets { item, reference: field.name.to_string(), embedded: None });
                    }
                    FieldKind::Stored(StoredField { source: ValueSource::Copied(copy), .. })
                        if !copy.frozen =>
                    {
                        let CopyOrigin::Reference { reference, field } = &copy.from else { continue };
                        let target = item.field(reference).and_then(|field| match &field.kind {
                            FieldKind::Reference(found) => Some(&found.target),
                            _ => None,
                        });
                        if target == Some(&change.item.name) && fields.contains(&field.to_string()) {
                            targets.push(CopyTargets {
                                item,
                                reference: reference.to_string(),
                                embedded: None,
                            });
                        }
                    }
                    _ => {}
                }
            }
            let embedded = embedded_references(self.model(), item).into_iter();
            let embedded = embedded.filter(|found| copies_any(found.reference, change.item, fields));
            targets.extend(embedded.map(|found| CopyTargets {
                item,
                reference: found.name(),
                embedded: Some(found),
            }));
        }
        targets
    }

    /// The query for the targets, their replaces, and the entries of their lists.
    fn copies(&self, target: &CopyTargets<'_>, change: &ItemChange<'_>, behind: &mut Vec<PlannedOperation>) {
        let CopyTargets { item, reference, embedded } = target;
        let id = change.visible.get("id").unwrap_or(&Value::Null);
        let number = self.targets_of(item, reference, id);
        if number == 0.0 {
            return;
        }
        let pages = (number / COPY_PAGE_ITEMS).ceil();
        let page = PlannedQuery {
            container: &item.container,
            about: format!("{} with a copy of {}", item.name, change.item.name),
            scope: self.scope_of_targets(item, reference),
            found: (number / pages).ceil(),
            limit: COPY_PAGE_ITEMS as u32,
            item_bytes: self.data.item_bytes(&item.name),
            conditions: 3,
            scanned_bytes: 0.0,
            busiest: BusiestShare::default(),
            shape: self.shape(|| {
                let stored = self.writer().item(item, &self.sampled_target(item, reference, id));
                self.copies_shape(item, reference, stored)
            }),
        };
        push(behind, self.query(page).repeated(pages));
        let sampled = self.sampled_target(item, reference, id);
        let before = self.writer().item(item, &sampled);
        let after = match embedded {
            Some(found) => renamed_within(item, found, &before, change),
            None => self.renamed(item, reference, &before, change),
        };
        let write = self.replace(&item.container, &before, &after);
        let about = format!("replace {}, whose {reference} changed", item.name);
        let share = self.item_share(item);
        push(behind, self.batch(&item.container, about, &[write], share).repeated(number));
        let changed = reference.split('.').next().unwrap_or_default();
        let of_target = |visible: Value| ItemChange {
            item,
            kind: ChangeKind::Changed(vec![changed.to_owned()]),
            before: visible.clone(),
            visible,
        };
        for list in self.data.lists().into_iter().filter(|found| found.related.item_type == item.name) {
            self.entries(list, &of_target(sampled.clone()), number, behind);
        }
    }

    fn targets_of(&self, item: &ItemType, reference: &str, id: &Value) -> f64 {
        let groups = self.data.survey.of(&item.name).and_then(|found| found.grouped(&[reference]));
        let key = crate::data::key_text(id).unwrap_or_default();
        groups.map_or(0.0, |groups| match groups.group(&key) {
            crate::data::FoundGroup::Known(group) => group.items as f64,
            crate::data::FoundGroup::Empty => 0.0,
            crate::data::FoundGroup::Unknown => groups.items_mean(),
        })
    }

    fn sampled_target(&self, item: &ItemType, reference: &str, id: &Value) -> Value {
        let groups = self.data.survey.of(&item.name).and_then(|found| found.grouped(&[reference]));
        let key = crate::data::key_text(id).unwrap_or_default();
        let of_group = groups.and_then(|groups| match groups.group(&key) {
            crate::data::FoundGroup::Known(group) => serde_json::from_str(group.sample.first()?).ok(),
            _ => None,
        });
        of_group.unwrap_or_else(|| self.row(item, 0).value)
    }

    /// The item with another text in each copied property.
    fn renamed(&self, item: &ItemType, reference: &str, before: &Value, change: &ItemChange<'_>) -> Value {
        let mut after = before.clone();
        if let Some(FieldKind::Reference(found)) = item.field(reference).map(|field| &field.kind) {
            for copy in &found.copies {
                let value = change.visible.get(&*copy.field).cloned().unwrap_or(Value::Null);
                if !matches!(before.get(copy.property.last()), None | Some(Value::Array(_))) {
                    crate::designs::set(&mut after, &copy.property, value);
                }
            }
        }
        next_version(item, &mut after);
        after
    }

    fn scope_of_targets(&self, item: &ItemType, reference: &str) -> PlannedScope {
        let is_key = matches!(item.key.as_slice(), [KeySource::Field(field)] if **field == *reference);
        let has_list = self.data.lists().iter().any(|found| {
            found.related.item_type == item.name
                && found.list.keep.is_none()
                && found.list.by.first().is_some_and(|by| **by == *reference)
        });
        if is_key || has_list { PlannedScope::LogicalPartition } else { PlannedScope::AllPartitions }
    }
}

fn copies_any(reference: &ReferenceField, source: &ItemType, fields: &[String]) -> bool {
    reference.target == source.name
        && !reference.frozen
        && reference.copies.iter().any(|copy| fields.contains(&copy.field.to_string()))
}

/// The item with another text in each copied property of the embedded objects with the reference.
fn renamed_within(
    item: &ItemType,
    found: &EmbeddedReference<'_>,
    before: &Value,
    change: &ItemChange<'_>,
) -> Value {
    let mut after = before.clone();
    let id = change.visible.get("id").unwrap_or(&Value::Null);
    found.change_copies(&mut after, id, |copy| change.visible.get(copy).cloned().unwrap_or(Value::Null));
    next_version(item, &mut after);
    after
}

/// Whether a list begins with the newest items, so that each new item enters.
fn is_newest_first(found: DesignList<'_>, item: &ItemType) -> bool {
    let first = found.related.order.first();
    first.is_some_and(|order| {
        let field = item.field(&order.field);
        let is_created = field.is_some_and(
            |field| matches!(&field.kind, FieldKind::Stored(stored) if stored.source == ValueSource::Created),
        );
        order.descending && is_created
    })
}

/// Gives changed counts and computed values another value in an entry.
fn grow_counts(entry: &mut Value, item: &ItemType, fields: &[String]) {
    for field in item.fields.iter().filter(|field| fields.contains(&field.name.to_string())) {
        let Some(property) = field.property() else { continue };
        let Some(value) = entry.get_mut(property.last()) else { continue };
        *value = match &*value {
            Value::Number(number) => serde_json::json!(number.as_f64().unwrap_or(0.0) as i64 + 1),
            Value::String(text) => serde_json::json!(format!("{text}+")),
            other => other.clone(),
        };
    }
}

impl Planner<'_> {
    /// RU of creating one item of a type in the mean of some.
    pub(crate) fn create_charge(&self, item: &ItemType) -> f64 {
        self.mean_charge(item, |planner, visible| {
            planner.create(&item.container, &planner.writer().item(item, visible)).charge
        })
    }

    /// RU of the index entries of one item of a type in the mean of some.
    pub(crate) fn index_charge(&self, item: &ItemType) -> f64 {
        self.mean_charge(item, |planner, visible| {
            planner.index_part(&item.container, &planner.writer().item(item, visible))
        })
    }

    /// RU of the index entries of all entries of a list.
    pub(crate) fn entries_index_charge(&self, found: DesignList<'_>) -> f64 {
        self.charge_of_entries(found, |planner, container, entry| planner.index_part(container, entry))
    }

    /// RU of building a list from its source: each item is read from the change feed, and entries are
    /// written.
    pub(crate) fn rebuild_charge(&self, found: DesignList<'_>) -> f64 {
        let Some(item) = self.model().item(&found.related.item_type) else { return 0.0 };
        let items = self.data.items(&item.name) as f64;
        let read = self.change(item, self.data.item_bytes(&item.name)).request_charge;
        items * read
            + self
                .charge_of_entries(found, |planner, container, entry| planner.create(container, entry).charge)
    }

    /// A charge of all entries of a list.
    fn charge_of_entries(&self, found: DesignList<'_>, charge: impl Fn(&Self, &str, &Value) -> f64) -> f64 {
        let Some(item) = self.model().item(&found.related.item_type) else { return 0.0 };
        let each = self.mean_charge(item, |planner, visible| {
            let entry = planner.writer().entry((item, found.list), visible);
            planner.entries_of(item, found.list, visible) * charge(planner, &found.list.container, &entry)
        });
        let kept = self.kept_share(found, item) * self.selectivity(item, &found.related.conditions);
        self.data.items(&item.name) as f64 * each * kept
    }

    fn mean_charge(&self, item: &ItemType, charge: impl Fn(&Self, &Value) -> f64) -> f64 {
        const SAMPLED: usize = 50;
        let sample = self.data.survey.of(&item.name).map(|found| found.sample.as_slice()).unwrap_or_default();
        let sum: f64 = sample.iter().take(SAMPLED).map(|(_, visible)| charge(self, visible)).sum();
        sum / sample.len().clamp(1, SAMPLED) as f64
    }
}
