//! The layout of keys in the engine. Items of a logical partition lie side by side, in the order in which
//! queries want them, so that a page is one range scan without further look-ups.
//!
//! ```text
//! ids    container | partition key 0 | id                                     -> Header
//! items  container | partition key 0 | live? | type 0 | order value 0 | id    -> number, time, expiry, body
//!        the same, 0                                            -> the same, and the item's edit
//! index  1 | container | physical | path | value 0 | type 0 | order 0 | id 0 | partition key     (equality)
//!        2 | container | physical | type 0 | order 0 | id 0 | partition key                      (newest)
//!        3 | expiry | container | partition key 0 | id                                           (expiry)
//!        4 | container | physical | partition key 0 | type 0 | order 0 | id 0 | partition key    (order)
//! log    container | physical | sequence number                               -> items key without container,
//!                                                                                of its edit if it has one
//! meta   a name                                                               -> a value
//! ```
//!
//! In index entries of a further order of a type, the type segment has the number of the order, too.
//!
//! A text segment ends with a zero byte. Bytes 0 and 1 within a text are escaped as 1 1 and 1 2, which keeps
//! the order of texts.

use std::borrow::Cow;

use super::edits::base_key;
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

/// Appends a text segment and its end.
fn push_text(key: &mut Vec<u8>, text: &str) {
    push_last_text(key, text);
    key.push(0);
}

/// Appends a text that ends the key. Behind it a zero byte comes before any further text.
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
    push_text(&mut key, partition_key);
    key.extend_from_slice(id.as_bytes());
    key
}

/// The parts of a key of `ids`: container, partition key, id.
pub(super) fn parse_id_key(key: &[u8]) -> Option<(ContainerId, String, String)> {
    let (container, rest) = key.split_first()?;
    let (partition_key, id) = take_text(rest)?;
    Some((*container, partition_key, String::from_utf8(id.to_vec()).ok()?))
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
    push_last_text(&mut key, id);
    key
}

/// The prefix of all live items of a type in a logical partition.
pub(super) fn live_prefix(container: ContainerId, partition_key: &str, item_type: &str) -> Vec<u8> {
    type_prefix(container, partition_key, item_type, false)
}

fn type_prefix(container: ContainerId, partition_key: &str, item_type: &str, deleted: bool) -> Vec<u8> {
    let mut key = Vec::with_capacity(partition_key.len() + item_type.len() + 96);
    key.push(container);
    push_text(&mut key, partition_key);
    key.push(if deleted { DELETED } else { LIVE });
    push_text(&mut key, item_type);
    key
}

/// The prefix under which the key of a live item in `items` stands; `None` for an item that is deleted.
pub(super) fn live_prefix_of(key: &[u8]) -> Option<&[u8]> {
    let text_end = |start: usize| Some(start + 1 + key.get(start..)?.iter().position(|byte| *byte == 0)?);
    let state = text_end(1)?;
    let end = text_end(state + 1)?;
    (key[state] == LIVE).then(|| &key[..end])
}

/// Appends a keyset to a prefix whose keys go on with an order value and an id.
pub(super) fn with_keyset(mut prefix: Vec<u8>, order_value: &str, id: &str) -> Vec<u8> {
    push_text(&mut prefix, order_value);
    push_last_text(&mut prefix, id);
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
    push_text(&mut key, value);
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
    push_text(&mut key, partition_key);
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
    push_text(&mut key, id);
    key.extend_from_slice(partition_key.as_bytes());
    key
}

/// The parts of an index entry after its prefix: order value, id, partition key.
pub(super) fn parse_index_entry(rest: &[u8]) -> Option<(String, String, String)> {
    let (order_value, rest) = take_text(rest)?;
    let (id, rest) = take_text(rest)?;
    Some((order_value, id, String::from_utf8(rest.to_vec()).ok()?))
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
    push_text(&mut key, partition_key);
    key.extend_from_slice(id.as_bytes());
    key
}

/// The parts of a key of `index`: container, partition key, id.
pub(super) fn parse_index_key(key: &[u8]) -> Option<(ContainerId, String, String)> {
    let segments = match *key.first()? {
        // Behind the kind: container, physical partition and path.
        EQUALITY => take_text(key.get(5..)?)?.1,
        NEWEST => key.get(4..)?,
        // Behind the kind: container, physical partition and partition key.
        ORDER => take_text(key.get(4..)?)?.1,
        _ => return parse_expiry_entry(key),
    };
    let (_, rest) = take_text(segments)?;
    let (_, id, partition_key) = parse_index_entry(rest)?;
    Some((*key.get(1)?, partition_key, id))
}

/// The partition key in a key of `items`.
pub(super) fn partition_key_of_item(key: &[u8]) -> Option<String> {
    Some(take_text(key.get(1..)?)?.0)
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
    let (partition_key, id) = take_text(rest)?;
    Some((*container, partition_key, String::from_utf8(id.to_vec()).ok()?))
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
    let Some(end) = value.iter().position(|byte| *byte == 0) else { return false };
    let Some(rest) = value.get(end + 2..) else { return false };
    let Some(end) = rest.iter().position(|byte| *byte == 0) else { return false };
    let segment = &rest[..end];
    if segment.contains(&1) {
        return unescape(segment).is_some_and(|item_type| types.contains(&item_type.as_str()));
    }
    types.iter().any(|item_type| item_type.as_bytes() == segment)
}

/// The parts of an items key (without the container), of an item or of its edit: partition key and id.
pub(super) fn parse_item_key(value: &[u8]) -> Option<(String, String)> {
    let (partition_key, rest) = take_text(value)?;
    let (_, rest) = take_text(rest.get(1..)?)?;
    let (_, id) = take_text(rest)?;
    Some((partition_key, unescape(base_key(id).unwrap_or(id))?))
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_text_survives_the_key(text in "\\PC*|[\\x00-\\x03]*", rest in proptest::collection::vec(any::<u8>(), 0..8)) {
            let mut key = Vec::new();
            push_text(&mut key, &text);
            key.extend_from_slice(&rest);
            let (back, left) = take_text(&key).expect("a segment");
            prop_assert_eq!(back, text);
            prop_assert_eq!(left, &rest[..]);
        }

        #[test]
        fn keys_sort_as_their_texts_do(one in "[\\x00-\\x03a-c]{0,6}", two in "[\\x00-\\x03a-c]{0,6}") {
            let (mut first, mut second) = (Vec::new(), Vec::new());
            push_text(&mut first, &one);
            push_text(&mut second, &two);
            prop_assert_eq!(first.cmp(&second), one.cmp(&two));
        }
    }

    #[test]
    fn partition_keys_spread_evenly_over_physical_partitions() {
        let mut items = [0_u32; 8];
        for number in 0..8000 {
            items[usize::from(physical_partition(&format!("post-{number}"), 8))] += 1;
        }
        assert!(items.iter().all(|count| (800..1200).contains(count)), "{items:?}");
    }

    #[test]
    fn the_end_of_a_prefix_is_the_next_key_without_it() {
        assert_eq!(prefix_end(&[1, 2]), vec![1, 3]);
        assert_eq!(prefix_end(&[1, 255]), vec![2]);
    }
}
