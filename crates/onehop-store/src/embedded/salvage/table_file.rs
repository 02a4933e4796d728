//! Entries of a table file, read block by block without the engine and without the file's index. An
//! unreadable block is a gap, and the blocks behind it are read.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

use super::archive::{Sections, read};
use super::table_block::{BlockHeader, Entry, HEADER_BYTES, MAGIC};

/// Bytes that are searched at a time for the next block behind an unreadable one.
const SEARCH_BYTES: u64 = 4096;

/// A table file.
#[derive(Debug)]
pub(super) struct TableFile {
    file: File,
    length: u64,
    /// Where the data blocks lie; `None` where the table of contents is damaged.
    data: Option<Range<u64>>,
    /// The number of entries that were written; `None` where the metadata are damaged.
    entries: Option<u64>,
}

impl TableFile {
    /// Opens a file, whose content may be anything.
    pub(super) fn open(path: &Path) -> std::io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let sections = Sections::read(&file);
        let place = |name| sections.as_ref().and_then(|sections| sections.place(name));
        let data = place("data").filter(|data| data.end <= length);
        let metadata = place("meta").and_then(|place| metadata(&file, place));
        let entries = metadata.as_deref().and_then(entry_count);
        Ok(Self { file, length, data, entries })
    }

    /// Reads the entries. Their numbers count from a base, as the manifest states it.
    pub(super) fn read(self, base_number: u64) -> TablePieces {
        let at = self.data.as_ref().map_or(0, |data| data.start);
        TablePieces { table: self, base_number, at, entries: VecDeque::new() }
    }

    /// The end of the data blocks, as far as it is known.
    fn data_end(&self) -> u64 {
        self.data.as_ref().map_or(self.length, |data| data.end)
    }

    fn block_at(&self, at: u64) -> Block {
        let header = read(&self.file, at..at + HEADER_BYTES as u64);
        let Some(header) = header.and_then(|bytes| BlockHeader::decode(&bytes)) else {
            return Block::Unreadable { next: None };
        };
        if !header.is_data() {
            return Block::Other;
        }
        let payload_at = at + HEADER_BYTES as u64;
        let next = payload_at + header.stored_bytes() as u64;
        let payload = read(&self.file, payload_at..next);
        match payload.and_then(|payload| header.entries(&payload)) {
            Some(entries) => Block::Entries { entries, next },
            None => Block::Unreadable { next: Some(next) },
        }
    }

    /// Where the next header lies, from a place on.
    fn next_header(&self, from: u64) -> Option<u64> {
        let end = self.data_end();
        let mut at = from;
        while at < end {
            // The next chunk begins with the last bytes of this one, which may be the start of a header.
            let chunk_end = (at + SEARCH_BYTES).min(end);
            let chunk = read(&self.file, at..chunk_end).unwrap_or_default();
            for place in chunk.windows(MAGIC.len()).enumerate().filter(|(_, bytes)| *bytes == MAGIC) {
                let place = at + place.0 as u64;
                let header = read(&self.file, place..place + HEADER_BYTES as u64);
                if header.is_some_and(|bytes| BlockHeader::decode(&bytes).is_some()) {
                    return Some(place);
                }
            }
            if chunk_end == end {
                return None;
            }
            at = chunk_end - (MAGIC.len() as u64 - 1);
        }
        None
    }
}

enum Block {
    Entries {
        entries: Vec<Entry>,
        next: u64,
    },
    /// An index, a filter or metadata: the data blocks are over.
    Other,
    Unreadable {
        /// Where the next block begins, by a header that can be read.
        next: Option<u64>,
    },
}

/// A piece of a table file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TablePiece {
    Entry(Entry),
    /// Unreadable bytes, which may have held entries.
    Gap {
        bytes: u64,
    },
}

/// The pieces of a table file, in the order of the keys; the newest entry of a key comes first.
#[derive(Debug)]
pub(super) struct TablePieces {
    table: TableFile,
    base_number: u64,
    at: u64,
    entries: VecDeque<Entry>,
}

impl TablePieces {
    /// The number of entries that were written; `None` where the metadata are damaged.
    pub(super) fn written_entries(&self) -> Option<u64> {
        self.table.entries
    }
}

impl Iterator for TablePieces {
    type Item = TablePiece;

    fn next(&mut self) -> Option<TablePiece> {
        let mut gap = 0;
        loop {
            if gap == 0
                && let Some(mut entry) = self.entries.pop_front()
            {
                entry.number = entry.number.saturating_add(self.base_number);
                return Some(TablePiece::Entry(entry));
            }
            let end = self.table.data_end();
            let block = if self.at < end { self.table.block_at(self.at) } else { Block::Other };
            match block {
                Block::Entries { entries, next } if gap == 0 => {
                    self.entries = entries.into();
                    self.at = next;
                }
                Block::Entries { .. } => return Some(TablePiece::Gap { bytes: gap }),
                Block::Other => {
                    self.at = end;
                    return (gap > 0).then_some(TablePiece::Gap { bytes: gap });
                }
                Block::Unreadable { next } => {
                    let next = next.filter(|next| *next <= end);
                    let next = next.or_else(|| self.table.next_header(self.at + 1)).unwrap_or(end);
                    gap += next - self.at;
                    self.at = next;
                }
            }
        }
    }
}

/// The metadata of a table.
fn metadata(file: &File, place: Range<u64>) -> Option<Vec<Entry>> {
    let bytes = read(file, place)?;
    let header = BlockHeader::decode(&bytes).filter(BlockHeader::is_meta)?;
    header.entries(bytes.get(HEADER_BYTES..HEADER_BYTES + header.stored_bytes())?)
}

fn entry_count(metadata: &[Entry]) -> Option<u64> {
    let entry = metadata.iter().find(|entry| entry.key == b"item_count")?;
    Some(u64::from_le_bytes(entry.value.as_deref()?.try_into().ok()?))
}
