//! Simulated disk: tables, a write-ahead journal and the high-water mark, which outlive the process that
//! writes them. A simulation ends that process, cuts the power, and damages the stored data. Clones are
//! handles to the same disk.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use xxhash_rust::xxh3::Xxh3;

use super::faults::DiskFaults;
use super::journal::{JournalRecord, Pages};
use super::key_maps::{KeyMaps, place_of};

/// Bytes free on a new disk: far more than any reserve.
const FREE_BYTES: u64 = 1 << 40;

/// A disk for one store.
#[derive(Clone)]
pub struct SimulatedDisk(Arc<SharedDisk>);

struct SharedDisk {
    faults: Arc<dyn DiskFaults>,
    state: Mutex<DiskState>,
}

/// The content of the disk, and the writes that the operating system has yet to bring there.
pub(super) struct DiskState {
    pub(super) tables: KeyMaps,
    /// Commits that are not in tables, the oldest first.
    pub(super) journal: Vec<JournalRecord>,
    /// Records of a commit that is under way. They are in the journal as far as the end of the process or the
    /// power finds them there.
    pub(super) under_way: Vec<JournalRecord>,
    pub(super) mark: Option<Vec<u8>>,
    /// A mark that was written, and may replace the other one at a crash.
    pub(super) unsynced_mark: Option<Vec<u8>>,
    /// Bits of table values that the disk returns wrong, by key space, key and checksum of the value.
    pub(super) damage: BTreeMap<(usize, Bytes, u64), u64>,
    /// The process that uses the disk. An earlier process can do nothing more with its handles.
    pub(super) process: u64,
    pub(super) is_locked: bool,
    free_bytes: u64,
    pub(super) is_read_only: bool,
    occurred: BTreeMap<&'static str, u64>,
}

impl DiskState {
    /// Counts an occurrence.
    pub(super) fn note(&mut self, what: &'static str) {
        *self.occurred.entry(what).or_default() += 1;
    }

    fn end_process(&mut self) {
        self.process += 1;
        self.is_locked = false;
    }
}

/// The journal records that a crash has left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CrashOutcome {
    /// Records that are there, those included that an fsync had brought to the disk.
    pub kept: u64,
    /// Records that are gone as a whole.
    pub lost: u64,
    /// Records of which a part is there. The next opening cuts it off.
    pub torn: u64,
    /// Records that reached the disk before an earlier record that did not. The next opening does not reach
    /// them.
    pub out_of_order: u64,
}

impl SimulatedDisk {
    /// An empty disk with a plan of faults.
    #[must_use]
    pub fn new(faults: Arc<dyn DiskFaults>) -> Self {
        let state = DiskState {
            tables: KeyMaps::default(),
            journal: Vec::new(),
            under_way: Vec::new(),
            mark: None,
            unsynced_mark: None,
            damage: BTreeMap::new(),
            process: 0,
            is_locked: false,
            free_bytes: FREE_BYTES,
            is_read_only: false,
            occurred: BTreeMap::new(),
        };
        Self(Arc::new(SharedDisk { faults, state: Mutex::new(state) }))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, DiskState> {
        self.0.state.lock()
    }

    pub(super) fn faults(&self) -> &dyn DiskFaults {
        &*self.0.faults
    }

    /// Cuts the power: the process ends, and records that no fsync has brought to the disk are kept, torn or
    /// lost, each by itself. `choice` returns a number below its argument. The process can do nothing more
    /// with its handles.
    pub fn crash(&self, mut choice: impl FnMut(u64) -> u64) -> CrashOutcome {
        let mut guard = self.state();
        let state = &mut *guard;
        state.note("crash");
        let mut records = std::mem::take(&mut state.journal);
        records.append(&mut state.under_way);
        let (mut outcome, mut has_hole) = (CrashOutcome::default(), false);
        for mut record in records {
            let is_whole = match record.pages {
                Pages::Durable => true,
                Pages::Dropped => record.tear(0),
                Pages::Dirty => match choice(3) {
                    0 => record.tear(0),
                    1 => record.tear(choice(record.len().max(1))),
                    _ => true,
                },
            };
            let count = match (is_whole, has_hole) {
                (true, true) => (&mut outcome.out_of_order, "crash: record out of order"),
                (true, false) => (&mut outcome.kept, "crash: record kept"),
                (false, false) if record.len() > 0 => (&mut outcome.torn, "crash: record torn"),
                (false, _) => (&mut outcome.lost, "crash: record lost"),
            };
            *count.0 += 1;
            let what = count.1;
            if !has_hole && record.len() > 0 {
                record.pages = Pages::Durable;
                state.journal.push(record);
            }
            has_hole |= !is_whole;
            state.note(what);
        }
        let newer_mark = state.unsynced_mark.take().filter(|_| choice(2) == 1);
        if newer_mark.is_some() {
            state.mark = newer_mark;
        }
        state.end_process();
        outcome
    }

    /// Ends the process, as SIGKILL does: the operating system keeps its writes. A commit that was under way
    /// is in the journal wholly, in part or not at all. `choice` returns a number below its argument.
    pub fn kill(&self, mut choice: impl FnMut(u64) -> u64) {
        let mut guard = self.state();
        let state = &mut *guard;
        state.note("kill");
        for mut record in std::mem::take(&mut state.under_way) {
            let is_whole = match choice(3) {
                0 => record.tear(0),
                1 => record.tear(choice(record.len().max(1))),
                _ => true,
            };
            state.note(if is_whole { "kill: commit kept" } else { "kill: commit cut off" });
            state.journal.push(record);
            if !is_whole {
                break;
            }
        }
        state.end_process();
    }

    /// Flips a bit of a value in a table, for good. Returns whether there is a value. `choice` returns a
    /// number below its argument.
    pub fn damage(&self, mut choice: impl FnMut(u64) -> u64) -> bool {
        let mut state = self.state();
        let values = state.tables.values();
        if values == 0 {
            return false;
        }
        let Some((space, key, checksum)) = state.tables.value_at(choice(values)) else { return false };
        let flip = choice(u64::from(u32::MAX));
        state.damage.insert((place_of(space), key, checksum), flip);
        state.note("bit flip in a table");
        true
    }

    /// Undoes all damage, as a copy of the disk from before does.
    pub fn mend(&self) {
        let mut state = self.state();
        state.damage.clear();
        state.journal.iter_mut().for_each(|record| record.flip = None);
    }

    /// Sets the bytes that are free for the process.
    pub fn set_free_bytes(&self, bytes: u64) {
        self.state().free_bytes = bytes;
    }

    /// The bytes that are free for the process.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        self.state().free_bytes
    }

    /// Mounts the file system for reading alone, or for writing again.
    pub fn set_read_only(&self, is_read_only: bool) {
        self.state().is_read_only = is_read_only;
    }

    /// Whether a store has the disk open. A dropped store has it open until its writer has ended.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        self.state().is_locked
    }

    /// The number of occurrences of each fault, crash outcome and interruption point.
    #[must_use]
    pub fn occurrences(&self) -> BTreeMap<&'static str, u64> {
        self.state().occurred.clone()
    }

    /// A hash of the content of the disk and of the writes on their way there: equal runs have equal hashes.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let state = self.state();
        let mut hash = Xxh3::new();
        state.tables.hash_into(&mut hash);
        state.journal.iter().for_each(|record| record.hash_into(&mut hash));
        for mark in [&state.mark, &state.unsynced_mark].into_iter().flatten() {
            hash.update(mark);
        }
        hash.digest()
    }

    pub(super) fn note(&self, what: &'static str) {
        self.state().note(what);
    }
}
