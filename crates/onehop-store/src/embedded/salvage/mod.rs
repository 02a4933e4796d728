//! Salvage of a data directory with damaged files: reads every readable block of its tables and journals
//! without the engine, fills a new engine with the newest entry of each key, and puts that in the place of
//! the damaged one, which is kept.
//!
//! A block that cannot be read may have held the newest version of a key, or its deletion. An earlier version
//! in another table is no proof that an item is there. The entries of `ids` and the change log are: each
//! names the last write of an item. So the recovery of the entries compares them, and reports each item whose
//! newest version is lost.

mod archive;
mod engine_copy;
mod engine_files;
mod hidden_keys;
mod journal_batches;
mod lost_items;
mod lz4;
mod manifest;
#[cfg(test)]
mod random_tests;
mod salvaged_entries;
mod table_block;
mod table_file;
#[cfg(test)]
mod tests;
mod witnesses;

use std::path::{Path, PathBuf};

use super::database::{EngineDatabase, EngineSizes};
use super::key_space::KeySpace;
use super::layout::free_bytes;
use super::open_error::OpenError;

pub(super) use engine_copy::{SalvageStep, complete};
pub use engine_files::KeySpaceFiles;
pub(super) use engine_files::{EngineFiles, examine, list, settings_space};
pub(super) use journal_batches::{JournalBatch, JournalBatches, take_batch};
pub use lost_items::{ItemFate, LostItem, read_lost_items, write_lost_items};
pub(super) use manifest::{CURRENT_FILE, Manifest, TABLES_DIRECTORY, file_checksum};
pub(super) use table_block::Entry;
pub(super) use witnesses::{Currency, Witnesses};

use salvaged_entries::{KeptParts, SalvagedEntries, journal_entries};

/// Entries between two reports of progress.
const PROGRESS_ENTRIES: u64 = 1_000;

/// A new engine with the readable entries of a damaged one.
pub(super) struct SalvagedEngine {
    pub path: PathBuf,
    pub witnesses: Witnesses,
    /// Whether the numbers of the last commits and writes may be older ones.
    pub are_numbers_hidden: bool,
    /// The unreadable places of each key space, in words.
    pub gaps: Vec<String>,
}

/// Fills a new engine beside the damaged one.
///
/// # Errors
/// There is no room for it, or it cannot be written.
pub(super) fn fill_copy(
    data: &Path,
    sizes: EngineSizes,
    files: &EngineFiles,
    step: &mut dyn FnMut(SalvageStep),
    progress: &mut dyn FnMut(u64),
) -> Result<SalvagedEngine, OpenError> {
    let io = |source| OpenError::Io { path: data.to_owned(), source };
    let path = engine_copy::begin(data).map_err(io)?;
    check_room(data, files.bytes())?;
    let filled = fill(data, &path, sizes, files, step, progress);
    if filled.is_err() {
        // The rest takes room.
        let _ = engine_copy::begin(data);
    }
    filled
}

fn fill(
    data: &Path,
    path: &Path,
    sizes: EngineSizes,
    files: &EngineFiles,
    step: &mut dyn FnMut(SalvageStep),
    progress: &mut dyn FnMut(u64),
) -> Result<SalvagedEngine, OpenError> {
    let io = |source| OpenError::Io { path: data.to_owned(), source };
    let engine_error = |source| OpenError::Engine { path: path.to_owned(), source: Box::new(source) };
    let copy = EngineDatabase::open(path, sizes).map_err(engine_error)?;
    let mut journal = journal_entries(files, |_| KeptParts::Values).map_err(io)?;
    let (mut witnesses, mut gaps) = (Witnesses::default(), Vec::new());
    let (mut copied, mut are_numbers_hidden) = (0, false);
    for space in &files.spaces {
        let mut entries =
            SalvagedEntries::open(space, journal.remove(&space.number).unwrap_or_default()).map_err(io)?;
        let mut ingestion = None;
        for (key, value) in entries.by_ref() {
            if ingestion.is_none() {
                ingestion = Some(copy.space(space.space).start_ingestion().map_err(engine_error)?);
            }
            if let Some(ingestion) = &mut ingestion {
                ingestion.write(key, value).map_err(engine_error)?;
            }
            copied += 1;
            if copied % PROGRESS_ENTRIES == 0 {
                progress(copied);
            }
        }
        if let Some(ingestion) = ingestion {
            ingestion.finish().map_err(engine_error)?;
        }
        let found = entries.gaps(space.is_incomplete || files.has_journal_gaps);
        gaps.extend(found.describe(space.space.in_words()));
        are_numbers_hidden |= space.space == KeySpace::Meta && !found.hidden.is_empty();
        witnesses.add(space.space, found.hidden);
        step(SalvageStep::Copied);
    }
    copy.persist().map_err(engine_error)?;
    drop(copy);
    Ok(SalvagedEngine { path: path.to_owned(), witnesses, are_numbers_hidden, gaps })
}

/// The number of items in the files of an engine, and the values of its settings with these names. The files
/// are read without the engine.
///
/// # Errors
/// A file cannot be read.
pub(super) fn items_and_settings(
    files: &EngineFiles,
    names: &[&[u8]],
) -> std::io::Result<(u64, Vec<Option<Vec<u8>>>)> {
    let mut journal = journal_entries(files, |space| match space {
        KeySpace::Ids => KeptParts::Keys,
        KeySpace::Meta => KeptParts::Values,
        _ => KeptParts::Nothing,
    })?;
    let (mut items, mut settings) = (0, vec![None; names.len()]);
    for space in &files.spaces {
        let entries = journal.remove(&space.number).unwrap_or_default();
        match space.space {
            KeySpace::Ids => items = SalvagedEntries::open(space, entries)?.count() as u64,
            KeySpace::Meta => {
                for (key, value) in SalvagedEntries::open(space, entries)? {
                    if let Some(place) = names.iter().position(|name| **name == key) {
                        settings[place] = Some(value);
                    }
                }
            }
            _ => {}
        }
    }
    Ok((items, settings))
}

/// Puts the filled engine in the place of the damaged one, and returns the new name of that.
///
/// # Errors
/// A name cannot be changed.
pub(super) fn exchange(data: &Path, step: &mut dyn FnMut(SalvageStep)) -> Result<PathBuf, OpenError> {
    engine_copy::exchange(data, step).map_err(|source| OpenError::Io { path: data.to_owned(), source })
}

fn check_room(data: &Path, needed: u64) -> Result<(), OpenError> {
    match free_bytes(data) {
        Some(free) if free < needed => Err(OpenError::NoRoomForCopy { path: data.to_owned(), needed, free }),
        _ => Ok(()),
    }
}
