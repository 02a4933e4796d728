//! Manifest of a key space: which of its table files belong to it, with their checksums.
//!
//! The file `current` names the manifest `vN` and its checksum. The section `tables` of the manifest has for
//! each level the number of runs 1, for each run the number of tables 4, and for each table its number 8, the
//! kind of its checksum 1, the checksum of the whole file 16, and the base of the numbers in it 8.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::archive::{Sections, read};

pub(in super::super) const CURRENT_FILE: &str = "current";
pub(in super::super) const TABLES_DIRECTORY: &str = "tables";
const BLOCK_BYTES: usize = 1 << 20;

/// A table of a key space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct TableReference {
    pub path: PathBuf,
    /// Of the whole file; `None` where the manifest is damaged.
    pub checksum: Option<u128>,
    /// Added to the numbers of the entries.
    pub base_number: u64,
}

impl TableReference {
    /// Whether the file has the bytes that were written.
    pub(super) fn is_intact(&self) -> bool {
        let Some(checksum) = self.checksum else { return false };
        file_checksum(&self.path).is_some_and(|found| found == checksum)
    }
}

/// The manifest of a key space with its files.
#[derive(Debug)]
pub(in super::super) struct Manifest {
    /// The content of `current`.
    pub current: Vec<u8>,
    /// The name of the manifest and its content.
    pub name: String,
    pub content: Vec<u8>,
    pub tables: Vec<TableReference>,
}

impl Manifest {
    /// Reads the manifest of a key space; `None` where it is damaged or missing.
    pub(in super::super) fn read(directory: &Path) -> Option<Self> {
        let current = fs::read(directory.join(CURRENT_FILE)).ok()?;
        let number = u64::from_le_bytes(*current.first_chunk()?);
        let checksum = u128::from_le_bytes(current.get(8..24)?.try_into().ok()?);
        let name = format!("v{number}");
        let path = directory.join(&name);
        let content = fs::read(&path).ok()?;
        if xxh3_128(&content) != checksum {
            return None;
        }
        let file = File::open(path).ok()?;
        let section = read(&file, Sections::read(&file)?.place("tables")?)?;
        let tables = parse(&section, &directory.join(TABLES_DIRECTORY))?;
        Some(Self { current, name, content, tables })
    }
}

/// The tables of a key space by its manifest; `None` where the manifest is damaged or missing.
pub(super) fn tables(directory: &Path) -> Option<Vec<TableReference>> {
    Manifest::read(directory).map(|manifest| manifest.tables)
}

fn parse(section: &[u8], directory: &Path) -> Option<Vec<TableReference>> {
    let mut tables = Vec::new();
    let (levels, mut rest) = section.split_first()?;
    for _ in 0..*levels {
        let (runs, after) = rest.split_first()?;
        rest = after;
        for _ in 0..*runs {
            let (count, after) = rest.split_first_chunk()?;
            rest = after;
            for _ in 0..u32::from_le_bytes(*count) {
                let (number, after) = rest.split_first_chunk()?;
                let (_, after) = after.split_first()?;
                let (checksum, after) = after.split_first_chunk()?;
                let (base_number, after) = after.split_first_chunk()?;
                rest = after;
                tables.push(TableReference {
                    path: directory.join(u64::from_le_bytes(*number).to_string()),
                    checksum: Some(u128::from_le_bytes(*checksum)),
                    base_number: u64::from_le_bytes(*base_number),
                });
            }
        }
    }
    Some(tables)
}

/// All table files of a key space whose manifest is damaged. The base of their numbers is unknown. It is the
/// same for all tables that were filled in the order of keys, and they are older than all others.
pub(super) fn table_files(directory: &Path) -> Vec<TableReference> {
    let entries = fs::read_dir(directory.join(TABLES_DIRECTORY)).into_iter().flatten().flatten();
    let is_table = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.parse::<u64>().is_ok())
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_table).collect();
    paths.sort();
    let reference = |path| TableReference { path, checksum: None, base_number: 0 };
    paths.into_iter().map(reference).collect()
}

/// The checksum of a whole file.
pub(in super::super) fn file_checksum(path: &Path) -> Option<u128> {
    use std::io::Read;
    let mut file = File::open(path).ok()?;
    let (mut hasher, mut block) = (Xxh3::new(), vec![0; BLOCK_BYTES]);
    loop {
        match file.read(&mut block).ok()? {
            0 => return Some(hasher.digest128()),
            bytes => hasher.update(&block[..bytes]),
        }
    }
}
