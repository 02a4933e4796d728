//! What the store has to know of an item's JSON: the properties that keys and indexes are made of.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};

use crate::store::ContainerSpec;

/// The properties of an item that its keys are made of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Facts {
    pub item_type: String,
    pub order_value: String,
    pub deleted: bool,
    /// Seconds.
    pub ttl: Option<u32>,
    /// Values of the container's equality paths, in their order.
    pub equality: Vec<String>,
}

/// The facts, and the id and partition key that the body holds.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub facts: Facts,
    pub id: Option<String>,
    pub partition_key: Option<String>,
}

/// Reads a body once, without building a tree of it.
///
/// # Errors
/// When the body is not a JSON object.
pub(super) fn read_document(spec: &ContainerSpec, body: &[u8]) -> Result<Document, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let document = deserializer.deserialize_map(DocumentVisitor { spec })?;
    deserializer.end()?;
    Ok(document)
}

struct DocumentVisitor<'a> {
    spec: &'a ContainerSpec,
}

impl<'de> Visitor<'de> for DocumentVisitor<'_> {
    type Value = Document;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let spec = self.spec;
        let mut document = Document::default();
        document.facts.equality = vec![String::new(); spec.equality.len()];
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let key = key.as_ref();
            let equality = spec.equality.iter().position(|path| *path == key);
            let wanted = equality.is_some()
                || key == "id"
                || key == "type"
                || key == spec.partition_key
                || Some(key) == spec.order_by;
            if wanted {
                let Scalar(value) = map.next_value()?;
                if let (Some(index), Some(value)) = (equality, &value) {
                    document.facts.equality[index].clone_from(value);
                }
                if key == "type"
                    && let Some(value) = &value
                {
                    document.facts.item_type.clone_from(value);
                }
                if Some(key) == spec.order_by
                    && let Some(value) = &value
                {
                    document.facts.order_value.clone_from(value);
                }
                if key == spec.partition_key {
                    document.partition_key.clone_from(&value);
                }
                if key == "id" {
                    document.id = value;
                }
            } else if key == "deleted" {
                document.facts.deleted = map.next_value::<bool>()?;
            } else if key == "ttl" {
                document.facts.ttl = map.next_value::<Option<u32>>()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(document)
    }
}

/// A text, or nothing where the property is of another kind.
struct Scalar(Option<String>);

impl<'de> serde::Deserialize<'de> for Scalar {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ScalarVisitor;
        impl<'de> Visitor<'de> for ScalarVisitor {
            type Value = Scalar;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value")
            }
            fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
                Ok(Scalar(Some(value.to_owned())))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Scalar, E> {
                Ok(Scalar(None))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Scalar, E> {
                Ok(Scalar(None))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Scalar, E> {
                Ok(Scalar(None))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Scalar, E> {
                Ok(Scalar(None))
            }
            fn visit_unit<E>(self) -> Result<Scalar, E> {
                Ok(Scalar(None))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Scalar, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Scalar(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Scalar(None))
            }
        }
        deserializer.deserialize_any(ScalarVisitor)
    }
}

/// What `ids` holds of an item: enough to find it, to check a precondition, and to take every entry that it has
/// elsewhere away without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// The number of the item's last write: its ETag and its place in the change log.
    pub sequence: u64,
    /// Unix ms; 0 for never.
    pub expires_at_ms: i64,
    pub facts: Facts,
}

impl Header {
    /// Whether the item is there for readers at this instant.
    pub(super) fn is_live_at(&self, now_ms: i64) -> bool {
        self.expires_at_ms == 0 || self.expires_at_ms > now_ms
    }

    /// The bytes stored in `ids`.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(96);
        bytes.extend_from_slice(&self.sequence.to_be_bytes());
        bytes.extend_from_slice(&self.expires_at_ms.to_be_bytes());
        bytes.push(u8::from(self.facts.deleted));
        bytes.push(u8::try_from(self.facts.equality.len()).unwrap_or(u8::MAX));
        for text in [&self.facts.item_type, &self.facts.order_value].into_iter().chain(&self.facts.equality) {
            bytes.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes
    }

    /// Reads the bytes of `ids`; `None` when they are not a header.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let sequence = u64::from_be_bytes(bytes.get(0..8)?.try_into().ok()?);
        let expires_at_ms = i64::from_be_bytes(bytes.get(8..16)?.try_into().ok()?);
        let deleted = *bytes.get(16)? != 0;
        let equality_paths = usize::from(*bytes.get(17)?);
        let mut rest = bytes.get(18..)?;
        let mut take = || {
            let (text, after) = take_text(rest)?;
            rest = after;
            Some(text.to_owned())
        };
        let (item_type, order_value) = (take()?, take()?);
        let equality = (0..equality_paths).map(|_| take()).collect::<Option<Vec<_>>>()?;
        let facts = Facts { item_type, order_value, deleted, ttl: None, equality };
        Some(Self { sequence, expires_at_ms, facts })
    }
}

/// Where an item lies in `items`, read from its header without a copy of anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place<'a> {
    pub item_type: &'a str,
    pub order_value: &'a str,
    pub deleted: bool,
}

impl<'a> Place<'a> {
    pub(super) fn of(facts: &'a Facts) -> Self {
        Self { item_type: &facts.item_type, order_value: &facts.order_value, deleted: facts.deleted }
    }

    /// Reads the bytes of `ids`; `None` when they are not a header.
    pub(super) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let deleted = *bytes.get(16)? != 0;
        let (item_type, rest) = take_text(bytes.get(18..)?)?;
        let (order_value, _) = take_text(rest)?;
        Some(Self { item_type, order_value, deleted })
    }
}

/// Takes a text with its length from the front of a header's rest.
fn take_text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (text, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

/// Bytes before the body in `items`: sequence number, time of the write and expiry, both Unix ms.
pub(super) const VALUE_PREFIX_BYTES: usize = 24;

/// The bytes stored in `items`.
pub(super) fn encode_value(sequence: u64, timestamp_ms: i64, expires_at_ms: i64, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(VALUE_PREFIX_BYTES + body.len());
    bytes.extend_from_slice(&sequence.to_be_bytes());
    bytes.extend_from_slice(&timestamp_ms.to_be_bytes());
    bytes.extend_from_slice(&expires_at_ms.to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// Sequence number, time and expiry of the bytes in `items`.
pub(super) fn decode_value_prefix(bytes: &[u8]) -> Option<(u64, i64, i64)> {
    let sequence = u64::from_be_bytes(bytes.get(0..8)?.try_into().ok()?);
    let timestamp_ms = i64::from_be_bytes(bytes.get(8..16)?.try_into().ok()?);
    let expires_at_ms = i64::from_be_bytes(bytes.get(16..24)?.try_into().ok()?);
    Some((sequence, timestamp_ms, expires_at_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ContainerName;

    const SPEC: ContainerSpec = ContainerSpec {
        name: ContainerName("posts"),
        partition_key: "postId",
        order_by: Some("creationDate"),
        equality: &["userId"],
        newest_types: &["post"],
        unindexed: &[],
    };

    #[test]
    fn a_document_gives_up_its_facts_and_nothing_else() {
        let body = br#"{"id":"1","type":"post","postId":"1","tags":["a",{"b":1}],"userId":"u","creationDate":"2026","ttl":5,"deleted":true}"#;
        let document = read_document(&SPEC, body).expect("an object");
        assert_eq!(document.id.as_deref(), Some("1"));
        assert_eq!(document.partition_key.as_deref(), Some("1"));
        let expected = Facts {
            item_type: "post".into(),
            order_value: "2026".into(),
            deleted: true,
            ttl: Some(5),
            equality: vec!["u".into()],
        };
        assert_eq!(document.facts, expected);
    }

    #[test]
    fn a_partition_key_of_another_kind_is_none() {
        let document = read_document(&SPEC, br#"{"postId":[{}, 1.5]}"#).expect("an object");
        assert_eq!(document.partition_key, None);
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        assert!(read_document(&SPEC, b"[1]").is_err());
        assert!(read_document(&SPEC, b"{} {}").is_err());
    }

    #[test]
    fn a_header_survives_its_bytes() {
        let facts = Facts {
            item_type: "like".into(),
            order_value: "2026-01-01".into(),
            deleted: true,
            ttl: None,
            equality: vec!["u".into(), String::new()],
        };
        let header = Header { sequence: 77, expires_at_ms: 12, facts };
        assert_eq!(Place::decode(&header.encode()), Some(Place::of(&header.facts)));
        assert_eq!(Header::decode(&header.encode()).as_ref(), Some(&header));
        for length in 0..header.encode().len() {
            assert_eq!(Header::decode(&header.encode()[..length]), None);
        }
        assert_eq!(Header::decode(b"short"), None);
    }
}
