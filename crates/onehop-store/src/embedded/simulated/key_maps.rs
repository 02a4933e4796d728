//! Key spaces in memory: ordered maps whose copies share unchanged parts, so that a view costs five pointers.
//! Each value has a checksum, which every load verifies.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::embedded::key_space::{KeyChange, KeySpace};

/// The key spaces in the order in which they are stored.
pub(super) const SPACES: [KeySpace; 5] =
    [KeySpace::Ids, KeySpace::Items, KeySpace::Index, KeySpace::Log, KeySpace::Meta];

/// The place of a key space in [`SPACES`].
pub(super) fn place_of(space: KeySpace) -> usize {
    match space {
        KeySpace::Ids => 0,
        KeySpace::Items => 1,
        KeySpace::Index => 2,
        KeySpace::Log => 3,
        KeySpace::Meta => 4,
    }
}

/// A value as a table holds it.
#[derive(Debug, Clone)]
pub(super) struct StoredValue {
    bytes: Bytes,
    checksum: u64,
}

impl StoredValue {
    fn new(value: Vec<u8>) -> Self {
        Self { checksum: xxh3_64(&value), bytes: value.into() }
    }

    pub(super) fn checksum(&self) -> u64 {
        self.checksum
    }

    /// The value, or the checksums that were found and expected. A flip chooses a bit that the disk returns
    /// wrong.
    pub(super) fn load(&self, flip: Option<u64>) -> Result<Bytes, (u64, u64)> {
        let bytes = flip.map_or_else(|| self.bytes.clone(), |flip| flipped(&self.bytes, flip));
        let found = xxh3_64(&bytes);
        // No bit of an empty value can be wrong, but a bit of its place can.
        let is_damaged = found != self.checksum || (flip.is_some() && bytes.is_empty());
        if is_damaged { Err((found, self.checksum)) } else { Ok(bytes) }
    }
}

/// A copy of bytes with one other bit.
pub(super) fn flipped(bytes: &[u8], flip: u64) -> Bytes {
    let mut copy = bytes.to_vec();
    let bits = copy.len() as u64 * 8;
    if let Some(bit) = flip.checked_rem(bits) {
        copy[usize::try_from(bit / 8).unwrap_or(0)] ^= 1 << (bit % 8);
    }
    copy.into()
}

/// An ordered key space.
pub(super) type KeyMap = BTreeMap<Bytes, StoredValue>;

/// All key spaces at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct KeyMaps([Arc<KeyMap>; 5]);

impl KeyMaps {
    pub(super) fn space(&self, space: KeySpace) -> &Arc<KeyMap> {
        &self.0[place_of(space)]
    }

    /// Does changes. Parts shared with other copies are copied before.
    pub(super) fn apply(&mut self, changes: Vec<KeyChange>) {
        for (space, key, value) in changes {
            let map = Arc::make_mut(&mut self.0[place_of(space)]);
            match value {
                Some(value) => map.insert(key.into(), StoredValue::new(value)),
                None => map.remove(key.as_slice()),
            };
        }
    }

    pub(super) fn hash_into(&self, hash: &mut Xxh3) {
        for (place, map) in self.0.iter().enumerate() {
            for (key, value) in map.iter() {
                hash.update(&[u8::try_from(place).unwrap_or(u8::MAX)]);
                hash.update(key);
                hash.update(&value.checksum.to_be_bytes());
            }
        }
    }

    /// The number of values that are not empty.
    pub(super) fn values(&self) -> u64 {
        let maps = self.0.iter().flat_map(|map| map.values());
        maps.filter(|value| !value.bytes.is_empty()).count() as u64
    }

    /// Bytes of keys and values.
    pub(super) fn bytes(&self) -> u64 {
        let entries = self.0.iter().flat_map(|map| map.iter());
        entries.map(|(key, value)| (key.len() + value.bytes.len()) as u64).sum()
    }

    /// A value by its number among all values that are not empty: where it is, and its checksum.
    pub(super) fn value_at(&self, number: u64) -> Option<(KeySpace, Bytes, u64)> {
        let mut values = SPACES.iter().flat_map(|space| {
            let values = self.space(*space).iter().filter(|(_, value)| !value.bytes.is_empty());
            values.map(|(key, value)| (*space, key.clone(), value.checksum))
        });
        values.nth(usize::try_from(number).ok()?)
    }
}

/// A range of a key space, from either end. It holds the map, and copies nothing.
pub(super) struct MapRange {
    map: Arc<KeyMap>,
    from: Bound<Bytes>,
    to: Bound<Bytes>,
}

impl MapRange {
    pub(super) fn new(map: &Arc<KeyMap>, from: &[u8], to: &[u8]) -> Self {
        // A range that ends before it begins is empty.
        let to = Bytes::copy_from_slice(to.max(from));
        Self {
            map: Arc::clone(map),
            from: Bound::Included(Bytes::copy_from_slice(from)),
            to: Bound::Excluded(to),
        }
    }

    fn entries(&self) -> Option<std::collections::btree_map::Range<'_, Bytes, StoredValue>> {
        let is_empty = match (&self.from, &self.to) {
            (Bound::Included(from), Bound::Excluded(to)) => from >= to,
            (Bound::Excluded(from), Bound::Excluded(to)) => from >= to,
            _ => true,
        };
        (!is_empty).then(|| self.map.range((self.from.clone(), self.to.clone())))
    }
}

impl Iterator for MapRange {
    type Item = (Bytes, StoredValue);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.entries()?.next()?;
        let found = (key.clone(), value.clone());
        self.from = Bound::Excluded(found.0.clone());
        Some(found)
    }
}

impl DoubleEndedIterator for MapRange {
    fn next_back(&mut self) -> Option<Self::Item> {
        let (key, value) = self.entries()?.next_back()?;
        let found = (key.clone(), value.clone());
        self.to = Bound::Excluded(found.0.clone());
        Some(found)
    }
}
