//! Document inspection: the properties of an item's JSON that keys and indexes are made of, and the
//! validation of a write.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer as _};
use serde_json::{Map, Value};

use super::batch::check_operation;
use super::charges::{TermCollector, TermSeed};
use super::key_value::{key_boolean, key_number};
use super::order_value::{order_number, order_value, order_value_by};
use super::property_path::property_in;
use super::{
    ContainerSpec, Fault, FaultKind, Keyset, OrderIndex, Rejection, TypeOrder, WriteOp, joined_key,
    json_text, limits,
};

/// The properties of an item that its keys are made of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyProperties {
    /// Empty for an item without a type.
    pub item_type: String,
    /// The value of the container's order property; empty for an item without the property.
    pub order_value: String,
    /// Whether the item is soft-deleted.
    pub deleted: bool,
    /// Seconds.
    pub ttl: Option<u32>,
    /// Values of the container's equality paths, in their order.
    pub equality: Vec<String>,
    /// Values of the further orders of its type, in their order.
    pub further_orders: Vec<String>,
}

impl KeyProperties {
    /// The value of an order.
    #[must_use]
    pub fn value_in(&self, order: OrderIndex) -> &str {
        match order {
            OrderIndex::Main => &self.order_value,
            OrderIndex::Further(place) => self.further_orders.get(place).map_or("", String::as_str),
        }
    }
}

/// The facts, and the id and partition key that the body holds.
#[derive(Debug, Default)]
pub(super) struct ParsedBody {
    pub properties: KeyProperties,
    pub id: Option<String>,
    pub partition_key: Option<String>,
    /// The order values of properties by which items are ordered.
    ordered: Vec<(&'static str, String)>,
    /// Values of the properties of a hierarchical key.
    key_values: [Option<String>; 3],
}

impl ParsedBody {
    /// Sets the order values of the item's type, or of all types.
    fn set_order_values(&mut self, spec: &ContainerSpec) {
        let ordered = std::mem::take(&mut self.ordered);
        let value = |name: &str| {
            let found = ordered.iter().rfind(|(property, _)| *property == name);
            found.map(|(_, value)| value.clone())
        };
        let properties = &mut self.properties;
        let of_type = |order: &&TypeOrder| order.item_type == properties.item_type;
        let mut orders =
            spec.orders.iter().filter(of_type).map(|order| order_value_by(order.property, value));
        let main = orders.next();
        let further = orders.collect();
        let main = main.or_else(|| spec.order_by.map(|order| order_value_by(order, value)));
        properties.order_value = main.unwrap_or_default();
        properties.further_orders = further;
    }
}

/// Checks a write as every adapter has to, and returns the key properties of the body; `None` for a delete.
/// The index terms of the body are collected on the way, where that is wanted.
///
/// # Errors
/// A limit that is passed, a body whose id or partition key differs from the write's, or a soft-deleted item
/// in a container without soft deletion.
pub(super) fn check_write(
    spec: &ContainerSpec,
    partition_key: &str,
    operation: &WriteOp,
    terms: Option<&mut TermCollector<'_>>,
) -> Result<Option<KeyProperties>, Rejection> {
    check_operation(operation)?;
    let item = match operation {
        WriteOp::Create(item) | WriteOp::Upsert(item) | WriteOp::Replace { item, .. } => item,
        WriteOp::Delete { .. } => return Ok(None),
    };
    let visitor = DocumentVisitor { spec, terms };
    let document = read(visitor, &item.body).map_err(|_| Rejection::KeyMismatch)?;
    let same_id = document.id.as_deref() == Some(item.id.as_str());
    if !same_id || document.partition_key.as_deref() != Some(partition_key) {
        return Err(Rejection::KeyMismatch);
    }
    let mut properties = document.properties;
    properties.ttl = properties.ttl.or(spec.ttl_s);
    if properties.deleted && !spec.soft_deletes {
        return Err(Rejection::SoftDelete);
    }
    let orders = [&properties.order_value].into_iter().chain(&properties.further_orders);
    for text in [&properties.item_type].into_iter().chain(orders).chain(&properties.equality) {
        check_text(text, limits::INDEXED_TEXT_BYTES_MAX)?;
    }
    Ok(Some(properties))
}

/// Refuses a text that a key cannot hold.
pub(super) fn check_text(text: &str, limit_bytes: usize) -> Result<(), Rejection> {
    let actual_bytes = text.len();
    if actual_bytes > limit_bytes { Err(Rejection::TooLarge { limit_bytes, actual_bytes }) } else { Ok(()) }
}

/// Whether an item could have been written under these keys: a store cannot even be asked for longer ones.
pub(super) fn can_exist(partition_key: &str, id: &str) -> bool {
    partition_key.len() <= limits::PARTITION_KEY_BYTES_MAX && id.len() <= limits::ID_BYTES_MAX
}

/// Whether an index can hold a text.
pub(super) fn is_indexable(text: &str) -> bool {
    text.len() <= limits::INDEXED_TEXT_BYTES_MAX
}

/// Refuses a keyset that no item of a store can have.
pub(super) fn check_keyset(after: Option<&Keyset>) -> Result<(), Fault> {
    let fits = |keyset: &Keyset| is_indexable(&keyset.order_value) && keyset.id.len() <= limits::ID_BYTES_MAX;
    if after.is_none_or(fits) {
        return Ok(());
    }
    Err(Fault::new(FaultKind::InvalidContinuation, "a keyset is longer than any of this store"))
}

/// Reads a body once, without building a tree of it.
///
/// # Errors
/// When the body is not a JSON object.
#[cfg(feature = "embedded")]
pub(super) fn read_document(spec: &ContainerSpec, body: &[u8]) -> Result<ParsedBody, serde_json::Error> {
    read(DocumentVisitor { spec, terms: None }, body)
}

fn read(visitor: DocumentVisitor<'_, '_>, body: &[u8]) -> Result<ParsedBody, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json_text(body)?);
    let document = deserializer.deserialize_map(visitor)?;
    deserializer.end()?;
    Ok(document)
}

/// The name of a property, which is copied only where it has escapes.
#[derive(Deserialize)]
pub(super) struct PropertyName<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

struct DocumentVisitor<'a, 'p> {
    spec: &'a ContainerSpec,
    /// Collects the index terms of the item on the way.
    terms: Option<&'a mut TermCollector<'p>>,
}

/// A property that keys are made of.
#[derive(Clone, Copy)]
enum KeyProperty {
    Text,
    /// With its name in the orders of the container.
    Order(&'static str),
    /// An object with properties of orders below it.
    Ordered,
    Deleted,
    Ttl,
    None,
}

impl DocumentVisitor<'_, '_> {
    fn kind_of(&self, key: &str) -> KeyProperty {
        let spec = self.spec;
        let is_text = key == "id" || key == "type" || spec.is_key(key) || spec.equality.contains(&key);
        if let Some(name) = spec.ordered(key) {
            return KeyProperty::Order(name);
        }
        match key {
            _ if is_text => KeyProperty::Text,
            "deleted" => KeyProperty::Deleted,
            "ttl" => KeyProperty::Ttl,
            _ if !spec.ordered_below(key).is_empty() => KeyProperty::Ordered,
            _ => KeyProperty::None,
        }
    }

    /// Reads a value of which a text or a number is wanted.
    fn scalar<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<PropertyScalar, A::Error> {
        match &mut self.terms {
            Some(collector) => {
                let place = collector.property(key);
                map.next_value_seed(TermSeed { collector, place, keeps_scalar: true })
            }
            None => map.next_value::<PropertyScalar>(),
        }
    }

    fn deleted<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        let deleted = map.next_value::<bool>()?;
        if let Some(collector) = &mut self.terms {
            let place = collector.property(key);
            collector.literal(place, Some(deleted));
        }
        Ok(deleted)
    }

    fn ttl<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<Option<u32>, A::Error> {
        let ttl = map.next_value::<Option<u32>>()?;
        if let Some(collector) = &mut self.terms {
            let place = collector.property(key);
            match ttl {
                Some(seconds) => collector.number(place, f64::from(seconds)),
                None => collector.literal(place, None),
            }
        }
        Ok(ttl)
    }

    /// Reads an object, and keeps the order values of properties below it.
    fn ordered<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        (document, map): (&mut ParsedBody, &mut A),
    ) -> Result<(), A::Error> {
        let value = map.next_value::<Value>()?;
        if let Some(collector) = &mut self.terms {
            let place = collector.property(key);
            let seed = TermSeed { collector, place, keeps_scalar: false };
            seed.deserialize(&value).map_err(serde::de::Error::custom)?;
        }
        let object = Map::from_iter([(key.to_owned(), value)]);
        for name in self.spec.ordered_below(key) {
            let value = property_in(&object, name).and_then(order_value);
            document.ordered.extend(value.map(|value| (name, value)));
        }
        Ok(())
    }

    fn ignored<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match &mut self.terms {
            Some(collector) => {
                let place = collector.property(key);
                map.next_value_seed(TermSeed { collector, place, keeps_scalar: false })?;
            }
            None => {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn keep(&self, document: &mut ParsedBody, key: &str, value: PropertyScalar) {
        let spec = self.spec;
        let properties = &mut document.properties;
        if let PropertyScalar::Text(text) = &value {
            if let Some(index) = spec.equality.iter().position(|path| *path == key) {
                properties.equality[index].clone_from(text);
            }
            if key == "type" {
                properties.item_type.clone_from(text);
            }
        }
        if key == spec.partition_key {
            document.partition_key = value.key_text();
        } else if let Some(place) = spec.place_in_key(key) {
            document.key_values[place] = value.key_text();
        }
        if key == "id" {
            document.id = value.into_text();
        }
    }
}

impl<'de> Visitor<'de> for DocumentVisitor<'_, '_> {
    type Value = ParsedBody;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<ParsedBody, A::Error> {
        let mut document = ParsedBody::default();
        document.properties.equality = vec![String::new(); self.spec.equality.len()];
        while let Some(PropertyName(key)) = map.next_key()? {
            let key = key.as_ref();
            match self.kind_of(key) {
                KeyProperty::Text => {
                    let value = self.scalar(key, &mut map)?;
                    self.keep(&mut document, key, value);
                }
                KeyProperty::Order(name) => {
                    let value = self.scalar(key, &mut map)?;
                    document.ordered.extend(value.order_value().map(|value| (name, value)));
                    self.keep(&mut document, key, value);
                }
                KeyProperty::Deleted => document.properties.deleted = self.deleted(key, &mut map)?,
                KeyProperty::Ttl => document.properties.ttl = self.ttl(key, &mut map)?,
                KeyProperty::Ordered => self.ordered(key, (&mut document, &mut map))?,
                KeyProperty::None => self.ignored(key, &mut map)?,
            }
        }
        document.set_order_values(self.spec);
        if self.spec.is_hierarchical() {
            let values = document.key_values.iter().take(self.spec.key_properties().count());
            let values: Option<Vec<&str>> = values.map(Option::as_deref).collect();
            document.partition_key = values.map(joined_key);
        }
        Ok(document)
    }
}

/// A text, a number or a Boolean, where the property is one and the caller wants it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PropertyScalar {
    Text(String),
    Number(f64),
    Boolean(bool),
    None,
}

impl PropertyScalar {
    fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(_) | Self::Boolean(_) | Self::None => None,
        }
    }

    /// The text of the value in a partition key.
    fn key_text(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Number(number) => Some(key_number(*number)),
            Self::Boolean(is_true) => Some(key_boolean(*is_true)),
            Self::None => None,
        }
    }

    fn order_value(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Number(number) => Some(order_number(*number)),
            Self::Boolean(_) | Self::None => None,
        }
    }
}

impl<'de> serde::Deserialize<'de> for PropertyScalar {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ScalarVisitor;
        impl<'de> Visitor<'de> for ScalarVisitor {
            type Value = PropertyScalar;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value")
            }
            fn visit_str<E>(self, value: &str) -> Result<PropertyScalar, E> {
                Ok(PropertyScalar::Text(value.to_owned()))
            }
            fn visit_bool<E>(self, value: bool) -> Result<PropertyScalar, E> {
                Ok(PropertyScalar::Boolean(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<PropertyScalar, E> {
                Ok(PropertyScalar::Number(value as f64))
            }
            fn visit_u64<E>(self, value: u64) -> Result<PropertyScalar, E> {
                Ok(PropertyScalar::Number(value as f64))
            }
            fn visit_f64<E>(self, value: f64) -> Result<PropertyScalar, E> {
                Ok(PropertyScalar::Number(value))
            }
            fn visit_unit<E>(self) -> Result<PropertyScalar, E> {
                Ok(PropertyScalar::None)
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<PropertyScalar, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(PropertyScalar::None)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PropertyScalar, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(PropertyScalar::None)
            }
        }
        deserializer.deserialize_any(ScalarVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContainerName;

    const SPEC: ContainerSpec = ContainerSpec {
        name: ContainerName("posts"),
        partition_key: "postId",
        order_by: Some("creationDate"),
        orders: &[],
        ttl_s: None,
        equality: &["userId"],
        newest_types: &["post"],
        soft_deletes: true,
    };

    #[test]
    fn a_document_gives_up_its_facts_and_nothing_else() {
        let body = br#"{"id":"1","type":"post","postId":"1","tags":["a",{"b":1}],"userId":"u","creationDate":"2026","ttl":5,"deleted":true}"#;
        let document = read_document(&SPEC, body).expect("an object");
        assert_eq!(document.id.as_deref(), Some("1"));
        assert_eq!(document.partition_key.as_deref(), Some("1"));
        let expected = KeyProperties {
            item_type: "post".into(),
            order_value: "2026".into(),
            deleted: true,
            ttl: Some(5),
            equality: vec!["u".into()],
            further_orders: Vec::new(),
        };
        assert_eq!(document.properties, expected);
    }

    #[test]
    fn orders_of_a_type_take_the_place_of_the_container_s() {
        let order = |item_type, property| TypeOrder { item_type, property };
        let orders: [TypeOrder; 3] = [order("post", "rank"), order("like", "by"), order("post", "title")];
        let spec = ContainerSpec { orders: Box::leak(Box::new(orders)), ..SPEC };
        let body = br#"{"title":"A","rank":2,"type":"post","creationDate":"2026"}"#;
        let properties = read_document(&spec, body).expect("an object").properties;
        let further = spec.order_index("post", Some("title")).unwrap();
        assert_eq!(properties.value_in(OrderIndex::Main), order_number(2.0));
        assert_eq!(properties.value_in(further), "A");
        let body = br#"{"title":"A","type":"tag","creationDate":"2026"}"#;
        assert_eq!(read_document(&spec, body).expect("an object").properties.order_value, "2026");
        assert!(spec.order_index("tag", Some("title")).is_err());
    }

    #[test]
    fn an_order_of_several_properties_has_all_of_their_values() {
        let spec = ContainerSpec { order_by: Some("-rank,title"), ..SPEC };
        let body = br#"{"title":"A","rank":2,"type":"post","creationDate":"2026"}"#;
        let found = read_document(&spec, body).expect("an object").properties.order_value;
        assert_eq!(
            found,
            order_value_by("-rank,title", |name| match name {
                "rank" => Some(order_number(2.0)),
                _ => Some("A".to_owned()),
            })
        );
        assert_eq!(spec.needed_properties(), ["type", "deleted", "rank", "title", "userId", "postId"]);
    }

    #[test]
    fn a_hierarchical_key_has_the_values_of_its_properties() {
        let spec = ContainerSpec { partition_key: "tenant/userId", ..SPEC };
        let document = read_document(&spec, br#"{"userId":"u","id":"1","tenant":"t"}"#).expect("an object");
        assert_eq!(document.partition_key.as_deref(), Some("t\u{1f}u"));
        let document = read_document(&spec, br#"{"userId":"u","id":"1"}"#).expect("an object");
        assert_eq!(document.partition_key, None);
        assert_eq!(spec.needed_properties(), ["type", "deleted", "creationDate", "userId", "tenant"]);
    }

    #[test]
    fn a_partition_key_is_a_text_a_number_or_a_boolean() {
        for (body, key) in [(r#"{"postId":7}"#, "\u{1e}7"), (r#"{"postId":true}"#, "\u{1e}true")] {
            let document = read_document(&SPEC, body.as_bytes()).expect("an object");
            assert_eq!(document.partition_key.as_deref(), Some(key));
        }
        let document = read_document(&SPEC, br#"{"postId":[{}, 1.5]}"#).expect("an object");
        assert_eq!(document.partition_key, None);
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        assert!(read_document(&SPEC, b"[1]").is_err());
        assert!(read_document(&SPEC, b"{} {}").is_err());
    }
}
