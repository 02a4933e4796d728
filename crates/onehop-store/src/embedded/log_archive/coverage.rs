//! Coverage of an archive: the time up to which it is known to have every acknowledged commit.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use onehop_runtime::private_files;
use serde::{Deserialize, Serialize};

const COVERAGE_FILE: &str = "coverage.json";
const COVERAGE_FILE_UNFINISHED: &str = "coverage.json.unfinished";

/// The end of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Coverage {
    /// Every commit that was acknowledged before is in the archive, Unix ms.
    pub until_ms: i64,
    /// The number of the last commit.
    pub last_commit: u64,
}

impl Coverage {
    pub(super) fn read(archive: &Path) -> io::Result<Self> {
        match fs::read(archive.join(COVERAGE_FILE)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Replaces the file. It is not brought to the disk: an older coverage claims less.
    pub(super) fn write(self, archive: &Path) -> io::Result<()> {
        let unfinished = archive.join(COVERAGE_FILE_UNFINISHED);
        let mut file =
            private_files::file_options().write(true).create(true).truncate(true).open(&unfinished)?;
        file.write_all(&serde_json::to_vec(&self)?)?;
        fs::rename(unfinished, archive.join(COVERAGE_FILE))
    }
}
