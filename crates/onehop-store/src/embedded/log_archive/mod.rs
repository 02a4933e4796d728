//! Log archive: the batches of the engine's journals, kept for a named time in a directory beside the data,
//! so that a backup can be rolled forward to any moment after it (point-in-time recovery by archived
//! write-ahead logs).
//!
//! The engine deletes a journal when its batches are in tables. The archiver copies acknowledged batches
//! before that, whole and in order, into segments: at the opening, before the engine may delete anything, and
//! then at each call of [`EmbeddedStore::archive_log`](super::EmbeddedStore::archive_log). Each lineage has a
//! directory of its own.

mod archiver;
mod batch_numbers;
mod coverage;
mod roll_forward;
mod segments;

use std::path::PathBuf;
use std::time::Duration;

pub(super) use archiver::LogArchiver;
pub(super) use roll_forward::{RollForward, Target};

/// The time that an archive keeps unless the configuration says otherwise.
pub const ARCHIVE_KEPT_DEFAULT: Duration = Duration::from_secs(24 * 3600);

/// Bytes of a file of an archive. A whole file is deleted when all of its commits are older than the kept
/// time.
const SEGMENT_BYTES_DEFAULT: u64 = 16 * 1024 * 1024;

/// Where a store keeps its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogArchiveConfig {
    /// The directory, best on another disk.
    pub directory: PathBuf,
    /// The retention time of the log.
    pub kept: Duration,
    /// Bytes of a file of the archive, after which the next commit begins another.
    pub segment_bytes: u64,
}

impl LogArchiveConfig {
    /// The defaults for a directory.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), kept: ARCHIVE_KEPT_DEFAULT, segment_bytes: SEGMENT_BYTES_DEFAULT }
    }
}
