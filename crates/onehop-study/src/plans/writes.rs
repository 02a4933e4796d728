//! Plans of mutations: the reads before a command, its batch, and the changes that read models see.

use onehop_model::{
    Action, CopyOrigin, Deletion, Field, FieldKind, Function, ItemType, ItemVersion, Kept, Name,
    RelatedSource, Selection, StoredField, TypeOf, ValueSource,
};
use onehop_store::OperationKind;
use serde_json::{Value, json};

use super::charges::PlannedWrite;
use super::operation::{PlannedOperation, RequestPlan, push};
use super::planner::Planner;
use super::reads::reservation;
use crate::data::{EmbeddedReference, embedded_references};
use crate::designs::set;

/// A stored item that a request changes, as read models see it.
pub(super) struct ItemChange<'a> {
    pub item: &'a ItemType,
    pub kind: ChangeKind,
    /// The item with the names of fields, after the change.
    pub visible: Value,
    /// The item with the names of fields, before.
    pub before: Value,
}

/// The kind of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChangeKind {
    Created,
    /// These fields have other values.
    Changed(Vec<String>),
    Removed,
}

/// A count that a command keeps.
struct KeptCount<'a> {
    owner: &'a ItemType,
    field: &'a Field,
    /// The reference to the owner.
    by: &'a Name,
    in_batch: bool,
}

impl Planner<'_> {
    pub(super) fn write(&self, selection: &Selection, subject: usize, plan: &mut RequestPlan) {
        let Some(target) = self.model().write_target(&selection.field) else { return };
        let Some(item) = self.model().item(&target.item_type) else { return };
        let visible = self.row(item, subject).value;
        match target.action {
            Action::Create => self.create_item(item, visible, plan),
            Action::Delete => self.delete_item(item, visible, plan),
            Action::Update | Action::Read => {
                let mut fields: Vec<String> =
                    selection.input_fields().iter().map(ToString::to_string).collect();
                fields.retain(|field| item.field(field).is_some_and(|field| is_changeable(item, field)));
                if fields.is_empty() {
                    fields = target.fields.iter().map(ToString::to_string).collect();
                }
                if fields.is_empty() {
                    let inputs = item.fields.iter().filter(|field| is_changeable(item, field));
                    fields = inputs.map(|field| field.name.to_string()).collect();
                }
                self.update_item(item, visible, fields, subject, plan);
            }
        }
    }

    fn create_item(&self, item: &ItemType, visible: Value, plan: &mut RequestPlan) {
        self.reads_of_copies(item, &visible, &mut plan.operations);
        for field in unique_fields(item) {
            push(&mut plan.operations, self.reservation(item, field, OperationKind::Create));
        }
        let stored = self.writer().item(item, &visible);
        let write = self.create(&item.container, &stored);
        self.commit(item, write, &visible, 1.0, plan);
        let change = ItemChange { item, kind: ChangeKind::Created, before: Value::Null, visible };
        self.follow(&change, plan);
    }

    fn update_item(
        &self,
        item: &ItemType,
        before: Value,
        fields: Vec<String>,
        subject: usize,
        plan: &mut RequestPlan,
    ) {
        let stored = self.writer().item(item, &before);
        push(&mut plan.operations, self.read_of(item, &stored));
        let mut visible = before.clone();
        for field in &fields {
            visible[field] = self.other_value(item, field, &before, subject);
        }
        self.reads_of_changed_copies(item, &fields, &visible, &mut plan.operations);
        for field in unique_fields(item).filter(|field| fields.contains(&field.name.to_string())) {
            push(&mut plan.operations, self.reservation(item, field, OperationKind::Create));
            push(&mut plan.operations, self.reservation(item, field, OperationKind::Delete));
        }
        let mut after = self.writer().item(item, &visible);
        next_version(item, &mut after);
        let write = self.replace(&item.container, &stored, &after);
        let operation = self.batch(&item.container, about("update", item), &[write], self.item_share(item));
        push(&mut plan.operations, operation);
        self.follow(&ItemChange { item, kind: ChangeKind::Changed(fields), before, visible }, plan);
    }

    fn delete_item(&self, item: &ItemType, visible: Value, plan: &mut RequestPlan) {
        let stored = self.writer().item(item, &visible);
        push(&mut plan.operations, self.read_of(item, &stored));
        let write = match &item.deletion {
            Deletion::Soft { path, is, ttl_seconds } => {
                let mut after = stored.clone();
                set(&mut after, path, json!(is));
                after["ttl"] = json!(ttl_seconds);
                next_version(item, &mut after);
                self.replace(&item.container, &stored, &after)
            }
            Deletion::Hard | Deletion::Ttl | Deletion::AllVersions => self.delete(&item.container, &stored),
        };
        self.commit(item, write, &visible, -1.0, plan);
        let change = ItemChange { item, kind: ChangeKind::Removed, before: visible.clone(), visible };
        self.follow(&change, plan);
    }

    fn read_of(&self, item: &ItemType, stored: &Value) -> PlannedOperation {
        let bytes = stored.to_string().len() as f64;
        self.point_reads(item, format!("{} by id", item.name), 1.0, bytes, self.item_share(item))
    }

    /// The write with the counts of its owners: one batch in their logical partition.
    fn commit(
        &self,
        item: &ItemType,
        write: PlannedWrite,
        visible: &Value,
        more: f64,
        plan: &mut RequestPlan,
    ) {
        let counts: Vec<KeptCount<'_>> = self.kept_counts(item);
        let mut writes = Vec::new();
        let mut owners: Vec<(&ItemType, Value, Vec<String>)> = Vec::new();
        for count in counts.iter().filter(|count| count.in_batch) {
            let owner = self.owner_of(count, visible);
            match owners.iter_mut().find(|(known, ..)| known.name == count.owner.name) {
                Some((_, _, fields)) => fields.push(count.field.name.to_string()),
                None => owners.push((count.owner, owner, vec![count.field.name.to_string()])),
            }
        }
        for (owner, value, fields) in &owners {
            let before = self.writer().item(owner, value);
            push(&mut plan.operations, self.read_of(owner, &before));
            writes.push(self.replace(&owner.container, &before, &counted(owner, &before, fields, more)));
        }
        writes.push(write);
        let (verb, share) = if more > 0.0 {
            ("create", self.new_item_share(item))
        } else {
            ("delete", self.item_share(item))
        };
        push(&mut plan.operations, self.batch(&item.container, about(verb, item), &writes, share));
        for (owner, value, mut fields) in owners {
            fields.extend(computed_from(owner, &fields));
            let change = ItemChange {
                item: owner,
                kind: ChangeKind::Changed(fields),
                before: value.clone(),
                visible: value,
            };
            self.follow(&change, plan);
        }
        for count in counts.iter().filter(|count| !count.in_batch) {
            self.count_behind(count, visible, more, plan);
        }
    }

    /// A count that a projection keeps.
    fn count_behind(&self, count: &KeptCount<'_>, visible: &Value, more: f64, plan: &mut RequestPlan) {
        let (owner, value) = (count.owner, self.owner_of(count, visible));
        let before = self.writer().item(owner, &value);
        let fields = vec![count.field.name.to_string()];
        let after = counted(owner, &before, &fields, more);
        push(&mut plan.behind, self.read_of(owner, &before));
        let write = self.replace(&owner.container, &before, &after);
        let share = self.item_share(owner);
        push(
            &mut plan.behind,
            self.batch(&owner.container, format!("count of {}", owner.name), &[write], share),
        );
        self.follow(
            &ItemChange {
                item: owner,
                kind: ChangeKind::Changed(fields),
                before: value.clone(),
                visible: value,
            },
            plan,
        );
    }

    fn owner_of(&self, count: &KeptCount<'_>, visible: &Value) -> Value {
        let id = visible.get(&**count.by).unwrap_or(&Value::Null);
        self.data.target(&count.owner.name, id).cloned().unwrap_or(json!({}))
    }

    /// The stored counts of a type's items.
    fn kept_counts(&self, item: &ItemType) -> Vec<KeptCount<'_>> {
        let mut found = Vec::new();
        for owner in self.model().items() {
            for field in &owner.fields {
                let FieldKind::Count(count) = &field.kind else { continue };
                let Some(FieldKind::Related(related)) = owner.field(&count.of).map(|field| &field.kind)
                else {
                    continue;
                };
                let by = match &related.source {
                    RelatedSource::Partition { by } => by.first(),
                    RelatedSource::Find { by, .. } => by.as_ref(),
                    RelatedSource::List(list) => list.by.first(),
                };
                if let Some(by) = by.filter(|_| related.item_type == item.name && count.kept != Kept::Query) {
                    found.push(KeptCount {
                        owner,
                        field,
                        by,
                        in_batch: matches!(count.kept, Kept::Batch { .. }),
                    });
                }
            }
        }
        found
    }

    /// Point reads of the items whose fields are copied. The session has the caller's own.
    fn reads_of_copies(&self, item: &ItemType, visible: &Value, operations: &mut Vec<PlannedOperation>) {
        let fields: Vec<String> = item.fields.iter().map(|field| field.name.to_string()).collect();
        self.reads_of_changed_copies(item, &fields, visible, operations);
    }

    fn reads_of_changed_copies(
        &self,
        item: &ItemType,
        fields: &[String],
        visible: &Value,
        operations: &mut Vec<PlannedOperation>,
    ) {
        for field in item.fields.iter().filter(|field| fields.contains(&field.name.to_string())) {
            let value = visible.get(&*field.name);
            let elements = match value {
                None | Some(Value::Null) => 0,
                Some(Value::Array(elements)) => elements.len(),
                Some(_) => 1,
            };
            let target = match &field.kind {
                FieldKind::Reference(reference) if !reference.copies.is_empty() && !reference.caller => {
                    Some(&reference.target)
                }
                FieldKind::Stored(_) => match &field.ty.of {
                    TypeOf::Embedded(name) => self.copied_type(name),
                    _ => None,
                },
                _ => None,
            };
            let Some(target) = target.and_then(|name| self.model().item(name)).filter(|_| elements > 0)
            else {
                continue;
            };
            let about = format!("{} of {}.{}", target.name, item.name, field.name);
            push(operations, self.targets(target, &about, elements as f64));
        }
        let has_copies = |found: &EmbeddedReference<'_>| {
            !found.reference.copies.is_empty() && fields.contains(&found.fields[0].name.to_string())
        };
        for found in embedded_references(self.model(), item).into_iter().filter(has_copies) {
            let elements = found.ids(visible).len();
            let Some(target) = self.model().item(&found.reference.target).filter(|_| elements > 0) else {
                continue;
            };
            let about = format!("{} of {}.{}", target.name, item.name, found.name());
            push(operations, self.targets(target, &about, elements as f64));
        }
    }

    /// The item type whose fields an embedded type copies.
    fn copied_type(&self, embedded: &str) -> Option<&Name> {
        let fields = &self.model().embedded_type(embedded)?.fields;
        fields.iter().find_map(|field| match &field.kind {
            FieldKind::Stored(StoredField { source: ValueSource::Copied(copy), .. }) => match &copy.from {
                CopyOrigin::Type { item_type, .. } => Some(item_type),
                CopyOrigin::Reference { .. } => None,
            },
            _ => None,
        })
    }

    fn reservation(&self, item: &ItemType, field: &Field, kind: OperationKind) -> PlannedOperation {
        let (container, value) = (self.reservations(), reservation());
        let write = match kind {
            OperationKind::Delete => self.delete(container, &value),
            _ => self.create(container, &value),
        };
        let about = format!("reservation of {}.{}", item.name, field.name);
        self.batch(container, about, &[write], super::operation::BusiestShare::default())
    }

    /// Another value of a field: of another sampled item, where it differs.
    fn other_value(&self, item: &ItemType, field: &str, before: &Value, subject: usize) -> Value {
        let old = before.get(field).unwrap_or(&Value::Null);
        let sample = self.data.survey.of(&item.name).map(|found| found.sample.as_slice()).unwrap_or_default();
        let after = sample.iter().cycle().skip(subject + 1).take(sample.len());
        let other = after.filter_map(|(_, value)| value.get(field)).find(|value| *value != old);
        other.cloned().unwrap_or_else(|| match old {
            Value::Number(number) => json!(number.as_f64().unwrap_or(0.0) + 1.0),
            Value::String(text) => json!(format!("{text}+")),
            Value::Bool(value) => json!(!value),
            _ => json!("a new value"),
        })
    }
}

fn about(verb: &str, item: &ItemType) -> String {
    format!("{verb} {}", item.name)
}

fn unique_fields(item: &ItemType) -> impl Iterator<Item = &Field> {
    item.fields
        .iter()
        .filter(|field| matches!(&field.kind, FieldKind::Stored(stored) if stored.unique.is_some()))
}

/// Whether an update can change a field: no id, no key, nothing that follows from others.
fn is_changeable(item: &ItemType, field: &Field) -> bool {
    let is_key = item
        .key
        .iter()
        .any(|source| matches!(source, onehop_model::KeySource::Field(name) if *name == field.name));
    let is_input = match &field.kind {
        FieldKind::Stored(stored) => stored.source == ValueSource::Input && !stored.immutable,
        FieldKind::Reference(reference) => !reference.caller && !reference.immutable,
        _ => false,
    };
    is_input && !is_key && !item.id_from.contains(&field.name)
}

pub(super) fn next_version(item: &ItemType, stored: &mut Value) {
    if let ItemVersion::Property(path) = &item.version {
        set(stored, path, json!(2));
    }
}

/// The owner with other counts, and what is computed from them.
fn counted(owner: &ItemType, before: &Value, fields: &[String], more: f64) -> Value {
    let mut after = before.clone();
    for field in owner.fields.iter().filter(|field| fields.contains(&field.name.to_string())) {
        let Some(path) = field.property() else { continue };
        let old = path.properties().iter().try_fold(before, |value, property| value.get(property));
        let number = (old.and_then(Value::as_f64).unwrap_or(0.0) + more).max(0.0) as u64;
        set(&mut after, path, json!(number));
        for computed in &owner.fields {
            if let FieldKind::Stored(StoredField { source: ValueSource::Computed(found), property, .. }) =
                &computed.kind
                && found.stored
                && found.from.iter().any(|path| path.single() == Some(&field.name))
            {
                let length = found.length.unwrap_or(1) as usize;
                let value = if found.function == Function::Padded {
                    json!(format!("{number:0length$}"))
                } else {
                    json!(number)
                };
                set(&mut after, property, value);
            }
        }
    }
    next_version(owner, &mut after);
    after
}

/// The computed fields of a type that depend on some fields.
fn computed_from(item: &ItemType, fields: &[String]) -> Vec<String> {
    let depends = |field: &&Field| match &field.kind {
        FieldKind::Stored(StoredField { source: ValueSource::Computed(computed), .. }) => {
            computed.from.iter().any(|path| fields.contains(&path.first().to_string()))
        }
        _ => false,
    };
    item.fields.iter().filter(depends).map(|field| field.name.to_string()).collect()
}
