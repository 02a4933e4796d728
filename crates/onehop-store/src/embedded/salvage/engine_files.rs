//! Examination of the engine's files without the engine: which tables and journals there are, and which of
//! them are damaged or missing. It reads every file, and no file changes.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::super::database::{SPACES, SPACES_DIRECTORY, VERSION_FILE};
use super::super::journal_files::journals;
use super::super::key_space::KeySpace;
use super::journal_batches::gaps_in;
use super::manifest::{TableReference, table_files, tables};
use super::table_file::{TableFile, TablePiece};

/// The content of the file with the engine's version.
const VERSION: &[u8] = b"FJL\x03";
/// The number of the engine's own key space, which names the others.
const NAMES_SPACE: u64 = 0;
/// Before the number of a key space, in the key of its name.
const NAME_KEY: u8 = b'n';

/// The tables of a key space.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeySpaceFiles {
    pub name: String,
    pub tables: u64,
    pub bytes: u64,
}

/// The files of an engine, and their damage.
#[derive(Debug)]
pub(in super::super) struct EngineFiles {
    pub(super) spaces: Vec<SpaceFiles>,
    pub(super) journals: Vec<PathBuf>,
    /// Whether a journal has a gap: any entry may have had a newer version.
    pub(super) has_journal_gaps: bool,
    /// The damage, in words, with the names of files below the data directory.
    pub(in super::super) damage: Vec<String>,
}

/// The files of a key space.
#[derive(Debug)]
pub(super) struct SpaceFiles {
    pub space: KeySpace,
    /// Its number in the journals.
    pub number: u64,
    pub tables: Vec<TableReference>,
    /// Whether a table is missing, or the list of tables is damaged: then any key may be hidden.
    pub is_incomplete: bool,
}

/// The files below an engine's directory.
///
/// # Errors
/// A directory cannot be listed.
pub(in super::super) fn examine(engine: &Path, progress: &mut dyn FnMut(u64)) -> io::Result<EngineFiles> {
    look(engine, true, progress)
}

/// The same without a look at the content of tables and journals.
///
/// # Errors
/// A directory cannot be listed.
pub(in super::super) fn list(engine: &Path) -> io::Result<EngineFiles> {
    look(engine, false, &mut |_| {})
}

fn look(engine: &Path, is_content_read: bool, progress: &mut dyn FnMut(u64)) -> io::Result<EngineFiles> {
    let spaces_path = engine.join(SPACES_DIRECTORY);
    let mut damage = Vec::new();
    if std::fs::read(engine.join(VERSION_FILE)).ok().as_deref() != Some(VERSION) {
        damage.push(format!("{} is missing or damaged", below(engine, &engine.join(VERSION_FILE))));
    }
    let mut read = 0;
    let mut examine_space = |directory: &Path, damage: &mut Vec<String>| {
        let listed = tables(directory);
        let (mut is_incomplete, listed) = match listed {
            Some(listed) => (false, listed),
            None => {
                damage.push(format!(
                    "{}: the list of its tables is missing or damaged",
                    below(engine, directory)
                ));
                (true, table_files(directory))
            }
        };
        let mut found = Vec::with_capacity(listed.len());
        for table in listed {
            if !table.path.is_file() {
                damage.push(format!("{} is missing", below(engine, &table.path)));
                is_incomplete = true;
                continue;
            }
            if is_content_read && table.checksum.is_some() && !table.is_intact() {
                damage.push(format!("{} is damaged", below(engine, &table.path)));
            }
            read += 1;
            progress(read);
            found.push(table);
        }
        (is_incomplete, found)
    };
    let (_, names) = examine_space(&spaces_path.join(NAMES_SPACE.to_string()), &mut damage);
    let numbers = numbers_by_name(&names);
    let mut spaces = Vec::with_capacity(SPACES.len());
    for (place, (space, name)) in SPACES.into_iter().enumerate() {
        // The engine numbers key spaces in the order of their making.
        let number = numbers.get(name).copied().unwrap_or(place as u64 + 1);
        let (is_incomplete, tables) = examine_space(&spaces_path.join(number.to_string()), &mut damage);
        spaces.push(SpaceFiles { space, number, tables, is_incomplete });
    }
    let journals: Vec<PathBuf> = journals(engine)?.into_values().collect();
    let mut has_journal_gaps = false;
    for journal in journals.iter().filter(|_| is_content_read) {
        let gaps = gaps_in(journal)?;
        if gaps > 0 {
            damage.push(format!("{}: {gaps} unreadable places", below(engine, journal)));
            has_journal_gaps = true;
        }
    }
    Ok(EngineFiles { spaces, journals, has_journal_gaps, damage })
}

impl EngineFiles {
    /// Whether the files are as they were written.
    pub(in super::super) fn are_intact(&self) -> bool {
        self.damage.is_empty()
    }

    /// The tables of each key space, by its name.
    pub(in super::super) fn tables_by_space(&self) -> Vec<KeySpaceFiles> {
        let described = |files: &SpaceFiles| KeySpaceFiles {
            name: files.space.in_words().to_owned(),
            tables: files.tables.len() as u64,
            bytes: files
                .tables
                .iter()
                .filter_map(|table| table.path.metadata().ok())
                .map(|file| file.len())
                .sum(),
        };
        self.spaces.iter().map(described).collect()
    }

    /// Bytes of all tables and journals.
    pub(super) fn bytes(&self) -> u64 {
        let tables = self.spaces.iter().flat_map(|space| &space.tables).map(|table| &table.path);
        let length = |path: &PathBuf| path.metadata().map_or(0, |file| file.len());
        tables.chain(&self.journals).map(length).sum()
    }
}

/// The numbers of the key spaces, as far as their names can be read.
fn numbers_by_name(tables: &[TableReference]) -> BTreeMap<String, u64> {
    let mut numbers = BTreeMap::new();
    for table in tables {
        let Ok(file) = TableFile::open(&table.path) else { continue };
        for piece in file.read(table.base_number) {
            let TablePiece::Entry(entry) = piece else { continue };
            let number = entry.key.strip_prefix(&[NAME_KEY]).and_then(|number| number.try_into().ok());
            let name = entry.value.and_then(|name| String::from_utf8(name).ok());
            if let (Some(number), Some(name)) = (number, name) {
                numbers.insert(name, u64::from_be_bytes(number));
            }
        }
    }
    numbers
}

/// The number of the key space with the settings, in the journals.
pub(in super::super) fn settings_space(engine: &Path) -> u64 {
    let names = tables(&engine.join(SPACES_DIRECTORY).join(NAMES_SPACE.to_string())).unwrap_or_default();
    let place = SPACES.iter().position(|(space, _)| *space == KeySpace::Meta).unwrap_or_default();
    let known = SPACES.get(place).and_then(|(_, name)| numbers_by_name(&names).get(*name).copied());
    known.unwrap_or(place as u64 + 1)
}

impl EngineFiles {
    /// The key space with a number in the journals.
    pub(in super::super) fn space_numbered(&self, number: u64) -> Option<KeySpace> {
        self.spaces.iter().find(|files| files.number == number).map(|files| files.space)
    }
}

/// A file as operators know it, below the data directory.
fn below(engine: &Path, path: &Path) -> String {
    let data = engine.parent().unwrap_or(engine);
    path.strip_prefix(data).unwrap_or(path).display().to_string()
}
