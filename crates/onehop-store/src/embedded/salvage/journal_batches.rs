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

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::super::journal_files::data_end;
use super::lz4::decompress;
use super::table_block::Entry;

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

/// The batches of a journal.
#[derive(Debug, Default)]
pub(super) struct JournalContent {
    /// In the order of commits.
    pub batches: Vec<JournalBatch>,
    /// Places with unreadable bytes before a batch that can be read. A torn end is no gap: it was never
    /// acknowledged.
    pub gaps: u64,
}

/// Reads a journal file.
///
/// # Errors
/// The file cannot be read.
pub(super) fn read_journal(path: &Path) -> io::Result<JournalContent> {
    let end = data_end(path)?;
    let mut bytes = Vec::with_capacity(usize::try_from(end).unwrap_or_default());
    File::open(path)?.take(end).read_to_end(&mut bytes)?;
    Ok(content(&bytes))
}

/// Whether a path can be read as a journal without gaps.
pub(super) fn gaps_in(path: &Path) -> io::Result<u64> {
    if fs::metadata(path)?.len() == 0 {
        return Ok(0);
    }
    Ok(read_journal(path)?.gaps)
}

fn content(bytes: &[u8]) -> JournalContent {
    let mut content = JournalContent::default();
    let mut rest = bytes;
    let mut is_in_gap = false;
    while !rest.is_empty() {
        if let Some((batch, length)) = take_batch(rest) {
            content.batches.push(batch);
            content.gaps += u64::from(is_in_gap);
            (rest, is_in_gap) = (&rest[length..], false);
        } else {
            is_in_gap = true;
            let next = rest.iter().skip(1).position(|byte| *byte == START);
            rest = next.map_or(&[], |place| &rest[place + 1..]);
        }
    }
    content
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
            prop_assert!(content(&bytes).batches.is_empty());
        }
    }
}
