//! Check for two writers of one id: items and entries with one id must not meet in one logical partition.

use super::checked::Checked;
use crate::defaults::TYPE_PROPERTY;
use crate::problem::Problem;
use crate::syntax::Span;
use crate::value::{
    Condition, ContainerName, Field, FieldKind, FieldTest, ItemType, KeySource, Name, PropertyPath,
    RelatedSource,
};

/// The values that one path of a partition key can have.
#[derive(Debug, Clone, PartialEq)]
enum KeyValues {
    /// Ids of an item type.
    Ids(Name),
    /// One constant.
    Constant(String),
    /// Values of a field.
    Values,
}

impl KeyValues {
    /// Whether two writers can have one value. A value of a field can be a constant of another writer.
    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Values, Self::Constant(_)) | (Self::Constant(_), Self::Values) => true,
            (one, other) => one == other,
        }
    }
}

/// The ids that a writer writes.
#[derive(Debug, Clone, PartialEq)]
enum Ids {
    /// The ids of an item type.
    Of(Name),
    /// Ids that are derived from fields with these values.
    Derived(Vec<KeyValues>),
}

/// A writer of items or entries.
struct Writer {
    words: String,
    container: ContainerName,
    ids: Ids,
    key: Vec<KeyValues>,
    span: Span,
}

/// Checks each pair of writers.
pub(super) fn check_writers(checked: &Checked<'_>) {
    let writers = writers(checked);
    for (place, second) in writers.iter().enumerate() {
        let meets = |first: &&Writer| {
            first.container == second.container
                && first.ids == second.ids
                && first.key.len() == second.key.len()
                && first.key.iter().zip(&second.key).all(|(first, second)| first.meets(second))
        };
        if let Some(first) = writers[..place].iter().find(meets) {
            let problem = Problem::TwoWriters {
                first: first.words.clone(),
                second: second.words.clone(),
                container: second.container.to_string(),
            };
            checked.reports.add(second.span, problem);
        }
    }
}

/// The writers of a model: item types, item types with derived ids, and lists.
fn writers(checked: &Checked<'_>) -> Vec<Writer> {
    let mut writers = Vec::new();
    for item in &checked.parts.items {
        let key = item.key.iter().map(|source| match source {
            KeySource::Id => KeyValues::Ids(item.name.clone()),
            KeySource::Type => KeyValues::Constant(item.type_value.clone()),
            KeySource::Field(field) => field_values(item, field),
        });
        let writer = |ids| Writer {
            words: format!("the type {}", item.name),
            container: item.container.clone(),
            ids,
            key: key.clone().collect(),
            span: checked.type_span(&item.name),
        };
        if !item.id_from.is_empty() {
            let fields = item.id_from.iter().map(|field| field_values(item, field)).collect();
            writers.push(writer(Ids::Derived(fields)));
        }
        writers.push(writer(Ids::Of(item.name.clone())));
    }
    for place in checked.related() {
        let RelatedSource::List(list) = &place.related.source else { continue };
        let Some(target) = checked.parts.item(&place.related.item_type) else { continue };
        let paths = checked.container(&list.container).map(|container| container.key.as_slice());
        let constant = |path: &PropertyPath| match path.properties() {
            [property] if property == TYPE_PROPERTY => KeyValues::Constant(list.entry_type.clone()),
            _ => KeyValues::Constant(fixed_value(target, &place.related.conditions, path)),
        };
        let key = match list.by.is_empty() {
            true => paths.unwrap_or_default().iter().map(constant).collect(),
            false => list.by.iter().map(|field| field_values(target, field)).collect(),
        };
        writers.push(Writer {
            words: format!("the list {}.{}", place.parent, place.field),
            container: list.container.clone(),
            ids: Ids::Of(target.name.clone()),
            key,
            span: checked.directive_span(place.parent, place.field, "list"),
        });
    }
    writers
}

/// The value that a condition fixes for a property; empty without such a condition, which is already
/// reported.
fn fixed_value(item: &ItemType, conditions: &[Condition], path: &PropertyPath) -> String {
    // A key may have the field's own name.
    let is_name = |field: &Field| path.properties() == [field.name.to_string()];
    let fixed = conditions.iter().find_map(|condition| {
        let field = item.field(condition.field.single()?)?;
        match &condition.test {
            FieldTest::Is(value) if field.property() == Some(path) || is_name(field) => {
                Some(value.to_string())
            }
            _ => None,
        }
    });
    fixed.unwrap_or_default()
}

/// The values of a field: the ids of a reference's target, or other values.
fn field_values(item: &ItemType, field: &str) -> KeyValues {
    match item.field(field).map(|field| &field.kind) {
        Some(FieldKind::Reference(reference)) => KeyValues::Ids(reference.target.clone()),
        _ => KeyValues::Values,
    }
}
