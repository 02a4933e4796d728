//! Files of a store beside its engine's: where the high-water mark is kept, and the free space of the disk
//! that holds it. A simulation keeps them in memory.

use std::io;
use std::path::{Path, PathBuf};

use super::high_water_mark::HighWaterMark;
use super::journal_files::last_journal;
use super::layout::{self, engine_path};
#[cfg(feature = "simulation")]
use super::simulated::SimulatedFiles;

/// The place of a store's own files.
#[derive(Clone)]
pub(super) enum StoreFiles {
    /// A data directory.
    Directory(PathBuf),
    #[cfg(feature = "simulation")]
    Simulated(SimulatedFiles),
}

impl StoreFiles {
    /// The path of the data directory.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Directory(path) => path,
            #[cfg(feature = "simulation")]
            Self::Simulated(files) => files.path(),
        }
    }

    /// Bytes free for this process; `None` where the system does not say.
    pub(super) fn free_bytes(&self) -> Option<u64> {
        match self {
            Self::Directory(path) => layout::free_bytes(path),
            #[cfg(feature = "simulation")]
            Self::Simulated(files) => Some(files.free_bytes()),
        }
    }

    /// The highest number of a journal, 0 without a journal.
    pub(super) fn last_journal(&self) -> io::Result<u64> {
        match self {
            Self::Directory(path) => last_journal(&engine_path(path)),
            #[cfg(feature = "simulation")]
            Self::Simulated(..) => Ok(0),
        }
    }

    /// Replaces the high-water mark, on the disk.
    pub(super) fn write_mark(&self, mark: &HighWaterMark) -> io::Result<()> {
        match self {
            Self::Directory(path) => mark.write(path),
            #[cfg(feature = "simulation")]
            Self::Simulated(files) => files.write_mark(serde_json::to_vec(mark)?),
        }
    }

    /// A mark with the journals that a closed directory has now.
    pub(super) fn closed_mark(&self, mark: HighWaterMark) -> io::Result<HighWaterMark> {
        match self {
            Self::Directory(path) => mark.closed(path),
            #[cfg(feature = "simulation")]
            Self::Simulated(..) => Ok(mark),
        }
    }
}
