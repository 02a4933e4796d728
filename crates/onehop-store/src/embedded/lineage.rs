//! Lineage of a data directory: a random name of its history. A directory that was restored or recovered has
//! another history than the one before, though the numbers of commits go on.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use onehop_runtime::private_files;
use uuid::Uuid;

use super::layout::sync_directory;

pub(super) const LINEAGE_FILE: &str = "lineage";
const LINEAGE_FILE_UNFINISHED: &str = "lineage.unfinished";

/// The lineage of a directory; `None` before it has one.
pub(super) fn read(data: &Path) -> io::Result<Option<Uuid>> {
    match fs::read_to_string(data.join(LINEAGE_FILE)) {
        Ok(text) => Ok(Some(Uuid::try_parse(text.trim()).map_err(io::Error::other)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The lineage of a directory; a new one gets it now.
pub(super) fn read_or_begin(data: &Path) -> io::Result<Uuid> {
    if let Some(known) = read(data)? {
        return Ok(known);
    }
    let lineage = Uuid::now_v7();
    let unfinished = data.join(LINEAGE_FILE_UNFINISHED);
    let mut file = private_files::file_options().write(true).create(true).truncate(true).open(&unfinished)?;
    writeln!(file, "{lineage}")?;
    file.sync_all()?;
    fs::rename(unfinished, data.join(LINEAGE_FILE))?;
    sync_directory(data)?;
    Ok(lineage)
}

/// Ends the lineage of a directory: the next opening begins another.
pub(super) fn end(data: &Path) -> io::Result<()> {
    match fs::remove_file(data.join(LINEAGE_FILE)) {
        Ok(()) => sync_directory(data),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
