//! Entries of items: the keys and values that an item has outside the id index, and the numbers of a commit.

use super::header::{Header, ItemLocation};
use super::high_water_mark::CommitNumbers;
use super::key_space::{KeyChange, KeySpace};
use super::keys::{self, ContainerId};

/// The name under which the last sequence number is kept.
pub(super) const META_SEQUENCE: &[u8] = b"sequence";
/// The name under which the number of the last commit is kept. A deletion has no sequence number; a commit
/// always has one.
pub(super) const META_COMMIT: &[u8] = b"commit";

/// The entries that keep the numbers of the last commit and of the last write in it.
pub(super) fn commit_entries(numbers: CommitNumbers) -> [KeyChange; 2] {
    let number =
        |name: &[u8], number: u64| (KeySpace::Meta, name.to_vec(), Some(number.to_be_bytes().to_vec()));
    [number(META_SEQUENCE, numbers.last_write), number(META_COMMIT, numbers.last_commit)]
}

/// The entries of an item that every write of it changes: in the change log, and the body.
pub(super) fn body_entries(
    container: ContainerId,
    physical: u16,
    partition_key: &str,
    id: &str,
    header: &Header,
    value: Option<&Vec<u8>>,
) -> [KeyChange; 2] {
    let item_key = keys::item_key(container, partition_key, ItemLocation::of(&header.properties), id);
    let log_value = value.map(|_| item_key[1..].to_vec());
    [
        (KeySpace::Log, keys::log_key(container, physical, header.sequence), log_value),
        (KeySpace::Items, item_key, value.cloned()),
    ]
}

/// Every entry that an item has outside `ids`.
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
    entries.extend(body_entries(container, physical, partition_key, id, header, value));
    if !properties.deleted {
        for (path, equal_to) in properties.equality.iter().enumerate().filter(|(_, value)| !value.is_empty())
        {
            let path = u8::try_from(path).unwrap_or(u8::MAX);
            let prefix = keys::equality_prefix(container, physical, path, equal_to, &properties.item_type);
            let key = keys::index_entry(prefix, &properties.order_value, id, partition_key);
            entries.push((KeySpace::Index, key, some_empty.clone()));
        }
        if newest_types.contains(&properties.item_type.as_str()) {
            let prefix = keys::newest_prefix(container, physical, &properties.item_type);
            let key = keys::index_entry(prefix, &properties.order_value, id, partition_key);
            entries.push((KeySpace::Index, key, some_empty.clone()));
        }
    }
    if header.expires_at_ms != 0 {
        let key = keys::expiry_entry(header.expires_at_ms, container, partition_key, id);
        entries.push((KeySpace::Index, key, some_empty));
    }
    entries
}
