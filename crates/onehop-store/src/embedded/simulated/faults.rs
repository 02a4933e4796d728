//! Fault injection: the faults of the simulated disk, and their points.

use std::time::Duration;

/// Where the engine touches the disk, and a fault may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DiskPoint {
    /// The engine is opened, or opened again.
    Open,
    /// A value is loaded.
    Read,
    /// A commit is written to the journal.
    Write,
    /// The journal is brought to the disk.
    Fsync,
    /// The journal is copied after a write or an fsync of it has failed.
    JournalCopy,
    /// The journal is written out to tables.
    WriteOut,
    /// The high-water mark is replaced.
    Mark,
}

/// The fate of an operation at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFault {
    /// The disk works without a fault.
    None,
    /// An I/O error (EIO). Of a write to the journal the number decides how many bytes were written before
    /// it: all of them are possible, and the outcome of the commit is then unknown. After a failed fsync the
    /// journal's new records reach the disk with a later fsync, or are lost by a crash before it.
    Io(u64),
    /// An I/O error at an fsync, after which the operating system takes the pages for written: reads still
    /// find the records, no later fsync writes them, and a crash loses them (Rebello et al., "Can
    /// Applications Recover from fsync Failures?", USENIX ATC 2020). At other points the same as
    /// [`Io`](Self::Io).
    IoThatDropsPages(u64),
    /// The disk is full (ENOSPC): nothing is written.
    Full,
    /// The file system has become read-only (EROFS): nothing is written, and the engine is not opened again.
    ReadOnly,
    /// One bit of the data read or written is flipped; the number chooses it. A write succeeds, and the next
    /// opening finds it.
    BitFlip(u64),
}

/// The plan of the faults of a disk. A simulation draws them from its seed.
pub trait DiskFaults: Send + Sync {
    /// The fault at this point, now.
    fn next(&self, point: DiskPoint) -> DiskFault;

    /// The writer has reached an interruption point, where a simulation may end the process. Returns the time
    /// that the writer waits there.
    fn reached(&self, _point: &'static str) -> Duration {
        Duration::ZERO
    }
}

/// A disk without faults.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFaults;

impl DiskFaults for NoFaults {
    fn next(&self, _point: DiskPoint) -> DiskFault {
        DiskFault::None
    }
}
