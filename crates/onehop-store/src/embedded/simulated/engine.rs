//! Simulated storage engine: the key spaces of a simulated disk in memory, with views that later commits do
//! not change. It fails as fjall does: after a failed write or fsync it writes nothing more until it is
//! opened again.

use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;

use bytes::Bytes;
use fjall::{JournalRecoveryError, Slice};
use parking_lot::RwLock;

use super::disk::SimulatedDisk;
use super::disk_access::DiskError;
use super::key_maps::{KeyMaps, MapRange, SPACES, StoredValue, place_of};
use crate::embedded::durability::{Blocks, Durability};
use crate::embedded::engine_faults::{cannot_write, closed, engine_fault, no_writes};
use crate::embedded::key_space::{KeyChange, KeySpace};
use crate::embedded::open_error::OpenError;
use crate::embedded::phase_timer::PhaseTimer;
use crate::{CommitPhase, Fault, FaultKind};

/// The names of the key spaces' files, as messages have them.
const FILES: [&str; SPACES.len()] = ["ids", "items", "index", "log", "meta"];

/// The storage engine on a simulated disk.
pub(in crate::embedded) struct SimulatedEngine {
    disk: SimulatedDisk,
    durability: Durability,
    process: u64,
    /// `None` after a reopening that failed.
    published: RwLock<Option<Arc<KeyMaps>>>,
    /// Whether a write has failed since the engine was opened.
    is_poisoned: Arc<AtomicBool>,
    loads: Arc<AtomicU64>,
    /// Whether a write or an fsync of the journal has failed.
    is_journal_suspect: AtomicBool,
}

impl SimulatedEngine {
    pub(in crate::embedded) fn open(
        path: &Path,
        disk: &SimulatedDisk,
        durability: Durability,
    ) -> Result<Self, OpenError> {
        let fail = |error| OpenError::Engine { path: path.to_owned(), source: Box::new(engine_error(error)) };
        let (process, maps) = disk.open().map_err(fail)?;
        let copied = disk.rewrite_journal(process);
        let engine = Self {
            disk: disk.clone(),
            durability,
            process,
            published: RwLock::new(Some(Arc::new(maps))),
            is_poisoned: Arc::default(),
            loads: Arc::default(),
            is_journal_suspect: AtomicBool::new(false),
        };
        if copied.is_err() {
            engine.distrust_journal();
        }
        Ok(engine)
    }

    /// A view of the last commit.
    ///
    /// # Errors
    /// The engine could not be opened again.
    pub(in crate::embedded) fn view(&self) -> Result<SimulatedView, Fault> {
        let maps = self.published.read().clone().ok_or_else(closed)?;
        let disk = self.disk.clone();
        let (is_poisoned, loads) = (Arc::clone(&self.is_poisoned), Arc::clone(&self.loads));
        Ok(SimulatedView { maps, loader: Loader { disk, process: self.process, loads }, is_poisoned })
    }

    pub(in crate::embedded) fn get(&self, space: KeySpace, key: &[u8]) -> Result<Option<Slice>, Fault> {
        self.view()?.get(space, key)
    }

    /// # Errors
    /// The engine can no longer write: a fault of kind [`FaultKind::Full`].
    pub(in crate::embedded) fn prepare(&self) -> Result<(), Fault> {
        self.view()?;
        if self.is_poisoned.load(Ordering::SeqCst) {
            return Err(cannot_write(&fjall::Error::Poisoned));
        }
        Ok(())
    }

    /// Writes all changes or none, as durable as configured, and publishes a view with them.
    pub(in crate::embedded) fn apply(
        &self,
        changes: Vec<KeyChange>,
        timer: &mut PhaseTimer,
    ) -> Result<(), Fault> {
        let mut published = self.published.write();
        let maps = published.as_mut().ok_or_else(closed)?;
        let written = self.disk.append(self.process, &changes).and_then(|()| match self.durability {
            durability if durability.asks_for_fsync() => self.disk.sync(self.process),
            _ => Ok(()),
        });
        written.map_err(|error| self.write_fault(error))?;
        timer.end(CommitPhase::Journal);
        // Copied only where a view has them.
        Arc::make_mut(maps).apply(changes);
        Ok(())
    }

    pub(in crate::embedded) fn distrust_journal(&self) {
        self.is_journal_suspect.store(true, Ordering::SeqCst);
        self.is_poisoned.store(true, Ordering::SeqCst);
    }

    pub(in crate::embedded) fn is_journal_suspect(&self) -> bool {
        self.is_journal_suspect.load(Ordering::SeqCst)
    }

    /// The fault of a write that failed. The engine writes nothing more.
    fn write_fault(&self, error: DiskError) -> Fault {
        self.is_poisoned.store(true, Ordering::SeqCst);
        match error {
            DiskError::Full => cannot_write(&engine_error(error)),
            error => {
                self.is_journal_suspect.store(true, Ordering::SeqCst);
                engine_fault(engine_error(error))
            }
        }
    }

    /// Writes a full journal out to tables.
    pub(in crate::embedded) fn write_out(&self) {
        let Some(maps) = self.published.read().clone() else { return };
        if let Err(error) = self.disk.write_out(self.process, &maps) {
            self.is_poisoned.store(true, Ordering::SeqCst);
            tracing::warn!(?error, "the simulated journal cannot be written out");
        }
    }

    pub(in crate::embedded) fn memory_bytes(&self) -> u64 {
        self.disk.journal_bytes()
    }

    pub(in crate::embedded) fn can_write(&self) -> bool {
        self.published.read().is_some() && !self.is_poisoned.load(Ordering::SeqCst)
    }

    /// Opens the engine again, with a copy of a journal that may not be on the disk. Runs `before_views`
    /// before it gives out another view.
    ///
    /// # Errors
    /// The engine cannot be opened, and reads fail from now on; or the journal cannot be copied, and reads go
    /// on.
    pub(in crate::embedded) fn reopen(&self, before_views: impl FnOnce()) -> Result<(), Fault> {
        let mut published = self.published.write();
        *published = None;
        let rewritten = match self.is_journal_suspect.load(Ordering::SeqCst) {
            true => self.disk.rewrite_journal(self.process),
            false => Ok(()),
        };
        let opened = match self.disk.open() {
            Ok((process, maps)) if process == self.process => Ok(maps),
            Ok(_) => Err(DiskError::Ended),
            Err(error) => Err(error),
        };
        let maps = opened.map_err(engine_error);
        let maps = maps.map_err(|error| no_writes(format!("it cannot be opened again: {error}")))?;
        self.disk.note("engine opened again");
        before_views();
        *published = Some(Arc::new(maps));
        let rewritten = rewritten.map_err(engine_error);
        rewritten.map_err(|error| no_writes(format!("its journal cannot be copied: {error}")))?;
        self.is_journal_suspect.store(false, Ordering::SeqCst);
        self.is_poisoned.store(false, Ordering::SeqCst);
        Ok(())
    }

    pub(in crate::embedded) fn persist(&self) -> Result<(), Fault> {
        self.view()?;
        self.disk.sync(self.process).map_err(|error| self.write_fault(error))
    }

    pub(in crate::embedded) fn blocks(&self) -> Blocks {
        Blocks { read: 0, cached: self.loads.load(Ordering::Relaxed) }
    }

    #[expect(clippy::unnecessary_wraps, reason = "the other engine may fail to say")]
    pub(in crate::embedded) fn disk_bytes(&self) -> Result<u64, Fault> {
        Ok(self.disk.used_bytes())
    }

    /// Interruption point: lets other tasks run once.
    pub(in crate::embedded) async fn interruption(&self, point: &'static str) {
        self.disk.note(point);
        let pause = self.disk.faults().reached(point);
        if pause.is_zero() {
            yield_once().await;
        } else {
            tokio::time::sleep(pause).await;
        }
    }

    /// Interruption point in the midst of a commit of these batches.
    pub(in crate::embedded) async fn interrupted_commit(&self, batches: &[Vec<KeyChange>]) {
        if self.can_write() {
            self.disk.begin_commit(self.process, batches);
        }
        self.interruption("writer: in a commit").await;
        self.disk.end_commit(self.process);
    }
}

/// Is pending once, and wakes its task at once.
pub(super) async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The error by which fjall says the same.
fn engine_error(error: DiskError) -> fjall::Error {
    match error {
        DiskError::Full => fjall::Error::Io(io::Error::from(io::ErrorKind::StorageFull)),
        DiskError::Io(error) => fjall::Error::Io(error),
        DiskError::Damaged => fjall::Error::JournalRecovery(JournalRecoveryError::ChecksumMismatch),
        DiskError::Ended => fjall::Error::Io(io::Error::other("the process has ended")),
    }
}

/// Loads values from the disk.
#[derive(Clone)]
struct Loader {
    disk: SimulatedDisk,
    process: u64,
    loads: Arc<AtomicU64>,
}

impl Loader {
    fn load(&self, space: KeySpace, key: &Bytes, value: &StoredValue) -> Result<Slice, Fault> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        let flip = self.disk.flip_at(self.process, space, key, value.checksum());
        let flip = flip.map_err(|error| engine_fault(engine_error(error)))?;
        let loaded = value.load(flip).map_err(|(got, expected)| {
            self.disk.note("damage in a value found");
            let message = format!(
                "the storage engine failed: ChecksumMismatch {{ got: {got:#x}, expected: {expected:#x} }}"
            );
            let file = PathBuf::from("engine").join(FILES[place_of(space)]);
            Fault::new(FaultKind::Corrupt, message).in_files(|| vec![file])
        })?;
        Ok(Slice::from(&loaded[..]))
    }
}

/// A consistent view of the engine.
pub(in crate::embedded) struct SimulatedView {
    maps: Arc<KeyMaps>,
    loader: Loader,
    is_poisoned: Arc<AtomicBool>,
}

impl SimulatedView {
    pub(in crate::embedded) fn can_write(&self) -> bool {
        !self.is_poisoned.load(Ordering::SeqCst)
    }

    pub(in crate::embedded) fn get(&self, space: KeySpace, key: &[u8]) -> Result<Option<Slice>, Fault> {
        let found = self.maps.space(space).get_key_value(key);
        found.map(|(key, value)| self.loader.load(space, key, value)).transpose()
    }

    pub(in crate::embedded) fn range(&self, space: KeySpace, from: &[u8], to: &[u8]) -> SimulatedRange {
        let entries = MapRange::new(self.maps.space(space), from, to);
        SimulatedRange { entries, space, loader: self.loader.clone() }
    }
}

/// The entries of a range of keys.
pub(in crate::embedded) struct SimulatedRange {
    entries: MapRange,
    space: KeySpace,
    loader: Loader,
}

impl SimulatedRange {
    fn entry(&self, (key, value): (Bytes, StoredValue)) -> SimulatedEntry {
        SimulatedEntry { space: self.space, key, value, loader: self.loader.clone() }
    }
}

impl Iterator for SimulatedRange {
    type Item = SimulatedEntry;

    fn next(&mut self) -> Option<SimulatedEntry> {
        let next = self.entries.next()?;
        Some(self.entry(next))
    }
}

impl DoubleEndedIterator for SimulatedRange {
    fn next_back(&mut self) -> Option<SimulatedEntry> {
        let next = self.entries.next_back()?;
        Some(self.entry(next))
    }
}

/// A key and its value, not yet loaded.
pub(in crate::embedded) struct SimulatedEntry {
    space: KeySpace,
    key: Bytes,
    value: StoredValue,
    loader: Loader,
}

impl SimulatedEntry {
    pub(in crate::embedded) fn pair(self) -> Result<(Slice, Slice), Fault> {
        let value = self.loader.load(self.space, &self.key, &self.value)?;
        Ok((Slice::from(&self.key[..]), value))
    }
}
