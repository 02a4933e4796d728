//! Item header: the encoding of an item's metadata in the engine (in `ids`, and before the body in `items`).

use crate::document::KeyProperties;

/// The flags of a header.
const DELETED_FLAG: u8 = 1;
const EDITED_FLAG: u8 = 2;
const EXPIRES_FLAG: u8 = 4;
/// The place of the flags, behind the number of the write, and of the parts of varying length, behind the
/// numbers of equality paths and further orders.
const FLAGS_AT: usize = 8;
const REST_AT: usize = 11;

/// The value of an item in `ids`: enough to find it, to check a precondition, and to remove all its other
/// entries without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// The number of the item's last write: its ETag and its place in the change log.
    pub sequence: u64,
    /// Unix ms; 0 for never.
    pub expires_at_ms: i64,
    /// Whether an edit lies beside the item's base in `items`.
    pub edited: bool,
    pub properties: KeyProperties,
}

impl Header {
    /// Whether the item is there for readers at this instant.
    pub(super) fn is_live_at(&self, now_ms: i64) -> bool {
        self.expires_at_ms == 0 || self.expires_at_ms > now_ms
    }

    /// Whether an item has the same keys under this header as under an earlier one, its place in the change
    /// log apart.
    pub(super) fn has_keys_of(&self, earlier: &Self) -> bool {
        let (own, other) = (&self.properties, &earlier.properties);
        self.expires_at_ms == earlier.expires_at_ms
            && (own.deleted, &own.item_type, &own.order_value, &own.equality, &own.further_orders)
                == (
                    other.deleted,
                    &other.item_type,
                    &other.order_value,
                    &other.equality,
                    &other.further_orders,
                )
    }

    fn flags(&self) -> u8 {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        flag(self.properties.deleted, DELETED_FLAG)
            | flag(self.edited, EDITED_FLAG)
            | flag(self.expires_at_ms != 0, EXPIRES_FLAG)
    }

    /// The bytes stored in `ids`.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(96);
        bytes.extend_from_slice(&self.sequence.to_be_bytes());
        bytes.push(self.flags());
        for texts in [&self.properties.equality, &self.properties.further_orders] {
            bytes.push(u8::try_from(texts.len()).unwrap_or(u8::MAX));
        }
        if self.expires_at_ms != 0 {
            bytes.extend_from_slice(&self.expires_at_ms.to_be_bytes());
        }
        for text in [&self.properties.item_type, &self.properties.order_value]
            .into_iter()
            .chain(&self.properties.equality)
            .chain(&self.properties.further_orders)
        {
            bytes.extend_from_slice(&u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes
    }

    /// Reads the bytes of `ids`; `None` when they are not a header.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let sequence = u64::from_be_bytes(bytes.get(0..8)?.try_into().ok()?);
        let flags = *bytes.get(FLAGS_AT)?;
        let (deleted, edited) = (flags & DELETED_FLAG != 0, flags & EDITED_FLAG != 0);
        let (equality_paths, orders) = (*bytes.get(FLAGS_AT + 1)?, *bytes.get(FLAGS_AT + 2)?);
        let (expires_at_ms, mut rest) = take_expiry(bytes)?;
        let mut take = || {
            let (text, after) = take_text(rest)?;
            rest = after;
            Some(text.to_owned())
        };
        let (item_type, order_value) = (take()?, take()?);
        let equality = (0..equality_paths).map(|_| take()).collect::<Option<Vec<_>>>()?;
        let further_orders = (0..orders).map(|_| take()).collect::<Option<Vec<_>>>()?;
        let properties =
            KeyProperties { item_type, order_value, deleted, ttl: None, equality, further_orders };
        Some(Self { sequence, expires_at_ms, edited, properties })
    }
}

/// Whether an entry of `ids` belongs to an item with an edit.
pub(super) fn is_edited(bytes: &[u8]) -> bool {
    bytes.get(FLAGS_AT).is_some_and(|flags| flags & EDITED_FLAG != 0)
}

/// Where an item lies in `items`, read from its header without a copy of anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ItemLocation<'a> {
    pub item_type: &'a str,
    pub order_value: &'a str,
    pub deleted: bool,
}

impl<'a> ItemLocation<'a> {
    pub(super) fn of(properties: &'a KeyProperties) -> Self {
        Self {
            item_type: &properties.item_type,
            order_value: &properties.order_value,
            deleted: properties.deleted,
        }
    }

    /// Reads the bytes of `ids`; `None` when they are not a header.
    pub(super) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let deleted = *bytes.get(FLAGS_AT)? & DELETED_FLAG != 0;
        let (_, rest) = take_expiry(bytes)?;
        let (item_type, rest) = take_text(rest)?;
        let (order_value, _) = take_text(rest)?;
        Some(Self { item_type, order_value, deleted })
    }
}

/// When the item of a header expires (Unix ms, 0 for never), and the texts of the header.
fn take_expiry(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let rest = bytes.get(REST_AT..)?;
    if bytes[FLAGS_AT] & EXPIRES_FLAG == 0 {
        return Some((0, rest));
    }
    let (expires_at_ms, rest) = rest.split_first_chunk()?;
    Some((i64::from_be_bytes(*expires_at_ms), rest))
}

/// Takes a text with its length from the front of a header's rest.
fn take_text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
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

    #[test]
    fn a_header_survives_its_bytes() {
        let properties = KeyProperties {
            item_type: "like".into(),
            order_value: "2026-01-01".into(),
            deleted: true,
            ttl: None,
            further_orders: vec!["b".into(), String::new()],
            equality: vec!["u".into(), String::new()],
        };
        let header = Header { sequence: 77, expires_at_ms: 12, edited: true, properties };
        assert_eq!(ItemLocation::decode(&header.encode()), Some(ItemLocation::of(&header.properties)));
        assert_eq!(Header::decode(&header.encode()).as_ref(), Some(&header));
        for length in 0..header.encode().len() {
            assert_eq!(Header::decode(&header.encode()[..length]), None);
        }
        let header = Header { expires_at_ms: 0, ..header };
        assert_eq!(ItemLocation::decode(&header.encode()), Some(ItemLocation::of(&header.properties)));
        assert_eq!(Header::decode(&header.encode()).as_ref(), Some(&header));
        assert_eq!(Header::decode(b"short"), None);
    }
}
