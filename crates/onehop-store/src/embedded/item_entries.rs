//! Entries of items: the keys and values that an item has outside the id index, and the numbers of a commit.

use super::header::{Header, ItemLocation};
use super::high_water_mark::CommitNumbers;
use super::key_space::{KeyChange, KeySpace};
use super::keys::{self, ContainerId};
use crate::OrderIndex;
use crate::document::KeyProperties;

/// The name under which the last sequence number is kept.
pub(super) const META_SEQUENCE: &[u8] = b"sequence";
/// The name under which the number of the last commit is kept. A deletion has no sequence number; a commit
/// always has one.
pub(super) const META_COMMIT: &[u8] = b"commit";

/// The name under which the time of the last commit is kept, Unix ms.
pub(super) const META_COMMIT_TIME: &[u8] = b"commit-time";

/// The entry that keeps the time of the last commit.
pub(super) fn commit_time_entry(now_ms: i64) -> KeyChange {
    (KeySpace::Meta, META_COMMIT_TIME.to_vec(), Some(now_ms.to_be_bytes().to_vec()))
}

/// The entries that keep the numbers of the last commit and of the last write in it.
pub(super) fn commit_entries(numbers: CommitNumbers) -> [KeyChange; 2] {
    let number =
        |name: &[u8], number: u64| (KeySpace::Meta, name.to_vec(), Some(number.to_be_bytes().to_vec()));
    [number(META_SEQUENCE, numbers.last_write), number(META_COMMIT, numbers.last_commit)]
}

/// The entries of an item that every write of it changes: in the change log, and the value: of the item, or
/// of its edit where it has one. The log names the key of the value.
pub(super) fn value_entries(
    container: ContainerId,
    physical: u16,
    partition_key: &str,
    id: &str,
    header: &Header,
    value: Option<&Vec<u8>>,
) -> [KeyChange; 2] {
    let item_key = keys::item_key(container, partition_key, ItemLocation::of(&header.properties), id);
    let value_key = if header.edited { keys::edit_key(&item_key) } else { item_key };
    let log_value = value.map(|_| value_key[1..].to_vec());
    [
        (KeySpace::Log, keys::log_key(container, physical, header.sequence), log_value),
        (KeySpace::Items, value_key, value.cloned()),
    ]
}

/// All entries of an item outside `ids`; of an item with an edit, all but the base.
pub(super) fn entries(
    newest_types: &[&str],
    container: ContainerId,
    physical: u16,
    partition_key: &str,
    id: &str,
    header: &Header,
    value: Option<&Vec<u8>>,
) -> Vec<KeyChange> {
    let properties = &header.properties;
    let some_empty = value.map(|_| Vec::new());
    let mut entries = Vec::with_capacity(4 + properties.equality.len());
    entries.extend(value_entries(container, physical, partition_key, id, header, value));
    if !properties.deleted {
        let further = (0..properties.further_orders.len()).map(OrderIndex::Further);
        for order in [OrderIndex::Main].into_iter().chain(further) {
            for prefix in index_prefixes(newest_types, container, physical, partition_key, properties, order)
            {
                let key = keys::index_entry(prefix, properties.value_in(order), id, partition_key);
                entries.push((KeySpace::Index, key, some_empty.clone()));
            }
        }
    }
    if header.expires_at_ms != 0 {
        let key = keys::expiry_entry(header.expires_at_ms, container, partition_key, id);
        entries.push((KeySpace::Index, key, some_empty));
    }
    entries
}

/// The prefixes of the index entries that a live item has in one of its orders.
fn index_prefixes(
    newest_types: &[&str],
    container: ContainerId,
    physical: u16,
    partition_key: &str,
    properties: &KeyProperties,
    order: OrderIndex,
) -> impl Iterator<Item = Vec<u8>> {
    let item_type = keys::type_in_order(&properties.item_type, order);
    let is_newest = newest_types.contains(&properties.item_type.as_str());
    let newest = is_newest.then(|| keys::newest_prefix(container, physical, &item_type));
    let is_further = order != OrderIndex::Main;
    let of_order = is_further.then(|| keys::order_prefix(container, physical, partition_key, &item_type));
    let paths = properties.equality.iter().enumerate().filter(|(_, value)| !value.is_empty());
    let equality = paths.map(move |(path, equal_to)| {
        let path = u8::try_from(path).unwrap_or(u8::MAX);
        keys::equality_prefix(container, physical, path, equal_to, &item_type)
    });
    equality.chain(newest).chain(of_order)
}
