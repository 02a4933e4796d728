//! Access of an engine to a simulated disk: each operation asks the plan of faults first, and fails as the
//! operating system would.

use std::io;

use super::disk::SimulatedDisk;
use super::faults::{DiskFault, DiskPoint};
use super::journal::{Decoded, JournalRecord, Pages};
use super::key_maps::{KeyMaps, place_of};
use crate::embedded::key_space::{KeyChange, KeySpace};

/// Records of the journal before it is written out to tables.
const JOURNAL_RECORDS_MAX: usize = 32;

/// Error numbers of the operating system.
const EIO: i32 = 5;
const EROFS: i32 = 30;

/// Why the disk did not do its work.
#[derive(Debug)]
pub(super) enum DiskError {
    /// The disk is full, and nothing was written.
    Full,
    Io(io::Error),
    /// A record in the journal has other bytes than were written.
    Damaged,
    /// The process has ended: a crash or a kill.
    Ended,
}

impl DiskError {
    fn os(number: i32) -> Self {
        Self::Io(io::Error::from_raw_os_error(number))
    }
}

impl SimulatedDisk {
    /// Reads the content of the disk: the process that reads it, and its key spaces.
    pub(super) fn open(&self) -> Result<(u64, KeyMaps), DiskError> {
        let fault = self.faults().next(DiskPoint::Open);
        let mut guard = self.state();
        let state = &mut *guard;
        state.is_read_only |= fault == DiskFault::ReadOnly;
        if state.is_read_only {
            state.note("read-only disk at an opening");
            return Err(DiskError::os(EROFS));
        }
        if matches!(fault, DiskFault::Io(_) | DiskFault::IoThatDropsPages(_)) {
            state.note("EIO at an opening");
            return Err(DiskError::os(EIO));
        }
        let mut maps = state.tables.clone();
        for (place, record) in state.journal.iter().enumerate() {
            match record.decode() {
                Decoded::Changes(changes) => maps.apply(changes),
                Decoded::Damaged => {
                    state.note("damage in the journal found");
                    return Err(DiskError::Damaged);
                }
                Decoded::Torn => {
                    state.journal.truncate(place);
                    state.note("torn end of the journal cut off");
                    break;
                }
            }
        }
        Ok((state.process, maps))
    }

    /// Notes the records of a commit that is about to be written.
    pub(super) fn begin_commit(&self, process: u64, batches: &[Vec<KeyChange>]) {
        let mut state = self.state();
        if state.process == process {
            state.under_way = batches.iter().map(|changes| JournalRecord::new(changes)).collect();
        }
    }

    /// Forgets the records of a commit that is written now, or will not be.
    pub(super) fn end_commit(&self, process: u64) {
        let mut state = self.state();
        if state.process == process {
            state.under_way.clear();
        }
    }

    /// Appends a record to the journal. No fsync is done.
    pub(super) fn append(&self, process: u64, changes: &[KeyChange]) -> Result<(), DiskError> {
        let fault = self.faults().next(DiskPoint::Write);
        let mut guard = self.state();
        let state = &mut *guard;
        if state.process != process {
            return Err(DiskError::Ended);
        }
        state.is_read_only |= fault == DiskFault::ReadOnly;
        if state.is_read_only {
            state.note("read-only disk at a write");
            return Err(DiskError::os(EROFS));
        }
        let mut record = JournalRecord::new(changes);
        match fault {
            DiskFault::Full => {
                state.note("full disk at a write");
                return Err(DiskError::Full);
            }
            DiskFault::Io(written) | DiskFault::IoThatDropsPages(written) => {
                state.note("EIO at a write");
                record.tear(written % (record.len() + 1));
                state.journal.push(record);
                return Err(DiskError::os(EIO));
            }
            DiskFault::BitFlip(flip) => {
                state.note("bit flip in the journal");
                record.flip = Some(flip);
            }
            DiskFault::None | DiskFault::ReadOnly => {}
        }
        state.journal.push(record);
        Ok(())
    }

    /// Brings the journal to the disk.
    pub(super) fn sync(&self, process: u64) -> Result<(), DiskError> {
        let fault = self.faults().next(DiskPoint::Fsync);
        let mut guard = self.state();
        let state = &mut *guard;
        if state.process != process {
            return Err(DiskError::Ended);
        }
        let dirty = state.journal.iter_mut().filter(|record| record.pages == Pages::Dirty);
        match fault {
            DiskFault::Io(_) => {
                state.note("EIO at an fsync");
                Err(DiskError::os(EIO))
            }
            DiskFault::IoThatDropsPages(_) => {
                dirty.for_each(|record| record.pages = Pages::Dropped);
                state.note("EIO at an fsync that drops pages");
                Err(DiskError::os(EIO))
            }
            DiskFault::None | DiskFault::Full | DiskFault::ReadOnly | DiskFault::BitFlip(_) => {
                dirty.for_each(|record| record.pages = Pages::Durable);
                Ok(())
            }
        }
    }

    /// Replaces the journal with a copy of its readable content, on the disk.
    pub(super) fn rewrite_journal(&self, process: u64) -> Result<(), DiskError> {
        let fault = self.faults().next(DiskPoint::JournalCopy);
        let mut state = self.state();
        if state.process != process {
            return Err(DiskError::Ended);
        }
        match fault {
            DiskFault::Full => {
                state.note("full disk at copying the journal");
                return Err(DiskError::Full);
            }
            DiskFault::Io(_) | DiskFault::IoThatDropsPages(_) => {
                state.note("EIO at copying the journal");
                return Err(DiskError::os(EIO));
            }
            _ if state.is_read_only => return Err(DiskError::os(EROFS)),
            DiskFault::None | DiskFault::ReadOnly | DiskFault::BitFlip(_) => {}
        }
        state.note("journal copied");
        state.journal.iter_mut().for_each(|record| record.pages = Pages::Durable);
        Ok(())
    }

    /// Writes a full journal out to tables, with an fsync of its own. Nothing is lost where that fails.
    pub(super) fn write_out(&self, process: u64, maps: &KeyMaps) -> Result<(), DiskError> {
        if self.state().journal.len() < JOURNAL_RECORDS_MAX {
            return Ok(());
        }
        let fault = self.faults().next(DiskPoint::WriteOut);
        let mut state = self.state();
        if state.process != process {
            return Err(DiskError::Ended);
        }
        match fault {
            DiskFault::Full => {
                state.note("full disk at writing out");
                return Err(DiskError::Full);
            }
            DiskFault::Io(_) | DiskFault::IoThatDropsPages(_) => {
                state.note("EIO at writing out");
                return Err(DiskError::os(EIO));
            }
            _ if state.is_read_only => return Err(DiskError::os(EROFS)),
            DiskFault::None | DiskFault::ReadOnly | DiskFault::BitFlip(_) => {}
        }
        state.note("journal written out");
        state.tables = maps.clone();
        state.journal.clear();
        Ok(())
    }

    /// The bit of a value that the disk returns wrong; `None` for the correct value.
    pub(super) fn flip_at(
        &self,
        process: u64,
        space: KeySpace,
        key: &bytes::Bytes,
        checksum: u64,
    ) -> Result<Option<u64>, DiskError> {
        let fault = self.faults().next(DiskPoint::Read);
        let mut state = self.state();
        if state.process != process {
            return Err(DiskError::Ended);
        }
        match fault {
            DiskFault::Io(_) | DiskFault::IoThatDropsPages(_) => {
                state.note("EIO at a read");
                Err(DiskError::os(EIO))
            }
            DiskFault::BitFlip(flip) => {
                state.note("bit flip at a read");
                Ok(Some(flip))
            }
            _ if state.damage.is_empty() => Ok(None),
            _ => Ok(state.damage.get(&(place_of(space), key.clone(), checksum)).copied()),
        }
    }

    /// Bytes of the journal that are not in tables.
    pub(super) fn journal_bytes(&self) -> u64 {
        self.state().journal.iter().map(JournalRecord::len).sum()
    }

    /// Bytes of tables and the journal.
    pub(super) fn used_bytes(&self) -> u64 {
        self.journal_bytes() + self.state().tables.bytes()
    }
}
