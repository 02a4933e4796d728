//! Salvaged entries of a key space: the newest readable entry of each key, merged from tables and journals in
//! the order of the keys.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::io;

use super::super::key_space::KeySpace;
use super::engine_files::{EngineFiles, SpaceFiles};
use super::hidden_keys::HiddenKeys;
use super::journal_batches::JournalBatches;
use super::table_block::Entry;
use super::table_file::{TableFile, TablePiece, TablePieces};

/// Entries of all journals: by the number of the key space and by key, the newest of each.
pub(super) type JournalEntries = HashMap<u64, BTreeMap<Vec<u8>, Entry>>;

/// The kept parts of the entries of a key space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeptParts {
    Nothing,
    /// Whether the key has a value: the value is empty.
    Keys,
    Values,
}

/// Reads all journals of an engine.
///
/// # Errors
/// One cannot be read.
pub(super) fn journal_entries(
    files: &EngineFiles,
    kept: impl Fn(KeySpace) -> KeptParts,
) -> io::Result<JournalEntries> {
    let mut newest = JournalEntries::new();
    for journal in &files.journals {
        let mut batches = JournalBatches::open(journal)?;
        while let Some((batch, _)) = batches.next_batch()? {
            for (number, mut entry) in batch.entries {
                let kept = files.space_numbered(number).map_or(KeptParts::Nothing, &kept);
                match kept {
                    KeptParts::Nothing => continue,
                    KeptParts::Keys => entry.value = entry.value.map(|_| Vec::new()),
                    KeptParts::Values => {}
                }
                let space = newest.entry(number).or_default();
                if space.get(&entry.key).is_none_or(|known| known.number <= entry.number) {
                    space.insert(entry.key.clone(), entry);
                }
            }
        }
    }
    Ok(newest)
}

/// The unreadable places of a key space.
#[derive(Debug, Default)]
pub(super) struct SpaceGaps {
    pub hidden: HiddenKeys,
    /// Unreadable places in table files, and their bytes.
    pub gaps: u64,
    pub bytes: u64,
    /// Entries that were written to damaged tables and were not read, old versions and deletions among them.
    /// `None` where it is unknown.
    pub entries: Option<u64>,
}

impl SpaceGaps {
    /// The unreadable places in words; `None` without any.
    pub(super) fn describe(&self, name: &str) -> Option<String> {
        if self.gaps == 0 {
            return None;
        }
        let Self { gaps, bytes, .. } = self;
        let entries = match self.entries {
            Some(entries) => format!("{entries} entries, old versions and deletions among them"),
            None => "an unknown number of entries".to_owned(),
        };
        Some(format!("{name}: {gaps} unreadable places of {bytes} bytes with {entries}"))
    }
}

/// The newest readable entry of each key.
pub(super) struct SalvagedEntries {
    sources: Vec<EntrySource>,
    heads: BinaryHeap<Head>,
    last_key: Option<Vec<u8>>,
}

/// The next entry of a source: the smallest key first, and of a key the newest.
struct Head {
    entry: Entry,
    source: usize,
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_key = other.entry.key.cmp(&self.entry.key);
        by_key.then(self.entry.number.cmp(&other.entry.number)).then(other.source.cmp(&self.source))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

impl SalvagedEntries {
    /// The entries of a key space's tables and of the journals.
    ///
    /// # Errors
    /// A table cannot be opened.
    pub(super) fn open(files: &SpaceFiles, journal: BTreeMap<Vec<u8>, Entry>) -> io::Result<Self> {
        let mut sources = Vec::with_capacity(files.tables.len() + 1);
        for table in &files.tables {
            let pieces = TableFile::open(&table.path)?.read(table.base_number);
            sources.push(EntrySource::Table(TableSource::new(pieces)));
        }
        sources.push(EntrySource::Journal(journal.into_values()));
        let mut merged = Self { sources, heads: BinaryHeap::new(), last_key: None };
        for source in 0..merged.sources.len() {
            merged.push_head(source);
        }
        Ok(merged)
    }

    fn push_head(&mut self, source: usize) {
        let entry = self.sources[source].next();
        self.heads.extend(entry.map(|entry| Head { entry, source }));
    }

    /// The unreadable places, once all entries were taken.
    pub(super) fn gaps(self, is_incomplete: bool) -> SpaceGaps {
        let mut found = SpaceGaps { entries: Some(0), ..SpaceGaps::default() };
        if is_incomplete {
            found.hidden = HiddenKeys::all();
            found.entries = None;
        }
        for source in self.sources {
            if let EntrySource::Table(table) = source {
                table.add_to(&mut found);
            }
        }
        found.hidden.settle();
        found
    }
}

impl Iterator for SalvagedEntries {
    type Item = (Vec<u8>, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Head { entry, source } = self.heads.pop()?;
            self.push_head(source);
            if self.last_key.as_ref() == Some(&entry.key) {
                continue;
            }
            self.last_key = Some(entry.key.clone());
            if let Some(value) = entry.value {
                return Some((entry.key, value));
            }
        }
    }
}

/// A source of entries in the order of the keys.
enum EntrySource {
    Table(TableSource),
    Journal(std::collections::btree_map::IntoValues<Vec<u8>, Entry>),
}

impl Iterator for EntrySource {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        match self {
            Self::Table(table) => table.next(),
            Self::Journal(entries) => entries.next(),
        }
    }
}

/// The entries of a table, with the ranges of keys that its gaps hide.
struct TableSource {
    pieces: TablePieces,
    last_key: Option<Vec<u8>>,
    /// Whether a gap lies behind the last key.
    is_behind_gap: bool,
    hidden: HiddenKeys,
    entries: u64,
    gaps: u64,
    bytes: u64,
}

impl TableSource {
    fn new(pieces: TablePieces) -> Self {
        Self {
            pieces,
            last_key: None,
            is_behind_gap: false,
            hidden: HiddenKeys::default(),
            entries: 0,
            gaps: 0,
            bytes: 0,
        }
    }

    /// Adds the unreadable places, once all entries were taken.
    fn add_to(self, found: &mut SpaceGaps) {
        if self.gaps == 0 {
            return;
        }
        found.gaps += self.gaps;
        found.bytes += self.bytes;
        let lost = self.pieces.written_entries().map(|written| written.saturating_sub(self.entries));
        found.entries = found.entries.zip(lost).map(|(sum, lost)| sum + lost);
        found.hidden.append(self.hidden);
    }
}

impl Iterator for TableSource {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            match self.pieces.next() {
                Some(TablePiece::Entry(entry)) => {
                    let last_key = self.last_key.replace(entry.key.clone());
                    if std::mem::take(&mut self.is_behind_gap) {
                        self.hidden.add(last_key, Some(entry.key.clone()));
                    }
                    self.entries += 1;
                    return Some(entry);
                }
                Some(TablePiece::Gap { bytes }) => {
                    self.gaps += 1;
                    self.bytes += bytes;
                    self.is_behind_gap = true;
                }
                None => {
                    if std::mem::take(&mut self.is_behind_gap) {
                        self.hidden.add(self.last_key.clone(), None);
                    }
                    return None;
                }
            }
        }
    }
}
