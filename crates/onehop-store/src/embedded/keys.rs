//! The layout of keys in the engine. Items of a logical partition lie side by side, in the order in which
//! queries want them, so that a page is one range scan without further look-ups.
//!
//! ```text
//! ids    container | partition key | id                                       -> Header
//! items  container | partition key | live? | type | order value | id | 0      -> number, time, expiry, body
//!        the same | 1                                                         -> the same, the item's edit
//! index  1 | container | physical | path | value | type | order value | id | partition key       (equality)
//!        2 | container | physical | type | order value | id | partition key                      (newest)
//!        3 | expiry | container | partition key | id                                             (expiry)
//!        4 | container | physical | partition key | type | order value | id | partition key      (order)
//! log    container | physical | number                                   -> key of the value, less container
//! meta   a name                                                               -> a value
//! ```
//!
//! In index entries of a further order of a type, the type segment has the number of the order, too.
//!
//! A text ends with a zero byte, unless it ends the key. Bytes 0 and 1 within it are escaped as 1 1 and 1 2,
//! which keeps the order of texts. A partition key, an id or a value of an equality index that is a UUID is a
//! byte 2 and its 16 bytes: 17 in the place of 37, in the order of UUIDs and before other texts. Other texts
//! that begin with a byte 2 have it escaped as 1 3.

use std::borrow::Cow;

use uuid::Uuid;
use uuid::fmt::Hyphenated;

use super::header::ItemLocation;
use crate::OrderIndex;

/// The number under which a container is stored.
pub(super) type ContainerId = u8;

const EQUALITY: u8 = 1;
const NEWEST: u8 = 2;
const EXPIRY: u8 = 3;
const ORDER: u8 = 4;

/// Behind every key of every space: containers and kinds of indexes are far fewer than 255, and names are
/// text.
pub(super) const BEHIND_ALL: &[u8] = &[u8::MAX];

/// Items that queries see.
const LIVE: u8 = 0;
/// Soft-deleted items: point reads and the change feed see them, queries do not.
const DELETED: u8 = 1;

/// Before the bytes of a UUID.
const UUID: u8 = 2;
/// A UUID with the byte before it.
const UUID_BYTES: usize = 17;

/// At the end of a key of `items`: the item, or the base of an edit.
const BASE: u8 = 0;
/// The edit of the item under the key before it.
const EDIT: u8 = 1;

/// The UUID whose usual form a text is.
fn uuid_of(text: &str) -> Option<Uuid> {
    if text.len() != Hyphenated::LENGTH || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    Uuid::try_parse(text).ok()
}

/// Appends a partition key, an id or a value, and its end.
fn push_id(key: &mut Vec<u8>, id: &str) {
    push_last_id(key, id);
    if uuid_of(id).is_none() {
        key.push(0);
    }
}

/// Appends a partition key or an id that ends the key, or comes before its last byte.
fn push_last_id(key: &mut Vec<u8>, id: &str) {
    if let Some(uuid) = uuid_of(id) {
        key.push(UUID);
        key.extend_from_slice(uuid.as_bytes());
    } else if let Some(rest) = id.strip_prefix(char::from(UUID)) {
        key.extend_from_slice(&[1, UUID + 1]);
        push_last_text(key, rest);
    } else {
        push_last_text(key, id);
    }
}

/// The text of a UUID from the front of a key.
fn take_uuid(key: &[u8]) -> Option<(String, &[u8])> {
    let (bytes, rest) = key.strip_prefix(&[UUID])?.split_first_chunk()?;
    Some((Uuid::from_bytes(*bytes).hyphenated().to_string(), rest))
}

/// Takes a partition key, an id or a value with its end from the front of a key.
fn take_id(key: &[u8]) -> Option<(String, &[u8])> {
    if key.first() == Some(&UUID) { take_uuid(key) } else { take_text(key) }
}

/// Reads a partition key or an id that ends a key.
fn read_last_id(key: &[u8]) -> Option<String> {
    if key.first() == Some(&UUID) {
        let (uuid, rest) = take_uuid(key)?;
        return rest.is_empty().then_some(uuid);
    }
    unescape(key)
}

/// The place behind a partition key that begins at a place.
fn id_end(key: &[u8], start: usize) -> Option<usize> {
    if key.get(start) == Some(&UUID) {
        return Some(start + UUID_BYTES).filter(|end| *end <= key.len());
    }
    text_end(key, start)
}

/// The place behind a text that begins at a place.
fn text_end(key: &[u8], start: usize) -> Option<usize> {
    Some(start + 1 + key.get(start..)?.iter().position(|byte| *byte == 0)?)
}

/// Appends a text segment and its end.
fn push_text(key: &mut Vec<u8>, text: &str) {
    push_last_text(key, text);
    key.push(0);
}

/// Appends a text that ends the key.
fn push_last_text(key: &mut Vec<u8>, text: &str) {
    if text.as_bytes().iter().any(|byte| *byte <= 1) {
        for byte in text.bytes() {
            match byte {
                0 => key.extend_from_slice(&[1, 1]),
                1 => key.extend_from_slice(&[1, 2]),
                other => key.push(other),
            }
        }
    } else {
        key.extend_from_slice(text.as_bytes());
    }
}

/// Takes a text segment from the front of a key.
fn take_text(key: &[u8]) -> Option<(String, &[u8])> {
    let end = key.iter().position(|byte| *byte == 0)?;
    let (segment, rest) = (&key[..end], &key[end + 1..]);
    Some((unescape(segment)?, rest))
}

fn unescape(segment: &[u8]) -> Option<String> {
    let mut text = Vec::with_capacity(segment.len());
    let mut bytes = segment.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            1 => text.push(bytes.next()?.checked_sub(1)?),
            other => text.push(*other),
        }
    }
    String::from_utf8(text).ok()
}

/// The key of an item in `ids`.
pub(super) fn id_key(container: ContainerId, partition_key: &str, id: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(partition_key.len() + id.len() + 2);
    key.push(container);
    push_id(&mut key, partition_key);
    push_last_id(&mut key, id);
    key
}

/// The parts of a key of `ids`: container, partition key, id.
pub(super) fn parse_id_key(key: &[u8]) -> Option<(ContainerId, String, String)> {
    let (container, rest) = key.split_first()?;
    let (partition_key, id) = take_id(rest)?;
    Some((*container, partition_key, read_last_id(id)?))
}

/// The key of an item in `items`.
pub(super) fn item_key(
    container: ContainerId,
    partition_key: &str,
    place: ItemLocation<'_>,
    id: &str,
) -> Vec<u8> {
    let mut key = type_prefix(container, partition_key, place.item_type, place.deleted);
    push_text(&mut key, place.order_value);
    push_last_id(&mut key, id);
    key.push(BASE);
    key
}

/// The key of the edit beside an item.
pub(super) fn edit_key(item_key: &[u8]) -> Vec<u8> {
    with_last_byte(item_key, EDIT)
}

/// The key of the item, if this is the key of an edit.
pub(super) fn base_key(key: &[u8]) -> Option<Vec<u8>> {
    is_edit_key(key).then(|| with_last_byte(key, BASE))
}

/// Whether a key of `items` is the key of an edit.
pub(super) fn is_edit_key(key: &[u8]) -> bool {
    key.last() == Some(&EDIT)
}

/// Whether one key is the key of the edit beside the item under another.
pub(super) fn is_edit_of(edit: &[u8], item_key: &[u8]) -> bool {
    let (Some((_, edited)), Some((_, item))) = (edit.split_last(), item_key.split_last()) else {
        return false;
    };
    is_edit_key(edit) && edited == item
}

/// The first key of `items` behind an item and its edit.
pub(super) fn behind_item(item_key: &[u8]) -> Vec<u8> {
    let mut key = edit_key(item_key);
    key.push(0);
    key
}

fn with_last_byte(key: &[u8], last: u8) -> Vec<u8> {
    let mut key = key.to_vec();
    if let Some(byte) = key.last_mut() {
        *byte = last;
    }
    key
}

/// The prefix of all live items of a type in a logical partition.
pub(super) fn live_prefix(container: ContainerId, partition_key: &str, item_type: &str) -> Vec<u8> {
    type_prefix(container, partition_key, item_type, false)
}

fn type_prefix(container: ContainerId, partition_key: &str, item_type: &str, deleted: bool) -> Vec<u8> {
    let mut key = Vec::with_capacity(partition_key.len() + item_type.len() + 96);
    key.push(container);
    push_id(&mut key, partition_key);
    key.push(if deleted { DELETED } else { LIVE });
    push_text(&mut key, item_type);
    key
}

/// The prefix under which the key of a live item in `items` stands; `None` for an item that is deleted.
pub(super) fn live_prefix_of(key: &[u8]) -> Option<&[u8]> {
    let state = id_end(key, 1)?;
    let end = text_end(key, state + 1)?;
    (key[state] == LIVE).then(|| &key[..end])
}

/// The key of the item of a keyset, by the prefix of its list.
pub(super) fn with_keyset(mut prefix: Vec<u8>, order_value: &str, id: &str) -> Vec<u8> {
    push_text(&mut prefix, order_value);
    push_last_id(&mut prefix, id);
    prefix.push(BASE);
    prefix
}

/// The prefix of the equality index for a value and a type within one physical partition.
pub(super) fn equality_prefix(
    container: ContainerId,
    physical: u16,
    path: u8,
    value: &str,
    item_type: &str,
) -> Vec<u8> {
    let mut key = Vec::with_capacity(value.len() + item_type.len() + 128);
    key.extend_from_slice(&[EQUALITY, container]);
    key.extend_from_slice(&physical.to_be_bytes());
    key.push(path);
    push_id(&mut key, value);
    push_text(&mut key, item_type);
    key
}

/// The prefix of the newest index for a type within one physical partition.
pub(super) fn newest_prefix(container: ContainerId, physical: u16, item_type: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(item_type.len() + 128);
    key.extend_from_slice(&[NEWEST, container]);
    key.extend_from_slice(&physical.to_be_bytes());
    push_text(&mut key, item_type);
    key
}

/// The prefix of the index of a further order within one logical partition.
pub(super) fn order_prefix(
    container: ContainerId,
    physical: u16,
    partition_key: &str,
    item_type: &str,
) -> Vec<u8> {
    let mut key = Vec::with_capacity(partition_key.len() + item_type.len() + 128);
    key.extend_from_slice(&[ORDER, container]);
    key.extend_from_slice(&physical.to_be_bytes());
    push_id(&mut key, partition_key);
    push_text(&mut key, item_type);
    key
}

/// The type segment of index entries in an order of a type.
pub(super) fn type_in_order(item_type: &str, order: OrderIndex) -> Cow<'_, str> {
    match order {
        OrderIndex::Main => Cow::Borrowed(item_type),
        OrderIndex::Further(place) => Cow::Owned(format!("{item_type}\0{place}")),
    }
}

/// An index entry: the prefix, then order value, id and partition key.
pub(super) fn index_entry(prefix: Vec<u8>, order_value: &str, id: &str, partition_key: &str) -> Vec<u8> {
    let mut key = prefix;
    push_text(&mut key, order_value);
    push_id(&mut key, id);
    push_last_id(&mut key, partition_key);
    key
}

/// The parts of an index entry after its prefix: order value, id, partition key.
pub(super) fn parse_index_entry(rest: &[u8]) -> Option<(String, String, String)> {
    let (order_value, rest) = take_text(rest)?;
    let (id, rest) = take_id(rest)?;
    Some((order_value, id, read_last_id(rest)?))
}

/// An entry of the expiry index.
pub(super) fn expiry_entry(
    expires_at_ms: i64,
    container: ContainerId,
    partition_key: &str,
    id: &str,
) -> Vec<u8> {
    let mut key = vec![EXPIRY];
    key.extend_from_slice(&u64::try_from(expires_at_ms).unwrap_or(0).to_be_bytes());
    key.push(container);
    push_id(&mut key, partition_key);
    push_last_id(&mut key, id);
    key
}

/// The parts of a key of `index`: container, partition key, id.
pub(super) fn parse_index_key(key: &[u8]) -> Option<(ContainerId, String, String)> {
    let segments = match *key.first()? {
        // Behind the kind: container, physical partition and path.
        EQUALITY => take_id(key.get(5..)?)?.1,
        NEWEST => key.get(4..)?,
        // Behind the kind: container, physical partition and partition key.
        ORDER => take_id(key.get(4..)?)?.1,
        _ => return parse_expiry_entry(key),
    };
    let (_, rest) = take_text(segments)?;
    let (_, id, partition_key) = parse_index_entry(rest)?;
    Some((*key.get(1)?, partition_key, id))
}

/// The type of the item in a key of `items`.
pub(super) fn item_type_of(key: &[u8]) -> Option<String> {
    let state = id_end(key, 1)?;
    Some(take_text(key.get(state + 1..)?)?.0)
}

/// The partition key in a key of `items`.
pub(super) fn partition_key_of_item(key: &[u8]) -> Option<String> {
    Some(take_id(key.get(1..)?)?.0)
}

/// The bounds of the expiry index up to an instant.
pub(super) fn expiry_range(until_ms: i64) -> (Vec<u8>, Vec<u8>) {
    let mut end = vec![EXPIRY];
    end.extend_from_slice(&u64::try_from(until_ms).unwrap_or(0).saturating_add(1).to_be_bytes());
    (vec![EXPIRY], end)
}

/// The parts of an entry of the expiry index: container, partition key, id.
pub(super) fn parse_expiry_entry(key: &[u8]) -> Option<(ContainerId, String, String)> {
    let rest = key.get(9..)?;
    let (container, rest) = rest.split_first()?;
    let (partition_key, id) = take_id(rest)?;
    Some((*container, partition_key, read_last_id(id)?))
}

/// An entry of the change log.
pub(super) fn log_key(container: ContainerId, physical: u16, sequence: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(11);
    key.push(container);
    key.extend_from_slice(&physical.to_be_bytes());
    key.extend_from_slice(&sequence.to_be_bytes());
    key
}

/// The sequence number in a key of the change log.
pub(super) fn log_sequence(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.get(3..11)?.try_into().ok()?))
}

/// Whether the items key behind a log entry (less the container) is of one of these types.
pub(super) fn log_value_has_type(value: &[u8], types: &[&str]) -> bool {
    let Some(state) = id_end(value, 0) else { return false };
    let Some(end) = text_end(value, state + 1) else { return false };
    let segment = &value[state + 1..end - 1];
    if segment.contains(&1) {
        return unescape(segment).is_some_and(|item_type| types.contains(&item_type.as_str()));
    }
    types.iter().any(|item_type| item_type.as_bytes() == segment)
}

/// The parts of an items key (without the container), of an item or of its edit: partition key and id.
pub(super) fn parse_item_key(value: &[u8]) -> Option<(String, String)> {
    let (partition_key, rest) = take_id(value)?;
    let (_, rest) = take_text(rest.get(1..)?)?;
    let (_, id) = take_text(rest)?;
    let (_, id) = id.split_last()?;
    Some((partition_key, read_last_id(id)?))
}

/// The physical partition of a partition key: a 64-bit FNV-1a hash, mixed, in equal ranges.
///
/// Source of the hash: Fowler, Noll and Vo, <http://www.isthe.com/chongo/tech/comp/fnv/>; of the mixer:
/// MurmurHash3's `fmix64`.
pub(super) fn physical_partition(partition_key: &str, partitions: u16) -> u16 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in partition_key.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^= hash >> 33;
    let place = (u128::from(hash) * u128::from(partitions)) >> 64;
    u16::try_from(place).unwrap_or(0)
}

/// The end (exclusive) of the range of keys that start with a prefix.
pub(super) fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    vec![u8::MAX; prefix.len() + 1]
}

#[cfg(test)]
mod tests;
