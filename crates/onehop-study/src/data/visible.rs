//! Visible types: the fields that data files have, whatever a design stores. A value stands at the field's
//! name, or at a property at which a design stores it.

use onehop_model::{Field, FieldKind, ItemType, ValueSource};
use serde_json::{Map, Value};

use super::embedded::{embedded_references, values_at};
use super::places::{places_of, value_at};
use crate::directory::Design;

/// The visible fields of an item type, over all designs.
#[derive(Debug, Clone, PartialEq)]
pub struct VisibleType {
    /// The item type.
    pub name: String,
    /// Its fields with a value in data files.
    pub fields: Vec<VisibleField>,
    /// The references within its embedded objects: their names, and the places of each field on the way.
    embedded: Vec<(String, Vec<Vec<Vec<String>>>)>,
}

/// A visible field.
#[derive(Debug, Clone, PartialEq)]
pub struct VisibleField {
    /// The field.
    pub name: String,
    /// The paths at which data files may have it, the first that exists holds.
    pub places: Vec<Vec<String>>,
    /// Whether an item without it is refused.
    pub is_required: bool,
}

impl VisibleType {
    /// The visible type of this name; `None` where no design has it.
    #[must_use]
    pub fn of(name: &str, designs: &[Design]) -> Option<Self> {
        let mut fields: Vec<VisibleField> = Vec::new();
        let mut embedded = Vec::new();
        let mut is_known = false;
        for (model, item) in
            designs.iter().filter_map(|design| Some((&design.model, design.model.item(name)?)))
        {
            is_known = true;
            let references = embedded_references(model, item).into_iter();
            embedded.extend(references.map(|found| (found.name(), found.steps())));
            for field in &item.fields {
                add(&mut fields, item, field);
            }
        }
        is_known.then(|| Self { name: name.to_owned(), fields, embedded })
    }

    /// The item with the names of fields, without other properties.
    #[must_use]
    pub fn normalised(&self, line: &Value) -> Value {
        let value = |field: &VisibleField| Some((field.name.clone(), field.value(line)?.clone()));
        Value::Object(self.fields.iter().filter_map(value).collect::<Map<_, _>>())
    }

    /// The values of a field, or of a reference within embedded objects such as `lines.product`.
    pub(crate) fn values<'v>(&self, name: &str, line: &'v Value) -> Vec<&'v Value> {
        if let Some((_, steps)) = self.embedded.iter().find(|(known, _)| known == name) {
            let mut values: Vec<&Value> = Vec::new();
            for value in values_at(steps, line) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            return values;
        }
        match self.field(name).and_then(|field| field.value(line)) {
            Some(Value::Array(elements)) => elements.iter().collect(),
            value => value.into_iter().collect(),
        }
    }

    /// The field of a name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&VisibleField> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl VisibleField {
    /// The value in a line; null counts as absent.
    #[must_use]
    pub fn value<'v>(&self, line: &'v Value) -> Option<&'v Value> {
        value_at(&self.places, line)
    }
}

fn add(fields: &mut Vec<VisibleField>, item: &ItemType, field: &Field) {
    let is_input = match &field.kind {
        FieldKind::Stored(stored) => match stored.source {
            ValueSource::Id | ValueSource::Input => true,
            ValueSource::Created | ValueSource::Updated(_) | ValueSource::Version(_) => false,
            ValueSource::Computed(_) | ValueSource::Copied(_) => return,
        },
        FieldKind::Reference(_) => true,
        FieldKind::Related(_) | FieldKind::Count(_) | FieldKind::HasCaller(_) => return,
    };
    let places = places_of(field);
    let has_default = matches!(&field.kind, FieldKind::Stored(stored) if stored.default.is_some());
    // A derived id need not stand in the data.
    let is_derived = &*field.name == "id" && !item.id_from.is_empty();
    let is_required = is_input && field.ty.non_null && !has_default && !is_derived;
    match fields.iter_mut().find(|known| known.name == *field.name) {
        Some(known) => {
            known.places.extend(places);
            known.places.dedup();
            known.is_required &= is_required;
        }
        None => fields.push(VisibleField { name: field.name.to_string(), places, is_required }),
    }
}
