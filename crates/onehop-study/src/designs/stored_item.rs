//! Stored items: the JSON that a design stores for an item of the data, with copies, counts and computed
//! values; and the entries of its lists.

use onehop_model::{
    CopyOrigin, Field, FieldKind, ItemType, ItemVersion, Kept, KeySource, ListSource, Model, PathTest,
    PropertyPath, ReferenceField, StoredField, TypeOf, ValueSource,
};
use serde_json::{Map, Value, json};

use super::computed::computed_value;
use super::design_data::DesignData;
use crate::data::{places_of, value_at};

/// A time where the data has none: its length decides.
const SOME_TIME: &str = "2026-11-23T09:20:00.125Z";

/// Writes the stored items of a design.
pub(crate) struct ItemWriter<'a> {
    pub data: &'a DesignData<'a>,
}

/// Where a value is stored. Entries have no default values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoredIn {
    Item,
    Entry,
}

/// A field of an item type, and where its value is stored.
type PlacedField<'a> = (&'a ItemType, &'a Field, StoredIn);

/// The fields of a list's entries with the list.
pub(crate) type EntryFields<'a> = (&'a ItemType, &'a ListSource);

impl ItemWriter<'_> {
    fn model(&self) -> &Model {
        &self.data.design.model
    }

    /// The stored item of a visible one.
    pub fn item(&self, item: &ItemType, visible: &Value) -> Value {
        let mut stored = Value::Object(Map::new());
        self.heading(&mut stored, item, &item.type_value);
        self.key(&mut stored, item, &item.key, &item.container, visible);
        for field in &item.fields {
            if let Some(property) = field.property() {
                self.field(&mut stored, (item, field, StoredIn::Item), property, visible);
            }
        }
        stored
    }

    /// The entry of a visible item in a list.
    pub fn entry(&self, (item, list): EntryFields<'_>, visible: &Value) -> Value {
        let mut stored = Value::Object(Map::new());
        self.heading(&mut stored, item, &list.entry_type);
        set_text(&mut stored, "id", visible.get("id"));
        for path in &list.fields {
            let Some(field) = item.field(path.first()) else { continue };
            match (&field.kind, field.property()) {
                (FieldKind::Stored(found), None) => {
                    if let Some(value) = self.stored_value((item, field, StoredIn::Entry), found, visible) {
                        set(&mut stored, &found.property, value);
                    }
                }
                (_, Some(property)) => {
                    self.field(&mut stored, (item, field, StoredIn::Entry), property, visible);
                }
                _ => {}
            }
        }
        for by in &list.by {
            let value = visible.get(&**by).map(|value| match value {
                Value::Array(elements) => elements.first().cloned().unwrap_or(Value::Null),
                other => other.clone(),
            });
            let container = self.model().container(&list.container);
            let path = container.and_then(|container| container.key.first());
            if let Some((path, value)) = path.zip(value) {
                set(&mut stored, path, value);
            }
        }
        stored
    }

    /// The properties that tell items apart, and the version.
    fn heading(&self, stored: &mut Value, item: &ItemType, type_value: &str) {
        if item.recognised_by.is_empty() {
            stored["type"] = json!(type_value);
        }
        for condition in &item.recognised_by {
            let value = match &condition.test {
                PathTest::Is(literal) => json!(literal),
                PathTest::In(values) => json!(values.first()),
                PathTest::Prefix(prefix) => json!(prefix),
                PathTest::Exists(_) => json!(true),
            };
            set(stored, &condition.path, value);
        }
        if let ItemVersion::Property(path) = &item.version {
            set(stored, path, json!(1));
        }
    }

    /// The properties of the partition key that are no field's.
    fn key(&self, stored: &mut Value, item: &ItemType, key: &[KeySource], container: &str, visible: &Value) {
        let paths =
            self.model().container(container).map(|container| container.key.as_slice()).unwrap_or_default();
        for (source, path) in key.iter().zip(paths) {
            let value = match source {
                KeySource::Id => visible.get("id").cloned(),
                KeySource::Type => Some(json!(item.type_value)),
                KeySource::Field(field) => visible.get(&**field).cloned(),
            };
            if let Some(value) = value {
                set(stored, path, value);
            }
        }
    }

    fn field(
        &self,
        stored: &mut Value,
        (item, field, place): PlacedField<'_>,
        property: &PropertyPath,
        visible: &Value,
    ) {
        match &field.kind {
            FieldKind::Reference(reference) => self.reference(stored, field, reference, visible),
            FieldKind::Stored(found) => {
                if let Some(value) = self.stored_value((item, field, place), found, visible) {
                    set(stored, property, self.with_copies(&field.ty.of, value));
                }
            }
            FieldKind::Count(count) if !matches!(count.kept, Kept::Query) => {
                let items = self.data.count_of(item, &count.of, visible);
                set(stored, property, json!(items.round() as u64));
            }
            FieldKind::Count(_) | FieldKind::Related(_) | FieldKind::HasCaller(_) => {}
        }
    }

    fn stored_value(
        &self,
        (item, field, place): PlacedField<'_>,
        stored: &StoredField,
        visible: &Value,
    ) -> Option<Value> {
        let leaves_out_default = place == StoredIn::Entry || self.model().leaves_out_default(item, field);
        let is_left_out = |given: &Value| {
            leaves_out_default
                && stored.default.as_ref().is_some_and(|default| json!(default.value) == *given)
        };
        let given = visible.get(&*field.name).filter(|given| !is_left_out(given)).cloned();
        let default =
            || stored.default.as_ref().filter(|_| !leaves_out_default).map(|default| json!(default.value));
        match &stored.source {
            ValueSource::Id | ValueSource::Input => given.or_else(default),
            ValueSource::Created => given.or_else(|| Some(json!(SOME_TIME))),
            ValueSource::Updated(_) => given,
            ValueSource::Version(_) => given.or_else(default),
            ValueSource::Computed(computed) => {
                computed_value(computed, |path| self.values_at(item, path, visible))
            }
            ValueSource::Copied(copy) => match &copy.from {
                CopyOrigin::Reference { reference, field } => {
                    self.copied(item.field(reference)?, field, visible.get(&**reference)?)
                }
                CopyOrigin::Type { item_type, field } => {
                    self.data.survey.of(item_type)?.sample.first()?.1.get(&**field).cloned()
                }
            },
        }
    }

    /// A value with the copies of the references within it.
    fn with_copies(&self, of: &TypeOf, mut value: Value) -> Value {
        let embedded = match of {
            TypeOf::Embedded(name) => self.model().embedded_type(name),
            _ => None,
        };
        match (embedded, &mut value) {
            (Some(_), Value::Array(elements)) => {
                let with_copies = |element: &mut Value| *element = self.with_copies(of, element.take());
                elements.iter_mut().for_each(with_copies);
            }
            (Some(embedded), Value::Object(_)) => {
                for field in &embedded.fields {
                    self.add_copies(field, &mut value);
                }
            }
            _ => {}
        }
        value
    }

    fn add_copies(&self, field: &Field, object: &mut Value) {
        let Some(value) = value_at(&places_of(field), object).cloned() else { return };
        match (&field.kind, field.property()) {
            (FieldKind::Reference(reference), _) => {
                for copy in &reference.copies {
                    if let Some(copied) = self.copied(field, &copy.field, &value) {
                        set(object, &copy.property, copied);
                    }
                }
            }
            (FieldKind::Stored(_), Some(property)) if matches!(field.ty.of, TypeOf::Embedded(_)) => {
                set(object, property, self.with_copies(&field.ty.of, value));
            }
            _ => {}
        }
    }

    /// The values at a path of fields, through objects and lists.
    fn values_at(&self, item: &ItemType, path: &[String], visible: &Value) -> Vec<Value> {
        if let [name] = path
            && let Some(Field { kind: FieldKind::Count(count), .. }) = item.field(name)
        {
            return vec![json!(self.data.count_of(item, &count.of, visible).round() as i64)];
        }
        let step = |values: Vec<Value>, name: &String| {
            let inner = |value: Value| match value {
                Value::Array(elements) => elements,
                other => vec![other],
            };
            values.into_iter().flat_map(inner).filter_map(|value| value.get(name).cloned()).collect()
        };
        path.iter().fold(vec![visible.clone()], step)
    }

    fn reference(&self, stored: &mut Value, field: &Field, reference: &ReferenceField, visible: &Value) {
        let Some(value) = visible.get(&*field.name) else { return };
        let Value::Array(elements) = value else {
            set(stored, &reference.property, value.clone());
            for copy in &reference.copies {
                if let Some(copied) = self.copied(field, &copy.field, value) {
                    set(stored, &copy.property, copied);
                }
            }
            return;
        };
        let with_copies = |element: &Value| {
            if reference.copies.is_empty() {
                return element.clone();
            }
            let id = element.get("id").unwrap_or(element);
            let mut object = json!({ "id": id });
            for copy in &reference.copies {
                if let Some(copied) = self.copied(field, &copy.field, id) {
                    object[copy.property.last()] = copied;
                }
            }
            object
        };
        set(stored, &reference.property, elements.iter().map(with_copies).collect());
    }

    /// The copied field of a reference's target: of a sampled item, so that sizes are real.
    fn copied(&self, field: &Field, source: &str, id: &Value) -> Option<Value> {
        let FieldKind::Reference(reference) = &field.kind else { return None };
        self.data.target(&reference.target, id)?.get(source).cloned()
    }
}

fn set_text(stored: &mut Value, property: &str, value: Option<&Value>) {
    if let Some(value) = value {
        stored[property] = value.clone();
    }
}

/// Sets a property, with the objects above it.
pub(crate) fn set(stored: &mut Value, path: &PropertyPath, value: Value) {
    let mut place = stored;
    let properties = path.properties();
    for property in &properties[..properties.len() - 1] {
        if !place[property].is_object() {
            place[property] = json!({});
        }
        place = &mut place[property];
    }
    place[path.last()] = value;
}
