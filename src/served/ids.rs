//! Global ids of served items: type, partition key and id in base64url, so that each item is one point read.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use onehop_store::limits::{ID_BYTES_MAX, PARTITION_KEY_BYTES_MAX};
use onehop_store::{PartitionKey, joined_key, key_text};
use serde_json::Value;
use thiserror::Error;
use uuid::Uuid;

use super::model::{PartitionSource, ServedModel, TypeIndex};

/// Separates the parts of an id. A stored id has no control characters.
const SEPARATOR: &str = "\u{1f}";
/// The bytes of an id that takes no memory of its own while it is written.
const ID_BYTES_EXPECTED: usize = 192;
/// Characters of the longest id: base64 of the parts.
const CHARACTERS_MAX: usize = (ID_BYTES_MAX + PARTITION_KEY_BYTES_MAX + 256).div_ceil(3) * 4;
/// The namespace of derived ids (UUID version 5).
const DERIVED: Uuid = Uuid::from_u128(0x6f6e_6568_6f70_4d6f_8465_6c20_6964_7321);

/// The place of an item: its type, its partition key and its id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ItemPlace {
    /// The type.
    pub ty: TypeIndex,
    /// The partition key.
    pub partition: PartitionKey,
    /// The id within the logical partition.
    pub id: String,
}

/// A text that is no id of this API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("is not an id of this API")]
pub struct InvalidItemId;

impl ItemPlace {
    /// The place of an item whose partition key follows from its id; `None` for other types.
    #[must_use]
    pub fn of_id(model: &ServedModel, ty: TypeIndex, id: &str) -> Option<Self> {
        let partition = match model.ty(ty).key {
            PartitionSource::Id => PartitionKey::from(id),
            PartitionSource::Constant => PartitionKey::from(model.ty(ty).type_value),
            PartitionSource::Properties(_) => return None,
        };
        Some(Self { ty, partition, id: id.to_owned() })
    }

    /// The place of an item with UUIDs: its id, and before it the id that is its partition key, where the key
    /// is no function of its own id. `None` for the wrong number of ids.
    #[must_use]
    pub fn of_uuids(model: &ServedModel, ty: TypeIndex, ids: &[Uuid]) -> Option<Self> {
        match (model.ty(ty).key, ids) {
            (PartitionSource::Properties(_), [partition, id]) => {
                Some(Self::within(ty, &partition.to_string(), id.to_string()))
            }
            (PartitionSource::Id | PartitionSource::Constant, [id]) => {
                Self::of_id(model, ty, &id.to_string())
            }
            _ => None,
        }
    }

    /// The place of an item in a logical partition.
    #[must_use]
    pub fn within(ty: TypeIndex, partition: &str, id: String) -> Self {
        Self { ty, partition: PartitionKey::from(partition), id }
    }

    /// The id as clients see it.
    #[must_use]
    pub fn encode(&self, model: &ServedModel) -> String {
        let ty = model.ty(self.ty);
        let partition = match ty.key {
            PartitionSource::Properties(_) => Some(self.partition.as_str()),
            PartitionSource::Id | PartitionSource::Constant => None,
        };
        let mut id = Vec::new();
        write_global_id(ty.type_value, &self.id, partition, &mut id);
        String::from_utf8(id).unwrap_or_default()
    }

    /// Reads an id.
    ///
    /// # Errors
    /// [`InvalidItemId`] unless [`encode`](Self::encode) writes exactly this text.
    pub fn decode(model: &ServedModel, text: &str) -> Result<Self, InvalidItemId> {
        if text.len() > CHARACTERS_MAX {
            return Err(InvalidItemId);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidItemId)?;
        let decoded = String::from_utf8(bytes).map_err(|_| InvalidItemId)?;
        let mut parts = decoded.splitn(3, SEPARATOR);
        let (type_value, id) = (parts.next().unwrap_or_default(), parts.next().ok_or(InvalidItemId)?);
        let is_type = |ty: &super::model::ServedType| ty.type_value == type_value;
        let (ty, served) = model.types().find(|(_, ty)| is_type(ty)).ok_or(InvalidItemId)?;
        let is_stored =
            !id.is_empty() && id.len() <= ID_BYTES_MAX && !id.contains(['/', '\\', '?', '#', '\0']);
        let place = match (served.key, parts.next()) {
            (PartitionSource::Properties(_), Some(partition))
                if partition.len() <= PARTITION_KEY_BYTES_MAX =>
            {
                Some(Self { ty, partition: PartitionKey::from(partition), id: id.to_owned() })
            }
            (PartitionSource::Id | PartitionSource::Constant, None) => Self::of_id(model, ty, id),
            _ => None,
        };
        place.filter(|_| is_stored).ok_or(InvalidItemId)
    }
}

/// Writes the id of an item as clients see it at the end of a buffer: with its partition key, where that does
/// not follow from the id.
pub fn write_global_id(type_value: &str, id: &str, partition: Option<&str>, out: &mut Vec<u8>) {
    let mut bytes = [0; ID_BYTES_EXPECTED];
    let parts = [type_value, id].into_iter().chain(partition);
    let mut length = 0;
    for (place, part) in parts.clone().enumerate() {
        let start = length + usize::from(place > 0) * SEPARATOR.len();
        let Some(space) = bytes.get_mut(length..start + part.len()) else {
            let text = parts.collect::<Vec<_>>().join(SEPARATOR);
            return out.extend_from_slice(URL_SAFE_NO_PAD.encode(text).as_bytes());
        };
        let (separator, rest) = space.split_at_mut(start - length);
        separator.copy_from_slice(&SEPARATOR.as_bytes()[..separator.len()]);
        rest.copy_from_slice(part.as_bytes());
        length = start + part.len();
    }
    let mut characters = [0; ID_BYTES_EXPECTED * 4 / 3 + 4];
    let written = URL_SAFE_NO_PAD.encode_slice(&bytes[..length], &mut characters).unwrap_or_default();
    out.extend_from_slice(&characters[..written]);
}

/// The text of a partition key with these values; `None` where a value can be no part of a key.
#[must_use]
pub fn partition_text(values: &[Value]) -> Option<String> {
    let texts: Option<Vec<_>> = values.iter().map(key_text).collect();
    texts.map(|texts| joined_key(texts.iter().map(AsRef::as_ref)))
}

/// The id that is derived from these texts: equal for equal texts.
#[must_use]
pub fn derived_id(parts: &[&str]) -> Uuid {
    let mut name = Vec::new();
    for part in parts {
        name.extend_from_slice(&(part.len() as u64).to_be_bytes());
        name.extend_from_slice(part.as_bytes());
    }
    Uuid::new_v5(&DERIVED, &name)
}

#[cfg(test)]
mod tests {
    use onehop_model::Model;

    use super::*;

    #[test]
    fn ids_of_all_lengths_are_base64_of_their_parts() {
        for length in [0, 1, 36, 100, 180, 190, 191, 192, 400] {
            for partition in [None, Some("p".repeat(length / 2))] {
                let id = "i".repeat(length);
                let mut out = b"before".to_vec();
                write_global_id("type", &id, partition.as_deref(), &mut out);
                let parts: Vec<&str> = ["type", &id].into_iter().chain(partition.as_deref()).collect();
                let expected = format!("before{}", URL_SAFE_NO_PAD.encode(parts.join(SEPARATOR)));
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{length}");
            }
        }
    }

    #[test]
    fn an_id_leads_back_to_its_place_and_no_other_text_does() {
        let text = r#"
extend schema @model(name: "test") @container(name: "things", key: "/group") @container(name: "all", key: "/type")
type Thing @item(container: "things", partition: "group", write: CREATE) { id: ID! group: String! }
type Other @item(container: "all", write: CREATE) { id: ID! name: String! }
"#;
        let model = ServedModel::new(Model::read("test", text).unwrap()).unwrap();
        let (thing, other) = (model.index_of("Thing").unwrap(), model.index_of("Other").unwrap());
        let places = [
            ItemPlace { ty: thing, partition: PartitionKey::from("a\u{1f}b"), id: "1".to_owned() },
            ItemPlace::of_id(&model, other, "1").unwrap(),
        ];
        for place in places {
            let id = place.encode(&model);
            assert_eq!(ItemPlace::decode(&model, &id), Ok(place));
            assert_eq!(ItemPlace::decode(&model, &id[1..]), Err(InvalidItemId));
        }
        for text in ["thing\u{1f}1", "other\u{1f}1\u{1f}2", "other\u{1f}a/b", "none\u{1f}1", "other"] {
            let id = URL_SAFE_NO_PAD.encode(text);
            assert_eq!(ItemPlace::decode(&model, &id), Err(InvalidItemId), "{text}");
        }
    }
}
