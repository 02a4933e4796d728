//! Items on the wire: the properties that the service adds, and the body without them.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::document::PropertyName;
use crate::{Change, ContainerSpec, ETag, Fault, FaultKind, Item, PartitionKey, joined_key, key_text};

/// Properties that the service adds to an item.
const SYSTEM_PROPERTIES: [&str; 6] = ["_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"];

/// Reads an item's JSON as the service sends it. The body keeps the order of its properties.
///
/// # Errors
/// [`FaultKind::Corrupt`] when it is no object with an ETag.
pub(super) fn item_of(json: &[u8]) -> Result<Item, Fault> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    deserializer.deserialize_map(ItemVisitor { bytes: json.len() }).map_err(corrupt)
}

/// Reads an item of the change feed, which arrives as a tree.
///
/// # Errors
/// [`FaultKind::Corrupt`] when it has no ETag, id or partition key.
pub(super) fn change_of(spec: &ContainerSpec, mut properties: Map<String, Value>) -> Result<Change, Fault> {
    let mut etag = None;
    let mut seconds = 0;
    for name in SYSTEM_PROPERTIES {
        match (name, properties.remove(name)) {
            ("_etag", Some(Value::String(text))) => etag = Some(text),
            ("_ts", Some(value)) => seconds = value.as_i64().unwrap_or(0),
            _ => {}
        }
    }
    let text = |name: &str| properties.get(name).and_then(Value::as_str).map(str::to_owned);
    let key = spec.key_properties().map(|name| properties.get(name).and_then(key_text));
    let key: Option<Vec<Cow<'_, str>>> = key.collect();
    let key = key.map(|values| joined_key(values.iter().map(AsRef::as_ref)));
    let (Some(etag), Some(id), Some(partition_key)) = (etag, text("id"), key) else {
        return Err(Fault::new(FaultKind::Corrupt, "a change has no ETag, id or partition key"));
    };
    let body = serde_json::to_vec(&properties).map_err(corrupt)?;
    let item = Item {
        body: Bytes::from(body),
        etag: ETag::from_text(etag),
        timestamp_ms: seconds.saturating_mul(1000),
    };
    Ok(Change { partition_key: PartitionKey::new(partition_key), id, item })
}

struct ItemVisitor {
    /// Of the whole, to make room once.
    bytes: usize,
}

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an item")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Item, A::Error> {
        let mut body = Vec::with_capacity(self.bytes);
        let mut etag: Option<String> = None;
        let mut seconds: i64 = 0;
        while let Some(PropertyName(name)) = map.next_key()? {
            match name.as_ref() {
                "_etag" => etag = Some(map.next_value()?),
                "_ts" => seconds = map.next_value()?,
                name if SYSTEM_PROPERTIES.contains(&name) => {
                    map.next_value::<serde::de::IgnoredAny>()?;
                }
                name => {
                    let value: &'de RawValue = map.next_value()?;
                    body.push(if body.is_empty() { b'{' } else { b',' });
                    serde_json::to_writer(&mut body, name).map_err(serde::de::Error::custom)?;
                    body.push(b':');
                    body.extend_from_slice(value.get().as_bytes());
                }
            }
        }
        if body.is_empty() {
            body.push(b'{');
        }
        body.push(b'}');
        let Some(etag) = etag else { return Err(serde::de::Error::missing_field("_etag")) };
        let timestamp_ms = seconds.saturating_mul(1000);
        Ok(Item { body: Bytes::from(body), etag: ETag::from_text(etag), timestamp_ms })
    }
}

fn corrupt(error: serde_json::Error) -> Fault {
    Fault::new(FaultKind::Corrupt, "the service sent something that is no item").with_source(error)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ContainerName;

    const SPEC: ContainerSpec = ContainerSpec {
        name: ContainerName("posts"),
        partition_key: "postId",
        order_by: None,
        orders: &[],
        ttl_s: None,
        equality: &[],
        newest_types: &[],
        soft_deletes: true,
    };

    #[test]
    fn an_item_keeps_its_own_properties_in_their_order() {
        let json = br#"{"b": 1, "_rid":"x","id":"1","a\"":[{"_ts":1}],"_etag":"\"7\"","_ts":12,"_lsn":3}"#;
        let item = item_of(json).expect("an item");
        assert_eq!(&item.body[..], br#"{"b":1,"id":"1","a\"":[{"_ts":1}]}"#);
        assert_eq!((item.etag.to_string().as_str(), item.timestamp_ms), ("\"7\"", 12_000));
    }

    #[test]
    fn what_is_no_item_is_corrupt() {
        for json in ["[]", "{}", "{\"_etag\":1}", "{\"_etag\":\"1\"", ""] {
            assert_eq!(item_of(json.as_bytes()).expect_err("no item").kind, FaultKind::Corrupt, "{json}");
        }
    }

    #[test]
    fn a_change_knows_its_partition_key() {
        let tree = json!({"id": "c", "postId": "p", "x": null, "_etag": "e", "_ts": 5, "_self": ""});
        let change = change_of(&SPEC, tree.as_object().expect("an object").clone()).expect("a change");
        assert_eq!((change.partition_key.as_str(), change.id.as_str()), ("p", "c"));
        assert_eq!(change.item.timestamp_ms, 5000);
        assert_eq!(
            change.item.decode::<Value>().expect("JSON"),
            json!({"id": "c", "postId": "p", "x": null})
        );
        let keyless = json!({"id": "c", "_etag": "e"});
        assert!(change_of(&SPEC, keyless.as_object().expect("an object").clone()).is_err());
    }
}
