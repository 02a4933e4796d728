//! Checks of partition keys: references find their targets, and partitions and lists name whole keys.

use super::checked::Checked;
use crate::defaults::TYPE_PROPERTY;
use crate::problem::Problem;
use crate::syntax::Span;
use crate::value::{
    Container, Field, FieldKind, FieldTest, ItemType, KeySource, ListSource, Place, QueryKind, RelatedField,
    RelatedSource,
};

/// A field with related items: its parent and name.
pub(super) struct RelatedPlace<'a> {
    /// The parent's name; `Query` for a root field.
    pub parent: &'a str,
    pub field: &'a str,
    pub related: &'a RelatedField,
}

impl<'a> Checked<'a> {
    /// All fields with related items.
    pub(super) fn related(&self) -> Vec<RelatedPlace<'a>> {
        let of_items = self.item_fields().filter_map(|(item, field)| match &field.kind {
            FieldKind::Related(related) => {
                Some(RelatedPlace { parent: &item.name, field: &field.name, related })
            }
            _ => None,
        });
        let of_query = self.parts.queries.iter().filter_map(|query| match &query.kind {
            QueryKind::Related(related) => {
                Some(RelatedPlace { parent: "Query", field: &query.name, related })
            }
            _ => None,
        });
        of_items.chain(of_query).collect()
    }
}

/// Checks keys and the fields that name them.
pub(super) fn check_keys(checked: &Checked<'_>) {
    for item in &checked.parts.items {
        let container = checked.container(&item.container);
        if container.is_some_and(|container| container.place == Place::Process) {
            let problem = Problem::ItemInProcess { container: item.container.to_string() };
            checked.reports.add(checked.type_span(&item.name), problem);
        }
    }
    check_references(checked);
    for place in checked.related() {
        let Some(target) = checked.parts.item(&place.related.item_type) else { continue };
        match &place.related.source {
            RelatedSource::Partition { by } => check_partition(checked, &place, target, by),
            RelatedSource::List(list) => check_list_key(checked, &place, target, list),
            RelatedSource::Find { .. } => {}
        }
    }
}

/// A reference holds the key of its target: the id, or the fields of `partition`.
fn check_references(checked: &Checked<'_>) {
    for ty in &checked.typed.types {
        let Some(fields) = checked.parts.fields(&ty.name) else { continue };
        for field in fields {
            let FieldKind::Reference(reference) = &field.kind else { continue };
            let Some(target) = checked.parts.item(&reference.target) else { continue };
            let Some(container) = checked.container(&target.container) else { continue };
            // A key that nothing fills is already reported.
            if target.key.len() != container.key.len() {
                continue;
            }
            let fields = target.key.iter().filter(|source| matches!(source, KeySource::Field(_))).count();
            let is_known = fields == 0;
            let span = checked.directive_span(&ty.name, &field.name, "reference");
            let name = target.name.to_string();
            match (is_known, reference.partition.len()) {
                (true, 1..) => checked.reports.add(span, Problem::ReferenceWithPartition { ty: name }),
                // The id of a hierarchical key is the reference's own.
                (false, named) if named != target.key.len() && named != fields => {
                    let paths = fields;
                    checked.reports.add(span, Problem::ReferenceNeedsPartition { ty: name, paths });
                }
                _ => {}
            }
        }
    }
}

/// `@partition` names the key of its items, or under `Query` a constant key.
fn check_partition(
    checked: &Checked<'_>,
    place: &RelatedPlace<'_>,
    target: &ItemType,
    by: &[crate::value::Name],
) {
    if checked.container(&target.container).is_none_or(|container| container.key.len() != target.key.len()) {
        return;
    }
    let span = checked.directive_span(place.parent, place.field, "partition");
    if place.parent == "Query" {
        if target.key.iter().any(|source| *source != KeySource::Type) {
            checked.reports.add(span, Problem::PartitionVaries { ty: target.name.to_string() });
        }
        return;
    }
    let is_key = target.key.len() == by.len()
        && target.key.iter().zip(by).all(|(source, by)| *source == KeySource::Field(by.clone()));
    if !is_key {
        let by = by.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let problem = Problem::PartitionNotKey { ty: target.name.to_string(), key: key_words(target), by };
        checked.reports.add(span, problem);
    }
}

fn key_words(item: &ItemType) -> String {
    let sources = item.key.iter().map(|source| match source {
        KeySource::Id => "`id`".to_owned(),
        KeySource::Type => "`type`".to_owned(),
        KeySource::Field(field) => format!("`{field}`"),
    });
    sources.collect::<Vec<_>>().join(", ")
}

/// The entries of a list have a value for each path of the key.
fn check_list_key(checked: &Checked<'_>, place: &RelatedPlace<'_>, target: &ItemType, list: &ListSource) {
    let Some(container) = checked.container(&list.container) else { return };
    let typed = checked.typed_field(place.parent, place.field);
    let span = typed
        .and_then(|(_, directives)| directives.list.as_ref())
        .map(|directive| directive.into.span)
        .unwrap_or_default();
    if !list.by.is_empty() {
        if list.by.len() != container.key.len() {
            let problem = Problem::ListKeyCount {
                container: container.name.to_string(),
                paths: container.key.len(),
                fields: list.by.len(),
            };
            checked.reports.add(span, problem);
        }
        if !container.followed {
            check_taken_key(checked, container, target, list, span);
        }
        return;
    }
    // A list into a followed container is already reported.
    if place.parent != "Query" || container.followed {
        return;
    }
    for path in &container.key {
        let is_type = path.properties() == [TYPE_PROPERTY];
        let is_fixed = place.related.conditions.iter().any(|condition| {
            let field = condition.field.single().and_then(|field| target.field(field));
            let property = field.and_then(|field| field.property());
            // An entry is stored by this program: its key may have the field's own name.
            let is_name = field.is_some_and(|field| path.properties() == [field.name.to_string()]);
            matches!(condition.test, FieldTest::Is(_)) && (property == Some(path) || is_name)
        });
        if !is_type && !is_fixed {
            let problem =
                Problem::ListKeyVaries { container: container.name.to_string(), path: path.slashed() };
            checked.reports.add(span, problem);
        }
    }
}

/// Refuses a list by fields whose key has the name of a property of each entry: `id`, `type` or `version`.
fn check_taken_key(
    checked: &Checked<'_>,
    container: &Container,
    target: &ItemType,
    list: &ListSource,
    span: Span,
) {
    for (path, by) in container.key.iter().zip(&list.by) {
        let property = match path.properties() {
            [name] if name == "id" => "id",
            [name] if name == TYPE_PROPERTY => "type",
            [name] if name == "version" => "version",
            _ => continue,
        };
        if target.field(by).and_then(Field::property) != Some(path) {
            let (container, by) = (container.name.to_string(), by.to_string());
            let problem = Problem::ListKeyTaken { container, path: path.slashed(), property, by };
            checked.reports.add(span, problem);
        }
    }
}
