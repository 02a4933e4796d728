//! Item bodies as JSON objects: parsed once, asked for fields by name, with errors that name the field.

use std::borrow::Cow;
use std::fmt;

use onehop_change_feed::{Cause, ProjectionError, WakingFields};
use onehop_store::{
    Item, Keyset, NewItem, PartitionKey, joined_key, json_text, key_text, order_value, order_value_of,
    properties_of_order, property_in, property_mut, root_of_property, set_property,
};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::field_path::FieldPath;
use crate::item_type::{DELETED, ID, ItemPartition, ItemType, TYPE, VERSION, VERSION_FIRST};

/// The JSON object of an item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Body(pub(crate) Map<String, Value>);

/// A copy in an item.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyedCopy<'a> {
    /// The id of its source.
    pub(crate) id: &'a str,
    pub(crate) stored: Option<&'a Value>,
    item: &'a Map<String, Value>,
    /// The element of the item's array that has the copy; the item itself where it has it.
    object: &'a Map<String, Value>,
}

impl KeyedCopy<'_> {
    /// The partition key of its source, from these fields; `None` where one is absent.
    pub(crate) fn source_key(&self, fields: &str) -> Option<String> {
        source_key_of(self.item, self.object, fields)
    }
}

/// A source as its targets name it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourcePlace<'a> {
    pub(crate) id: &'a str,
    /// The fields of targets with its partition key, and that key, where targets have it.
    pub(crate) key: Option<(&'static str, &'a PartitionKey)>,
}

impl SourcePlace<'_> {
    /// Whether an item, or the element of its array, names this source by its foreign key.
    fn is_in(&self, item: &Map<String, Value>, object: &Map<String, Value>, by: &str) -> bool {
        let is_its_key = |(fields, key): (&str, &PartitionKey)| {
            source_key_of(item, object, fields).is_some_and(|found| found == key.as_str())
        };
        object.get(by).and_then(Value::as_str) == Some(self.id) && self.key.is_none_or(is_its_key)
    }
}

/// A field of the element in the fields of a source's partition key, as `[].id`; `None` for a field of the
/// item.
pub(crate) fn field_of_element(field: &str) -> Option<&str> {
    field.strip_prefix("[].")
}

/// The partition key of fields of an item, or of the element of its array, with slashes between them.
fn source_key_of(item: &Map<String, Value>, object: &Map<String, Value>, fields: &str) -> Option<String> {
    let value = |field| match field_of_element(field) {
        Some(field) => object.get(field),
        None => item.get(field),
    };
    let values: Option<Vec<_>> = fields.split('/').map(|field| value(field).and_then(key_text)).collect();
    Some(joined_key(values?.iter().map(AsRef::as_ref)))
}

impl Body {
    pub(crate) fn of(item: &Item) -> Result<Self, ProjectionError> {
        Ok(Self(serde_json::from_str(json_text(&item.body)?)?))
    }

    /// Only these fields or the fields of these orders, and the fields that every rule needs: cheaper than
    /// the whole of a large item.
    pub(crate) fn selected(item: &Item, fields: &[&str]) -> Result<Self, ProjectionError> {
        let mut deserializer = serde_json::Deserializer::from_str(json_text(&item.body)?);
        Ok(Self(Selection(fields).deserialize(&mut deserializer)?))
    }

    pub(crate) fn get(&self, field: &str) -> Option<&Value> {
        property_in(&self.0, field)
    }

    /// A field that has to be there.
    pub(crate) fn required(&self, field: &str) -> Result<&Value, ProjectionError> {
        self.get(field).ok_or_else(|| ProjectionError::text(format!("the item has no field `{field}`")))
    }

    /// A text that has to be there.
    pub(crate) fn text(&self, field: &str) -> Result<&str, ProjectionError> {
        self.required(field)?
            .as_str()
            .ok_or_else(|| ProjectionError::text(format!("the field `{field}` is not a text")))
    }

    /// The partition key of fields, with slashes between them.
    pub(crate) fn joined_key(&self, fields: &str) -> Result<String, ProjectionError> {
        let values: Result<Vec<_>, _> = fields.split('/').map(|field| self.key_text(field)).collect();
        Ok(joined_key(values?.iter().map(AsRef::as_ref)))
    }

    /// A value of a partition key that has to be there.
    fn key_text(&self, field: &str) -> Result<Cow<'_, str>, ProjectionError> {
        key_text(self.required(field)?).ok_or_else(|| {
            ProjectionError::text(format!("the field `{field}` is neither a text, a number nor a Boolean"))
        })
    }

    pub(crate) fn id(&self) -> Result<&str, ProjectionError> {
        self.text(ID)
    }

    pub(crate) fn item_type(&self) -> &str {
        self.get(TYPE).and_then(Value::as_str).unwrap_or_default()
    }

    /// The version; 0 if there is no version.
    pub(crate) fn version(&self) -> u64 {
        self.get(VERSION).and_then(Value::as_u64).unwrap_or(0)
    }

    /// The version of an item, without which nothing tells a newer change from an older one.
    pub(crate) fn required_version(&self) -> Result<u64, ProjectionError> {
        if self.get(VERSION).is_none() {
            return Err(ProjectionError::text(
                "the item has no `version`: a number from 1 on that every writer increases by one",
            ));
        }
        match self.version() {
            0 => Err(ProjectionError::text("the `version` of the item is no whole number from 1 on")),
            version => Ok(version),
        }
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.get(DELETED).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Whether the item is as it was created.
    pub(crate) fn is_new(&self) -> bool {
        self.version() == VERSION_FIRST && !self.is_deleted()
    }

    /// The partition key that these fields hold, with slashes between them.
    pub(crate) fn key_of(&self, fields: &str) -> Result<PartitionKey, ProjectionError> {
        let values: Result<Vec<_>, ProjectionError> =
            fields.split('/').map(|field| self.key_text(field)).collect();
        Ok(PartitionKey::new(joined_key(values?.iter().map(AsRef::as_ref))))
    }

    pub(crate) fn partition_key(&self, item_type: &ItemType) -> Result<PartitionKey, ProjectionError> {
        Ok(match item_type.partition {
            ItemPartition::Id => PartitionKey::from(self.id()?),
            ItemPartition::Field(fields) => {
                // An entry has a type of its own.
                let value = |field| match field {
                    TYPE => Ok(Cow::Borrowed(item_type.name)),
                    field => self.key_text(field),
                };
                let values: Result<Vec<_>, ProjectionError> = fields.split('/').map(value).collect();
                PartitionKey::new(joined_key(values?.iter().map(AsRef::as_ref)))
            }
            ItemPartition::Constant(key) => PartitionKey::from(key),
        })
    }

    /// Where this item stands in the order of its container.
    pub(crate) fn keyset(&self, order_by: Option<&str>) -> Result<Keyset, ProjectionError> {
        let order_value = order_by.map(|order| order_value_of(order, |field| self.get(field)));
        Ok(Keyset { order_value: order_value.unwrap_or_default(), id: self.id()?.to_owned() })
    }

    /// The value of an order that has to be there.
    pub(crate) fn order_value(&self, field: &str) -> Result<String, ProjectionError> {
        order_value(self.required(field)?).ok_or_else(|| {
            ProjectionError::text(format!("the field `{field}` is neither a text nor a number"))
        })
    }

    /// Sets each copy of a source to `value`; says whether one of them changed.
    pub(crate) fn set_copies(
        &mut self,
        path: FieldPath,
        by: FieldPath,
        source: SourcePlace<'_>,
        value: &Value,
    ) -> bool {
        match (path, by) {
            (FieldPath::Field(field), FieldPath::Field(by)) => {
                source.is_in(&self.0, &self.0, by) && set_copy(&mut self.0, field, value)
            }
            (FieldPath::Element { array, field }, FieldPath::Element { field: by, .. }) => {
                let Some(mut values) = property_mut(&mut self.0, array).map(std::mem::take) else {
                    return false;
                };
                let mut is_changed = false;
                for element in elements_mut(&mut values) {
                    let Value::Object(element) = element else { continue };
                    is_changed |= source.is_in(&self.0, element, by) && set_copy(element, field, value);
                }
                if let Some(place) = property_mut(&mut self.0, array) {
                    *place = values;
                }
                is_changed
            }
            _ => false,
        }
    }

    /// The values at a path, each with the foreign key beside it, and the object that has both.
    pub(crate) fn keyed(&self, path: FieldPath, by: FieldPath) -> Vec<KeyedCopy<'_>> {
        match (path, by) {
            (FieldPath::Field(field), FieldPath::Field(by)) => {
                let id = self.get(by).and_then(Value::as_str);
                let copy = |id| KeyedCopy { id, stored: self.get(field), item: &self.0, object: &self.0 };
                id.map(copy).into_iter().collect()
            }
            (FieldPath::Element { array, field }, FieldPath::Element { field: by, .. }) => {
                let keyed = self
                    .get(array)
                    .map(elements)
                    .unwrap_or_default()
                    .iter()
                    .filter_map(Value::as_object)
                    .filter_map(|object| {
                        let id = object.get(by)?.as_str()?;
                        Some(KeyedCopy { id, stored: object.get(field), item: &self.0, object })
                    });
                keyed.collect()
            }
            _ => Vec::new(),
        }
    }

    /// The texts at a path.
    pub(crate) fn texts(&self, path: FieldPath) -> Vec<&str> {
        self.keyed(path, path).into_iter().map(|copy| copy.id).collect()
    }

    /// The values of partition keys at a path. An element without copies is an id, an element with copies an
    /// object with an `id`; an array may have both, after its model got copies.
    pub(crate) fn keys(&self, path: FieldPath) -> Vec<Cow<'_, str>> {
        match path {
            FieldPath::Elements(array) | FieldPath::Element { array, field: ID } => {
                self.get(array).map(elements).unwrap_or_default().iter().filter_map(element_key).collect()
            }
            _ => self.texts(path).into_iter().map(Cow::Borrowed).collect(),
        }
    }

    /// The fields at these roots, as waking fields of a rule.
    pub(crate) fn waking_fields(&self, roots: &[&str]) -> WakingFields {
        let values: Vec<_> = roots.iter().map(|root| self.get(root)).collect();
        WakingFields { version: self.version(), values: serde_json::to_vec(&values).unwrap_or_default() }
    }

    /// The item with the next version and the cause of the change.
    pub(crate) fn into_next_version(mut self, cause: &Cause) -> Result<NewItem, ProjectionError> {
        let version = self.required_version()? + 1;
        self.0.insert(VERSION.to_owned(), version.into());
        cause.mark(&mut self.0, version);
        self.into_item()
    }

    pub(crate) fn into_item(self) -> Result<NewItem, ProjectionError> {
        Ok(NewItem::encode(self.id()?.to_owned(), &self.0))
    }
}

/// The elements of an array; an object is the only one of its own.
fn elements(value: &Value) -> &[Value] {
    match value {
        Value::Array(elements) => elements,
        value => std::slice::from_ref(value),
    }
}

fn elements_mut(value: &mut Value) -> &mut [Value] {
    match value {
        Value::Array(elements) => elements,
        value => std::slice::from_mut(value),
    }
}

/// The value of a partition key that an element of an array is, or has as its `id`.
fn element_key(element: &Value) -> Option<Cow<'_, str>> {
    match element {
        Value::Object(element) => element.get(ID).and_then(key_text),
        element => key_text(element),
    }
}

/// Sets a copy; null removes it. Says whether it was another.
fn set_copy(object: &mut Map<String, Value>, field: &str, value: &Value) -> bool {
    if is_copy(property_in(object, field), value) {
        return false;
    }
    set_property(object, field, value.clone());
    true
}

/// Whether a stored copy is of this value. Null is not stored.
pub(crate) fn is_copy(stored: Option<&Value>, value: &Value) -> bool {
    stored.unwrap_or(&Value::Null) == value
}

/// The name of a field, which is copied only where it has escapes.
#[derive(Deserialize)]
struct FieldName<'a>(#[serde(borrow)] Cow<'a, str>);

/// The fields of a body that are kept.
struct Selection<'a>(&'a [&'a str]);

impl Selection<'_> {
    fn has(&self, field: &str) -> bool {
        let is_root = |wanted: &str| root_of_property(wanted) == field;
        let orders = |order: &&str| properties_of_order(order).any(|ordered| is_root(ordered.name));
        matches!(field, ID | TYPE | VERSION | DELETED)
            || self.0.iter().any(|wanted| is_root(wanted))
            || self.0.iter().any(orders)
    }
}

impl<'de> DeserializeSeed<'de> for Selection<'_> {
    type Value = Map<String, Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Selection<'_> {
    type Value = Map<String, Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut fields = Map::new();
        while let Some(FieldName(field)) = access.next_key()? {
            if self.has(&field) {
                fields.insert(field.into_owned(), access.next_value()?);
            } else {
                access.next_value::<IgnoredAny>()?;
            }
        }
        Ok(fields)
    }
}
