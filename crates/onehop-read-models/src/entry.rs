//! Entry: the short copy of an item in a list. A soft-deleted item gives a soft-deleted entry, which keeps a
//! late change of the item from bringing the entry back.

use onehop_change_feed::ProjectionError;
use onehop_runtime::planted;
use onehop_store::{Item, KEY_SEPARATOR, NewItem, WriteOp, is_nested, key_value, set_property};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::body::Body;
use crate::item_type::{DELETED, DELETION_FIELDS, ID, TYPE, VERSION};
use crate::rule::{AbsentText, ListPartition, ListRule};

/// The short copy of an item, its fields in the order of the rule.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    fields: Vec<(&'static str, Value)>,
}

impl Entry {
    /// The entry of an item in a list.
    pub(crate) fn of(rule: &ListRule, source: &Body) -> Result<Self, ProjectionError> {
        let mut fields = Vec::with_capacity(rule.fields.len() + rule.computed.len() + 4);
        fields.push((ID, source.required(ID)?.clone()));
        fields.push((TYPE, rule.entry_type.into()));
        for field in rule.fields.iter().copied() {
            // A count that the item does not have yet is 0.
            let is_count = rule.unless_zero.contains(&field);
            match source.get(field) {
                None if is_count => {}
                Some(value) if is_count && is_zero(value) => {}
                _ => fields.push((field, source.required(field)?.clone())),
            }
        }
        for computed in &rule.computed {
            let text = match (source.get(computed.from), computed.absent) {
                (None, AbsentText::NoValue) => continue,
                (None, AbsentText::Default(text)) => text,
                _ => source.text(computed.from)?,
            };
            fields.push((computed.field, computed.computation.of(text).into()));
        }
        fields.push((VERSION, source.required_version()?.into()));
        for field in rule.optional.iter().copied() {
            let value = rule
                .value(source, field)
                .filter(|value| !(rule.unless_zero.contains(&field) && is_zero(value)));
            fields.extend(value.map(|value| (field, value.clone())));
        }
        let has = |fields: &[(&str, Value)], key: &str| fields.iter().any(|(name, _)| *name == key);
        match (rule.key_field, rule.partition) {
            (Some(key_fields), ListPartition::Field(_)) => {
                for (key_field, field) in key_fields.split('/').zip(rule.partition.fields()) {
                    if !has(&fields, key_field) {
                        let value = rule.value(source, field).map_or_else(|| source.required(field), Ok)?;
                        fields.push((key_field, value.clone()));
                    }
                }
            }
            (Some(key_fields), ListPartition::Constant(key)) => {
                for (key_field, value) in key_fields.split('/').zip(key.split(KEY_SEPARATOR)) {
                    if !has(&fields, key_field) {
                        fields.push((key_field, key_value(value)));
                    }
                }
            }
            _ => {}
        }
        if source.is_deleted() {
            for field in DELETION_FIELDS {
                fields.extend(source.get(field).map(|value| (field, value.clone())));
            }
        }
        Ok(Self { fields })
    }

    /// The entry of an item in the logical partition of one of its elements.
    pub(crate) fn of_element(rule: &ListRule, source: &Body, key: &str) -> Result<Self, ProjectionError> {
        let mut entry = Self::of(rule, source)?;
        if let Some(element) = rule.element {
            entry.fields.push((element.partition_key, key_value(key)));
            entry.fields.push((element.id, source.id()?.into()));
        }
        Ok(entry)
    }

    pub(crate) fn get(&self, field: &str) -> Option<&Value> {
        self.fields.iter().find(|(name, _)| *name == field).map(|(_, value)| value)
    }

    pub(crate) fn id(&self) -> &str {
        self.get(ID).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn version(&self) -> u64 {
        self.get(VERSION).and_then(Value::as_u64).unwrap_or(0)
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.get(DELETED).is_some_and(|deleted| deleted == true)
    }

    pub(crate) fn into_item(self) -> NewItem {
        NewItem::encode(self.id().to_owned(), &self)
    }

    /// Whether the stored entry is this one.
    pub(crate) fn is(&self, stored: &Map<String, Value>) -> bool {
        if self.has_objects() {
            return self.object() == *stored;
        }
        self.fields.len() == stored.len()
            && self.fields.iter().all(|(field, value)| stored.get(*field) == Some(value))
    }

    /// The fields in which a stored entry differs: of a field below an object, the object.
    pub(crate) fn differing_fields(&self, rule: &ListRule, stored: &Body) -> Vec<String> {
        let own = self.object();
        let differs = |field: &&String| match (stored.0.get(*field), own.get(*field)) {
            (Some(stored), None) => !(rule.unless_zero.contains(&field.as_str()) && is_zero(stored)),
            (stored, expected) => stored != expected,
        };
        let further = stored.0.keys().filter(|field| !own.contains_key(*field));
        own.keys().chain(further).filter(differs).cloned().collect()
    }

    /// Whether a field is below an object.
    fn has_objects(&self) -> bool {
        self.fields.iter().any(|(field, _)| is_nested(field))
    }

    /// The entry as a JSON object.
    fn object(&self) -> Map<String, Value> {
        let mut object = Map::new();
        for (field, value) in &self.fields {
            set_property(&mut object, field, value.clone());
        }
        object
    }

    /// The write that puts this entry where `existing` is, `None` when that is as new. An entry never goes
    /// back in time; one of the same version that differs was damaged, and is repaired.
    pub(crate) fn update(self, existing: Option<&Item>) -> Result<Option<WriteOp>, ProjectionError> {
        let Some(existing) = existing else { return Ok(Some(WriteOp::Create(self.into_item()))) };
        let stored = Body::of(existing)?;
        if stored.version() > self.version() && !planted!("older-copy-overwrites") || self.is(&stored.0) {
            return Ok(None);
        }
        Ok(Some(WriteOp::Replace { item: self.into_item(), if_match: Some(existing.etag.clone()) }))
    }
}

fn is_zero(value: &Value) -> bool {
    value.as_u64() == Some(0)
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.has_objects() {
            return self.object().serialize(serializer);
        }
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for (field, value) in &self.fields {
            map.serialize_entry(field, value)?;
        }
        map.end()
    }
}
