//! Embedded references: references within the embedded objects of an item.

use onehop_model::{Field, FieldKind, ItemType, Model, PropertyPath, ReferenceField, TypeOf};
use serde_json::Value;

use super::places::{places_of, value_at};
use crate::designs::set;

/// A reference within the embedded objects of an item.
#[derive(Debug, Clone)]
pub(crate) struct EmbeddedReference<'m> {
    /// The fields on the way, the reference as the last.
    pub fields: Vec<&'m Field>,
    pub reference: &'m ReferenceField,
}

impl EmbeddedReference<'_> {
    /// The name as a grouping: `lines.product`.
    pub fn name(&self) -> String {
        self.fields.iter().map(|field| field.name.to_string()).collect::<Vec<_>>().join(".")
    }

    /// The ids in a visible item.
    pub fn ids<'v>(&self, visible: &'v Value) -> Vec<&'v Value> {
        values_at(&self.steps(), visible)
    }

    /// Gives the copies another value in each embedded object of a stored item that refers to an item.
    pub fn change_copies(&self, stored: &mut Value, id: &Value, value: impl Fn(&str) -> Value) {
        change_within(&self.fields, self.reference, stored, id, &value);
    }

    /// The places of each field on the way.
    pub(super) fn steps(&self) -> Vec<Vec<Vec<String>>> {
        self.fields.iter().map(|field| places_of(field)).collect()
    }
}

/// The references within the embedded objects of a type's items.
pub(crate) fn embedded_references<'m>(model: &'m Model, item: &'m ItemType) -> Vec<EmbeddedReference<'m>> {
    let mut found = Vec::new();
    for field in &item.fields {
        add_within(model, &[field], &mut found);
    }
    found
}

fn add_within<'m>(model: &'m Model, fields: &[&'m Field], found: &mut Vec<EmbeddedReference<'m>>) {
    let Some(TypeOf::Embedded(of)) = fields.last().map(|field| &field.ty.of) else { return };
    for inner in model.embedded_type(of).iter().flat_map(|embedded| &embedded.fields) {
        let within = [fields, &[inner]].concat();
        match &inner.kind {
            FieldKind::Reference(reference) => found.push(EmbeddedReference { fields: within, reference }),
            _ => add_within(model, &within, found),
        }
    }
}

/// The values at steps through objects and arrays.
pub(crate) fn values_at<'v>(steps: &[Vec<Vec<String>>], line: &'v Value) -> Vec<&'v Value> {
    let inner = |places: &Vec<Vec<String>>, value: &'v Value| match value_at(places, value) {
        None => Vec::new(),
        Some(Value::Array(elements)) => elements.iter().collect(),
        Some(value) => vec![value],
    };
    steps.iter().fold(vec![line], |values, places| {
        values.into_iter().flat_map(|value| inner(places, value)).collect()
    })
}

fn change_within(
    fields: &[&Field],
    reference: &ReferenceField,
    object: &mut Value,
    id: &Value,
    value: &dyn Fn(&str) -> Value,
) {
    if let Value::Array(elements) = object {
        elements.iter_mut().for_each(|element| change_within(fields, reference, element, id, value));
        return;
    }
    let Some((field, rest)) = fields.split_first() else { return };
    if rest.is_empty() {
        if value_at(&places_of(field), object) == Some(id) {
            for copy in &reference.copies {
                set(object, &copy.property, value(&copy.field));
            }
        }
        return;
    }
    let property = field.property().map(PropertyPath::properties).unwrap_or_default();
    let inner = property.iter().try_fold(object, |inner, property| inner.get_mut(property));
    if let Some(inner) = inner {
        change_within(rest, reference, inner, id, value);
    }
}
