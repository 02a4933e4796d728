//! The manifest of a backup: the statement of a finished backup about itself, in a file of its directory.

use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::layout::new_file;

/// There in a finished backup, until it is opened as a data directory.
pub(super) const BACKUP_FILE: &str = "backup.json";

/// The statement of a finished backup about itself, in its file [`BACKUP_FILE`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupManifest {
    pub items: u64,
    /// The number of the last write that is in it.
    pub last_write: u64,
    /// When it was begun, RFC 3339: writes acknowledged by then are in it.
    pub begun_at: String,
    /// Bytes of copied files, and of files linked from an earlier backup.
    #[serde(default)]
    pub bytes_copied: u64,
    #[serde(default)]
    pub bytes_linked: u64,
    /// The lineage of the directory, by which a log archive is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineage: Option<String>,
}

impl BackupManifest {
    /// Writes the manifest into a directory, onto the disk.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = new_file(&path.join(BACKUP_FILE))?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.sync_all()
    }
}
