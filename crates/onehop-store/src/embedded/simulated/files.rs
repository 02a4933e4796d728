//! Files of a store on a simulated disk, beside its engine's: the lock of a process, and the high-water mark.

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
    /// The path in messages.
    path: PathBuf,
    disk: SimulatedDisk,
    process: u64,
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
            DiskFault::ReadOnly => {
                state.is_read_only = true;
                ("read-only disk at the mark", EROFS)
            }
            DiskFault::None | DiskFault::BitFlip(_) => {
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
    /// Locks the disk for a process; `None` while another one has it.
    pub(in crate::embedded) fn lock(&self) -> Option<DiskLock> {
        let mut state = self.state();
        if std::mem::replace(&mut state.is_locked, true) {
            return None;
        }
        Some(DiskLock { disk: self.clone(), process: state.process })
    }

    /// The high-water mark as it was last written.
    pub(super) fn mark(&self) -> Option<Vec<u8>> {
        let state = self.state();
        state.unsynced_mark.clone().or_else(|| state.mark.clone())
    }
}

/// The lock of a process on a simulated disk.
pub(in crate::embedded) struct DiskLock {
    disk: SimulatedDisk,
    process: u64,
}

impl DiskLock {
    /// The place of the store's own files on the disk.
    pub(in crate::embedded) fn files(&self, path: &Path) -> SimulatedFiles {
        SimulatedFiles { path: path.to_owned(), disk: self.disk.clone(), process: self.process }
    }
}

impl Drop for DiskLock {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        if state.process == self.process {
            state.is_locked = false;
        }
    }
}
