//! Write-ahead journal of a simulated disk: records with checksums, and the state of their pages. A crash
//! loses or tears records that no fsync has brought to the disk.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::key_maps::{SPACES, flipped, place_of};
use crate::embedded::key_space::KeyChange;

/// Bytes before the changes of a record: their length and their checksum.
const HEADER_BYTES: usize = 4 + 8;
/// The length that marks a removal.
const REMOVAL: u32 = u32::MAX;

/// Where the pages of a record are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pages {
    /// In the operating system's memory alone.
    Dirty,
    /// On the disk.
    Durable,
    /// In memory alone, and taken for written: an fsync failed.
    Dropped,
}

/// A record as it was written, or as much of it as was.
#[derive(Debug, Clone)]
pub(super) struct JournalRecord {
    bytes: Vec<u8>,
    pub(super) pages: Pages,
    /// The bit behind the header that the disk returns wrong.
    pub(super) flip: Option<u64>,
}

/// The content of a record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decoded {
    Changes(Vec<KeyChange>),
    /// It was not written to its end.
    Torn,
    /// It is as long as it was written, and has other bytes.
    Damaged,
}

impl JournalRecord {
    pub(super) fn new(changes: &[KeyChange]) -> Self {
        let mut bytes = vec![0; HEADER_BYTES];
        for (space, key, value) in changes {
            bytes.push(u8::try_from(place_of(*space)).unwrap_or(u8::MAX));
            push_length(&mut bytes, key.len());
            bytes.extend_from_slice(key);
            match value {
                Some(value) => {
                    push_length(&mut bytes, value.len());
                    bytes.extend_from_slice(value);
                }
                None => bytes.extend_from_slice(&REMOVAL.to_be_bytes()),
            }
        }
        let length = u32::try_from(bytes.len() - HEADER_BYTES).unwrap_or(REMOVAL);
        bytes[..4].copy_from_slice(&length.to_be_bytes());
        let checksum = xxh3_64(&bytes[HEADER_BYTES..]);
        bytes[4..HEADER_BYTES].copy_from_slice(&checksum.to_be_bytes());
        Self { bytes, pages: Pages::Dirty, flip: None }
    }

    pub(super) fn hash_into(&self, hash: &mut Xxh3) {
        hash.update(&[self.pages as u8]);
        hash.update(&self.bytes);
    }

    /// Its length in bytes.
    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The same record on a disk that it was copied to.
    pub(super) fn durable(&self) -> Self {
        Self { pages: Pages::Durable, ..self.clone() }
    }

    /// Keeps the first bytes alone. Returns whether that is the whole record.
    pub(super) fn tear(&mut self, kept: u64) -> bool {
        let is_whole = kept >= self.len();
        self.bytes.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
        is_whole
    }

    pub(super) fn decode(&self) -> Decoded {
        let parts = self.bytes.split_first_chunk::<4>();
        let parts = parts.and_then(|(length, rest)| Some((length, rest.split_first_chunk::<8>()?)));
        let Some((length, (checksum, changes))) = parts else { return Decoded::Torn };
        if changes.len() != u32::from_be_bytes(*length) as usize {
            return Decoded::Torn;
        }
        let read = self.flip.map(|flip| flipped(changes, flip));
        let changes = read.as_deref().unwrap_or(changes);
        if xxh3_64(changes) != u64::from_be_bytes(*checksum) {
            return Decoded::Damaged;
        }
        parse(changes).map_or(Decoded::Damaged, Decoded::Changes)
    }
}

fn push_length(bytes: &mut Vec<u8>, length: usize) {
    bytes.extend_from_slice(&u32::try_from(length).unwrap_or(REMOVAL).to_be_bytes());
}

fn parse(mut rest: &[u8]) -> Option<Vec<KeyChange>> {
    let mut changes = Vec::new();
    while let Some((space, more)) = rest.split_first() {
        let (key_length, more) = more.split_first_chunk::<4>()?;
        let (key, more) = more.split_at_checked(u32::from_be_bytes(*key_length) as usize)?;
        let (value_length, more) = more.split_first_chunk::<4>()?;
        let (value, more) = match u32::from_be_bytes(*value_length) {
            REMOVAL => (None, more),
            length => {
                let (value, more) = more.split_at_checked(length as usize)?;
                (Some(value.to_vec()), more)
            }
        };
        changes.push((*SPACES.get(usize::from(*space))?, key.to_vec(), value));
        rest = more;
    }
    Some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::key_space::KeySpace;

    fn changes() -> Vec<KeyChange> {
        vec![
            (KeySpace::Ids, b"a".to_vec(), Some(b"header".to_vec())),
            (KeySpace::Log, Vec::new(), Some(Vec::new())),
            (KeySpace::Meta, b"gone".to_vec(), None),
        ]
    }

    #[test]
    fn a_record_holds_its_changes() {
        assert_eq!(JournalRecord::new(&changes()).decode(), Decoded::Changes(changes()));
    }

    #[test]
    fn a_record_that_ends_early_is_torn() {
        let whole = JournalRecord::new(&changes());
        for kept in 0..whole.len() {
            let mut torn = whole.clone();
            assert!(!torn.tear(kept));
            assert_eq!(torn.decode(), Decoded::Torn, "{kept} bytes");
        }
    }

    #[test]
    fn every_flipped_bit_of_a_record_is_noticed() {
        let whole = JournalRecord::new(&changes());
        for flip in 0..(whole.len() - HEADER_BYTES as u64) * 8 {
            let damaged = JournalRecord { flip: Some(flip), ..whole.clone() };
            assert_eq!(damaged.decode(), Decoded::Damaged, "bit {flip}");
        }
    }
}
