//! Batches of a journal file, read without the engine. Bytes that are no batch are passed over, so that a
//! damaged batch does not hide the batches behind it.
//!
//! ```text
//! batch   1 | number of items 4 | number of the commit 8 | items | 3 | checksum of the items 8 | FJL 3
//! item    2 | kind 1 | compression 1 | key space 8 | key length 2 | value length 4 | stored length 4 |
//!         key | value
//! ```
//!
//! The format is fjall's of version 3.1.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::super::journal_files::data_end_of;
use super::lz4::decompress;
use super::table_block::Entry;

/// Bytes that are read at a time.
const READ_BYTES: u64 = 1 << 20;
const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const BATCH_END: &[u8] = b"FJL\x03";
const COMPRESSED: u8 = 1;
const VALUE: u8 = 0;
const TOMBSTONE: u8 = 1;
const WEAK_TOMBSTONE: u8 = 2;

/// An entry with the number of its key space.
pub(in super::super) type SpaceEntry = (u64, Entry);

/// A batch: one commit of the engine.
#[derive(Debug)]
pub(in super::super) struct JournalBatch {
    /// The number of the commit in the engine. Later batches have higher ones.
    pub number: u64,
    pub entries: Vec<SpaceEntry>,
}

/// The batches of a journal, in the order of commits. They are read one after the other: a journal is not in
/// memory as a whole, unless a batch in it is damaged.
pub(in super::super) struct JournalBatches<R> {
    journal: R,
    /// Bytes that were read and are in no batch yet.
    bytes: Vec<u8>,
    is_read: bool,
    is_in_gap: bool,
    /// Places with unreadable bytes before a batch that can be read. A torn end is no gap: it was never
    /// acknowledged.
    gaps: u64,
}

impl JournalBatches<io::Take<File>> {
    /// Reads a journal file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
        Self::of(File::open(path)?)
    }

    /// Reads an open journal from its begin.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(in super::super) fn of(journal: File) -> io::Result<Self> {
        let end = data_end_of(&journal)?;
        Ok(Self::new(journal.take(end)))
    }
}

impl<R: Read> JournalBatches<R> {
    fn new(journal: R) -> Self {
        Self { journal, bytes: Vec::new(), is_read: false, is_in_gap: false, gaps: 0 }
    }

    /// The next batch with its bytes; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(in super::super) fn next_batch(&mut self) -> io::Result<Option<(JournalBatch, Vec<u8>)>> {
        loop {
            if let Some((batch, length)) = take_batch(&self.bytes) {
                let rest = self.bytes.split_off(length);
                self.gaps += u64::from(std::mem::take(&mut self.is_in_gap));
                return Ok(Some((batch, std::mem::replace(&mut self.bytes, rest))));
            }
            if !self.is_read {
                let read = self.journal.by_ref().take(READ_BYTES).read_to_end(&mut self.bytes)?;
                self.is_read = read == 0;
                continue;
            }
            let next = self.bytes.iter().skip(1).position(|byte| *byte == START);
            let Some(place) = next else { return Ok(None) };
            self.bytes.drain(..=place);
            self.is_in_gap = true;
        }
    }

    /// The gaps before the batches so far.
    pub(in super::super) fn gaps(&self) -> u64 {
        self.gaps
    }
}

/// The gaps of a journal file.
///
/// # Errors
/// The file cannot be read.
pub(super) fn gaps_in(path: &Path) -> io::Result<u64> {
    let mut batches = JournalBatches::open(path)?;
    while batches.next_batch()?.is_some() {}
    Ok(batches.gaps())
}

/// Takes a whole batch from the front of a journal; returns its length, too.
pub(in super::super) fn take_batch(bytes: &[u8]) -> Option<(JournalBatch, usize)> {
    let (count, rest) = bytes.strip_prefix(&[START])?.split_first_chunk()?;
    let (number, items) = rest.split_first_chunk()?;
    let number = u64::from_le_bytes(*number);
    let (mut rest, mut entries) = (items, Vec::new());
    for _ in 0..u32::from_le_bytes(*count) {
        let (key_space, entry, after) = item(rest, number)?;
        entries.push((key_space, entry));
        rest = after;
    }
    let items = &items[..items.len() - rest.len()];
    let (checksum, rest) = rest.strip_prefix(&[END])?.split_first_chunk()?;
    let rest = rest.strip_prefix(BATCH_END)?;
    let is_whole = u64::from_le_bytes(*checksum) == xxh3_64(items);
    is_whole.then(|| (JournalBatch { number, entries }, bytes.len() - rest.len()))
}

fn item(bytes: &[u8], number: u64) -> Option<(u64, Entry, &[u8])> {
    let ([kind, compression], rest) = bytes.strip_prefix(&[ITEM])?.split_first_chunk()?;
    let (key_space, rest) = rest.split_first_chunk()?;
    let (key_length, rest) = rest.split_first_chunk()?;
    let (value_length, rest) = rest.split_first_chunk()?;
    let (stored_length, rest) = rest.split_first_chunk()?;
    let (key, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*key_length)))?;
    let (stored, rest) = rest.split_at_checked(length(*stored_length)?)?;
    let value = match *kind {
        TOMBSTONE | WEAK_TOMBSTONE => None,
        VALUE if *compression == COMPRESSED => Some(decompress(stored, length(*value_length)?)?),
        VALUE => Some(stored.to_vec()),
        _ => return None,
    };
    Some((u64::from_le_bytes(*key_space), Entry { key: key.to_vec(), number, value }, rest))
}

fn length(bytes: [u8; 4]) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(bytes)).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_no_panic(bytes in proptest::collection::vec(0_u8..5, 0..300)) {
            let mut batches = JournalBatches::new(&bytes[..]);
            prop_assert!(batches.next_batch().expect("memory").is_none());
        }
    }
}
