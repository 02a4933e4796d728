//! Files of a store on a simulated disk, beside its engine's: the high-water mark.

use std::io;
use std::path::{Path, PathBuf};

use super::disk::SimulatedDisk;
use super::faults::{DiskFault, DiskPoint};

/// Error numbers of the operating system.
const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;

/// The place of a store's own files, as one process sees it.
#[derive(Clone)]
pub(in crate::embedded) struct SimulatedFiles {
    /// What messages name.
    pub(super) path: PathBuf,
    pub(super) disk: SimulatedDisk,
    pub(super) process: u64,
}

impl SimulatedFiles {
    pub(in crate::embedded) fn path(&self) -> &Path {
        &self.path
    }

    pub(in crate::embedded) fn free_bytes(&self) -> u64 {
        self.disk.free_bytes()
    }

    /// Replaces the high-water mark, on the disk. After an error, a crash leaves the mark before or this one.
    pub(in crate::embedded) fn write_mark(&self, mark: Vec<u8>) -> io::Result<()> {
        let fault = self.disk.faults().next(DiskPoint::Mark);
        let mut state = self.disk.state();
        let (what, number) = match fault {
            _ if state.process != self.process => return Err(io::Error::other("the process has ended")),
            _ if state.is_read_only => ("read-only disk at the mark", EROFS),
            DiskFault::Full => ("full disk at the mark", ENOSPC),
            DiskFault::Io(_) | DiskFault::IoThatDropsPages(_) => {
                state.unsynced_mark = Some(mark);
                ("EIO at the mark", EIO)
            }
            DiskFault::None | DiskFault::ReadOnly | DiskFault::BitFlip(_) => {
                state.mark = Some(mark);
                state.unsynced_mark = None;
                return Ok(());
            }
        };
        state.note(what);
        Err(io::Error::from_raw_os_error(number))
    }
}

impl SimulatedDisk {
    /// The high-water mark as it was last written.
    pub(super) fn mark(&self) -> Option<Vec<u8>> {
        let state = self.state();
        state.unsynced_mark.clone().or_else(|| state.mark.clone())
    }
}
