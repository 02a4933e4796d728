//! Description of a data directory by its files, without opening it: for diagnoses of a directory that is in
//! use, damaged or of another format.

use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;

use super::high_water_mark::HighWaterMark;
use super::journal_files::journals;
use super::layout::{engine_path, free_bytes};
use super::lineage;
use super::salvage::{KeySpaceFiles, list};

/// The files of a data directory.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DirectoryDescription {
    /// The content of the file `format`.
    pub format: Option<String>,
    /// The process in the lock file; it may have ended.
    pub process: Option<u32>,
    pub lineage: Option<String>,
    /// The high-water mark, as its file has it.
    pub high_water: Option<serde_json::Value>,
    pub disk_free_bytes: Option<u64>,
    pub key_spaces: Vec<KeySpaceFiles>,
    pub journals: Vec<FileLength>,
    /// Missing files and lists that cannot be read. Tables are not read.
    pub problems: Vec<String>,
    /// The other files and directories.
    pub entries: Vec<FileLength>,
}

/// A file with its length; 0 for a directory.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileLength {
    pub name: String,
    pub bytes: u64,
}

/// Describes a data directory. Changes nothing in it.
///
/// # Errors
/// The directory cannot be listed.
pub fn describe_directory(data: &Path) -> io::Result<DirectoryDescription> {
    let text = |name: &str| fs::read_to_string(data.join(name)).ok().map(|text| text.trim().to_owned());
    let engine = engine_path(data);
    let (mut key_spaces, mut problems) = (Vec::new(), Vec::new());
    if engine.is_dir() {
        let files = list(&engine)?;
        key_spaces = files.tables_by_space();
        problems = files.damage;
    }
    let length = |path: &Path| FileLength {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        bytes: path.metadata().map_or(0, |file| if file.is_dir() { 0 } else { file.len() }),
    };
    let mut entries = Vec::new();
    for entry in fs::read_dir(data)? {
        entries.push(length(&entry?.path()));
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    let high_water = HighWaterMark::read(data).ok().flatten();
    Ok(DirectoryDescription {
        format: text("format"),
        process: text("lock").and_then(|pid| pid.parse().ok()),
        lineage: lineage::read(data).ok().flatten().map(|lineage| lineage.to_string()),
        high_water: high_water.and_then(|mark| serde_json::to_value(mark).ok()),
        disk_free_bytes: free_bytes(data),
        key_spaces,
        journals: journals(&engine)?.into_values().map(|path| length(&path)).collect(),
        problems,
        entries,
    })
}
