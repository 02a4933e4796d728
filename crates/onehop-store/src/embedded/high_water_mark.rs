//! High-water mark file: the numbers of the last commit and write that are known to be on the disk, and the
//! journals of that time.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::journal_files::{data_end, journals};
use super::layout::{engine_path, sync_directory};
use super::stored_container::StoredContainer;
use onehop_runtime::private_files;

/// The file with the mark.
pub(super) const MARK_FILE: &str = "high-water.json";
const MARK_FILE_UNFINISHED: &str = "high-water.json.unfinished";

/// The number of commits and of writes: the numbers of the last ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommitNumbers {
    pub last_commit: u64,
    pub last_write: u64,
}

/// The content of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HighWaterMark {
    #[serde(flatten)]
    pub numbers: CommitNumbers,
    /// The highest number of a journal at that time. Numbers of journals only grow.
    pub journal: u64,
    pub physical_partitions: u16,
    pub containers: Vec<StoredContainer>,
    /// Every journal of a directory that was closed. Absent while it is open: then the engine makes and
    /// deletes journals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Vec<JournalEnd>>,
}

/// A journal and where the data in it ends. The engine sets zeros aside behind that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JournalEnd {
    pub(super) journal: u64,
    pub(super) data_bytes: u64,
}

impl HighWaterMark {
    /// The mark of a directory; `None` without a mark, as in a directory of an earlier version.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub(super) fn read(path: &Path) -> io::Result<Option<Self>> {
        match fs::read(path.join(MARK_FILE)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the file under another name first: a crash leaves the mark before or this one.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let unfinished = path.join(MARK_FILE_UNFINISHED);
        let mut file =
            private_files::file_options().write(true).create(true).truncate(true).open(&unfinished)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        fs::rename(&unfinished, path.join(MARK_FILE))?;
        sync_directory(path)
    }

    /// The mark with the journals that a closed directory has now.
    pub(super) fn closed(self, path: &Path) -> io::Result<Self> {
        let end = |(journal, file): (u64, PathBuf)| -> io::Result<JournalEnd> {
            Ok(JournalEnd { journal, data_bytes: data_end(&file)? })
        };
        let ends = journals(&engine_path(path))?.into_iter().map(end).collect::<io::Result<Vec<_>>>()?;
        Ok(Self { journal: ends.last().map_or(0, |end| end.journal), closed: Some(ends), ..self })
    }
}
