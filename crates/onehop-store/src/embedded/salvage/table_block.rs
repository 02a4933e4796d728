//! Blocks of the engine's table files: their header with its checksums, and the entries of a data block.
//!
//! ```text
//! block    magic 4 | kind 1 | checksum of the payload 16 | stored length 4 | whole length 4 | checksum 4 |
//!          payload
//! entries  kind 1 | number | key length | key | value length | value               (one in each interval)
//!          kind 1 | number | shared length | rest length | rest | value length | value      (the others)
//!          255, indexes, and a trailer of 31 bytes: interval 1, ..., number of entries 4
//! ```
//!
//! Numbers of a fixed length are little-endian, and the others are LEB128. Deletions have no value. The
//! format is lsm-tree's of version 3.1; a test compares the entries of this reader with the engine's.

use xxhash_rust::xxh3::xxh3_128;

use super::lz4::decompress;

/// Bytes before the payload of a block.
pub(super) const HEADER_BYTES: usize = 33;
/// Bytes at the end of a block of entries.
const TRAILER_BYTES: usize = 31;
/// The start of every block.
pub(super) const MAGIC: &[u8] = b"LSM\x03";
/// Behind the last entry of a block.
const END_MARKER: u8 = 255;
/// The checksum at the end of a header covers the bytes before it.
const HEADER_CHECKED_BYTES: usize = 29;
/// The longest payload that is believed: a header is found by its checksum of four bytes alone.
const PAYLOAD_BYTES_MAX: usize = 64 * 1024 * 1024;

const KIND_DATA: u8 = 0;
const KIND_META: u8 = 3;
const VALUE: u8 = 0;
const TOMBSTONE: u8 = 1;
const WEAK_TOMBSTONE: u8 = 2;

/// An entry of a table or of a journal: a key, the number of its commit in the engine, and its value or its
/// deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Entry {
    pub key: Vec<u8>,
    pub number: u64,
    /// `None` for a deletion.
    pub value: Option<Vec<u8>>,
}

/// The header of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockHeader {
    kind: u8,
    checksum: u128,
    stored_bytes: usize,
    whole_bytes: usize,
}

impl BlockHeader {
    /// Reads a header; `None` where the bytes are no header.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let checked = bytes.get(..HEADER_CHECKED_BYTES)?;
        let rest = checked.strip_prefix(MAGIC)?;
        let expected = u32::from_le_bytes(bytes.get(HEADER_CHECKED_BYTES..HEADER_BYTES)?.try_into().ok()?);
        // The engine keeps the lower half of a half.
        if u32::try_from(xxh3_128(checked) & u128::from(u32::MAX)).ok()? != expected {
            return None;
        }
        let length = |at: usize| -> Option<usize> {
            usize::try_from(u32::from_le_bytes(rest.get(at..at + 4)?.try_into().ok()?)).ok()
        };
        let header = Self {
            kind: *rest.first()?,
            checksum: u128::from_le_bytes(rest.get(1..17)?.try_into().ok()?),
            stored_bytes: length(17)?,
            whole_bytes: length(21)?,
        };
        let is_plausible = header.stored_bytes.max(header.whole_bytes) <= PAYLOAD_BYTES_MAX;
        is_plausible.then_some(header)
    }

    /// Whether the block holds entries of the key space, and not an index, a filter or metadata.
    pub(super) fn is_data(&self) -> bool {
        self.kind == KIND_DATA
    }

    pub(super) fn is_meta(&self) -> bool {
        self.kind == KIND_META
    }

    /// The length of the payload in the file.
    pub(super) fn stored_bytes(&self) -> usize {
        self.stored_bytes
    }

    /// The entries of a payload; `None` where the payload is not what was written.
    pub(super) fn entries(&self, payload: &[u8]) -> Option<Vec<Entry>> {
        if payload.len() != self.stored_bytes || xxh3_128(payload) != self.checksum {
            return None;
        }
        // The header does not say whether the payload is compressed.
        let unpacked = decompress(payload, self.whole_bytes).and_then(|bytes| entries(&bytes));
        unpacked.or_else(|| (payload.len() == self.whole_bytes).then(|| entries(payload))?)
    }
}

/// The entries of a block.
fn entries(block: &[u8]) -> Option<Vec<Entry>> {
    let (mut rest, trailer) = block.split_at_checked(block.len().checked_sub(TRAILER_BYTES)?)?;
    let interval = usize::from(*trailer.first()?).max(1);
    let count = usize::try_from(u32::from_le_bytes(*trailer.last_chunk()?)).ok()?;
    let mut found: Vec<Entry> = Vec::with_capacity(count.min(block.len()));
    let mut first_key = Vec::new();
    for place in 0..count {
        let kind = take_byte(&mut rest)?;
        let number = take_number(&mut rest)?;
        let is_first = place % interval == 0;
        let shared = if is_first { 0 } else { take_length(&mut rest)? };
        let length = take_length(&mut rest)?;
        let mut key = first_key.get(..shared)?.to_vec();
        key.extend_from_slice(take_bytes(&mut rest, length)?);
        let value = match kind {
            VALUE => {
                let length = take_length(&mut rest)?;
                Some(take_bytes(&mut rest, length)?.to_vec())
            }
            TOMBSTONE | WEAK_TOMBSTONE => None,
            _ => return None,
        };
        if is_first {
            first_key.clone_from(&key);
        }
        found.push(Entry { key, number, value });
    }
    (take_byte(&mut rest)? == END_MARKER).then_some(found)
}

fn take_byte(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*first)
}

fn take_bytes<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn take_length(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(take_number(bytes)?).ok()
}

/// Takes a LEB128 number.
fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = take_byte(bytes)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(BlockHeader::decode(&bytes).is_none());
            let _ = entries(&bytes);
        }
    }
}
