//! Frozen copies of a reference that is written again with the target that it has: they stay as they were.

use onehop_model::{CopiedField, Field, FieldKind, PropertyPath, ReferenceField, ValueSource};
use serde_json::Value;

use super::model::Body;
use super::references::field_copied_along;
use super::stored;

/// The frozen copies of a reference before a write.
pub struct HeldCopies<'a> {
    reference: &'a ReferenceField,
    /// Of a single reference that keeps its target: the properties with their values.
    values: Vec<(&'a PropertyPath, Option<Value>)>,
    /// Of a list: the elements, as objects with their ids.
    elements: Vec<Value>,
}

impl<'a> HeldCopies<'a> {
    /// The frozen copies that an item has beside a reference, and in the scalars that are copied along it.
    #[must_use]
    pub fn of(
        fields: &'a [Field],
        field: &'a Field,
        reference: &'a ReferenceField,
        (keeps_target, body): (bool, &Body),
    ) -> Self {
        if field.ty.list.is_some() {
            let elements = stored::get(body, &reference.property).and_then(Value::as_array);
            let elements = elements.filter(|_| reference.frozen);
            return Self { reference, values: Vec::new(), elements: elements.cloned().unwrap_or_default() };
        }
        if !keeps_target {
            return Self { reference, values: Vec::new(), elements: Vec::new() };
        }
        let beside = reference.copies.iter().filter(|_| reference.frozen);
        let beside = beside.flat_map(CopiedField::properties);
        let scalars = fields.iter().filter(|scalar| {
            let source = match &scalar.kind {
                FieldKind::Stored(stored) => &stored.source,
                _ => return false,
            };
            matches!(source, ValueSource::Copied(source)
                if source.frozen && field_copied_along(fields, &field.name, &source.from).is_some())
        });
        let scalars = scalars.flat_map(|scalar| scalar.property().into_iter().chain(scalar.currency()));
        let values = beside.chain(scalars).map(|path| (path, stored::get(body, path).cloned())).collect();
        Self { reference, values, elements: Vec::new() }
    }

    /// Puts the copies back after the reference was written. An item without any of them gets the new ones.
    pub fn restore(self, body: &mut Body) {
        let is_present = |value: &Option<Value>| value.as_ref().is_some_and(|value| !value.is_null());
        if self.values.iter().any(|(_, value)| is_present(value)) {
            for (path, value) in self.values {
                stored::set(body, path, value.unwrap_or(Value::Null));
            }
        }
        let Some(Value::Array(written)) = stored::get(body, &self.reference.property) else { return };
        let held = |element: &Value| {
            let is_same = |held: &&Value| held["id"].is_string() && held["id"] == element["id"];
            self.elements.iter().find(is_same).unwrap_or(element).clone()
        };
        let written = written.iter().map(held).collect();
        stored::set(body, &self.reference.property, Value::Array(written));
    }
}
