//! Storage engine on disk: fjall behind the engine seam. A commit publishes the snapshot that readers share,
//! and an engine that can no longer write is closed and opened again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fjall::{Guard, Iter, Keyspace, OwnedWriteBatch, PersistMode, Readable, Slice, Snapshot};
use parking_lot::RwLock;

use super::database::{EngineDatabase, EngineSizes};
use super::durability::{Blocks, Durability};
use super::engine_faults::{cannot_write, closed, engine_fault, no_writes};
use super::journal_rewrite::rewrite_last_journal;
use super::key_space::{KeyChange, KeySpace};
use super::open_error::OpenError;
use super::phase_timer::PhaseTimer;
use super::tombstone_hints::META_LISTS;
use crate::{CommitPhase, Fault};

/// The wait of a reopening for reads that are under way.
const READS_WAIT_MAX: Duration = Duration::from_secs(5);
/// Between two looks whether they have ended.
const READS_WAIT: Duration = Duration::from_millis(1);

/// The engine's treatment of its journal before a commit counts as done.
fn persist_mode(durability: Durability) -> PersistMode {
    if durability.asks_for_fsync() { PersistMode::SyncData } else { PersistMode::Buffer }
}

/// The storage engine in a directory.
pub(super) struct FjallEngine {
    path: PathBuf,
    sizes: EngineSizes,
    durability: Durability,
    /// `None` after a reopening that failed.
    published: RwLock<Option<Arc<EngineVersion>>>,
    /// Whether a write or an fsync of the journal has failed, so that its last pages may not be on the disk
    /// though reads find them.
    is_journal_suspect: AtomicBool,
}

/// State shared by readers: the last commit, and the opening in which it was done.
struct EngineVersion {
    snapshot: Snapshot,
    opened: Arc<EngineDatabase>,
}

impl FjallEngine {
    /// Opens the engine; returns the lists that it kept for the tombstone hints, too.
    pub(super) fn open(
        path: &Path,
        sizes: EngineSizes,
        durability: Durability,
    ) -> Result<(Self, Option<Slice>), OpenError> {
        let fail = |source| OpenError::Engine { path: path.to_owned(), source: Box::new(source) };
        let opened = EngineDatabase::open(path, sizes).map_err(fail)?;
        let kept = opened.space(KeySpace::Meta).get(META_LISTS).map_err(fail)?;
        let published = RwLock::new(Some(Arc::new(EngineVersion::of(Arc::new(opened)))));
        let is_journal_suspect = AtomicBool::new(false);
        Ok((Self { path: path.to_owned(), sizes, durability, published, is_journal_suspect }, kept))
    }

    /// A view of the last commit that later commits do not change.
    ///
    /// It is the snapshot that was taken when that commit was done. One taken at any time would not do: when
    /// a flush or a compaction ends, the engine (fjall 3.1) moves its visible sequence number past a batch
    /// that is still being applied, and a snapshot from that moment sees a part of the batch now and the rest
    /// later.
    ///
    /// # Errors
    /// The engine could not be opened again.
    pub(super) fn view(&self) -> Result<FjallView, Fault> {
        let published = self.published.read();
        published.clone().map(FjallView).ok_or_else(closed)
    }

    pub(super) fn opened(&self) -> Result<Arc<EngineDatabase>, Fault> {
        Ok(Arc::clone(&self.view()?.0.opened))
    }

    /// Reads a value outside any view.
    pub(super) fn get(&self, space: KeySpace, key: &[u8]) -> Result<Option<Slice>, Fault> {
        self.opened()?.space(space).get(key).map_err(engine_fault)
    }

    /// Waits until a commit does not have to wait within the engine.
    ///
    /// # Errors
    /// The engine can no longer write: a fault of kind [`FaultKind::Full`].
    pub(super) fn prepare(&self) -> Result<(), Fault> {
        if self.is_journal_suspect.load(Ordering::SeqCst) {
            return Err(cannot_write(&fjall::Error::Poisoned));
        }
        self.opened()?.wait_for_flushes().map_err(|error| cannot_write(&error))
    }

    pub(super) fn distrust_journal(&self) {
        self.is_journal_suspect.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_journal_suspect(&self) -> bool {
        self.is_journal_suspect.load(Ordering::SeqCst)
    }

    /// The fault of a write or an fsync that failed.
    fn write_fault(&self, error: fjall::Error) -> Fault {
        match error {
            fjall::Error::Poisoned => cannot_write(&error),
            error => {
                self.distrust_journal();
                engine_fault(error)
            }
        }
    }

    /// Writes all changes or none, as durable as configured, and publishes a view with them.
    pub(super) fn apply(&self, changes: Vec<KeyChange>, timer: &mut PhaseTimer) -> Result<(), Fault> {
        let opened = self.opened()?;
        let batch = OwnedWriteBatch::with_capacity(opened.database.clone(), changes.len());
        let mut batch = batch.durability(Some(persist_mode(self.durability)));
        for (space, key, value) in changes {
            match value {
                Some(value) => batch.insert(opened.space(space), key, value),
                None => batch.remove(opened.space(space), key),
            }
        }
        batch.commit().map_err(|error| self.write_fault(error))?;
        timer.end(CommitPhase::Journal);
        let published = Arc::new(EngineVersion::of(opened));
        *self.published.write() = Some(published);
        Ok(())
    }

    /// Has full memory written out after a commit.
    pub(super) fn write_out(&self) {
        let Ok(opened) = self.opened() else { return };
        opened.rotate_full_memtables();
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.opened().map_or(0, |opened| opened.database.write_buffer_size())
    }

    pub(super) fn can_write(&self) -> bool {
        !self.is_journal_suspect.load(Ordering::SeqCst)
            && self.opened().is_ok_and(|opened| opened.check().is_ok())
    }

    /// Closes the engine and opens it again, with another journal file where the last one may not be on the
    /// disk. `before_views` runs when no reader has a view, and before the next one is given out.
    ///
    /// # Errors
    /// The engine cannot be opened, and reads fail from now on; or reads did not end, or there is no room for
    /// the other journal file: then reads go on, and the engine still cannot write.
    pub(super) fn reopen(&self, before_views: impl FnOnce()) -> Result<(), Fault> {
        let mut published = self.published.write();
        if let Some(last) = published.take() {
            let opened = Arc::clone(&last.opened);
            drop(last);
            if let Err(opened) = close(opened) {
                *published = Some(Arc::new(EngineVersion::of(opened)));
                return Err(no_writes("reads that were under way did not end"));
            }
        }
        let rewritten = match self.is_journal_suspect.load(Ordering::SeqCst) {
            true => rewrite_last_journal(&self.path),
            false => Ok(()),
        };
        let opened = EngineDatabase::open(&self.path, self.sizes);
        let opened = opened.map_err(|error| no_writes(format!("it cannot be opened again: {error}")))?;
        before_views();
        *published = Some(Arc::new(EngineVersion::of(Arc::new(opened))));
        rewritten.map_err(|error| no_writes(format!("its journal cannot be copied: {error}")))?;
        self.is_journal_suspect.store(false, Ordering::SeqCst);
        Ok(())
    }

    pub(super) fn persist(&self) -> Result<(), Fault> {
        self.opened()?.persist().map_err(|error| match error {
            fjall::Error::Poisoned => engine_fault(error),
            error => self.write_fault(error),
        })
    }

    pub(super) fn blocks(&self) -> Blocks {
        let Ok(opened) = self.opened() else { return Blocks::default() };
        opened.spaces().iter().map(Keyspace::metrics).fold(Blocks::default(), |sum, metrics| Blocks {
            read: sum.read + metrics.block_load_io_count() as u64,
            cached: sum.cached + metrics.block_load_cached_count() as u64,
        })
    }

    pub(super) fn disk_bytes(&self) -> Result<u64, Fault> {
        self.opened()?.database.disk_space().map_err(engine_fault)
    }
}

impl EngineVersion {
    fn of(opened: Arc<EngineDatabase>) -> Self {
        Self { snapshot: opened.database.snapshot(), opened }
    }
}

/// Waits for the readers of an opening, and closes it. Gives it back when they do not end.
fn close(mut opened: Arc<EngineDatabase>) -> Result<(), Arc<EngineDatabase>> {
    let start = Instant::now();
    loop {
        opened = match Arc::try_unwrap(opened) {
            Ok(opened) => {
                drop(opened);
                return Ok(());
            }
            Err(shared) if start.elapsed() >= READS_WAIT_MAX => return Err(shared),
            Err(shared) => shared,
        };
        #[expect(clippy::disallowed_methods, reason = "the end of a read sends no signal")]
        std::thread::sleep(READS_WAIT);
    }
}

/// A consistent view of the engine.
pub(super) struct FjallView(Arc<EngineVersion>);

impl FjallView {
    pub(super) fn can_write(&self) -> bool {
        self.0.opened.check().is_ok()
    }

    pub(super) fn get(&self, space: KeySpace, key: &[u8]) -> Result<Option<Slice>, Fault> {
        let read = self.0.snapshot.get(self.0.opened.space(space), key).map_err(engine_fault);
        read.map_err(|fault| fault.in_files(|| self.0.opened.tables_with(space, key)))
    }

    pub(super) fn range(&self, space: KeySpace, from: &[u8], to: &[u8]) -> Iter {
        self.0.snapshot.range(self.0.opened.space(space), from..to)
    }
}

/// Loads the key and the value of an entry.
pub(super) fn pair(entry: Guard) -> Result<(Slice, Slice), Fault> {
    entry.into_inner().map_err(engine_fault)
}

/// Loads the value of an entry.
pub(super) fn value(entry: Guard) -> Result<Slice, Fault> {
    entry.value().map_err(engine_fault)
}

/// Loads the key of an entry.
pub(super) fn key(entry: Guard) -> Result<Slice, Fault> {
    entry.key().map_err(engine_fault)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use tokio::time::Instant as TokioInstant;

    use crate::FaultKind;

    #[test]
    fn a_journal_whose_fsync_failed_is_copied_before_writes_go_on() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let sizes = EngineSizes { cache_bytes: 1 << 20, memtable_bytes: 1 << 20 };
        let (engine, _) =
            FjallEngine::open(directory.path(), sizes, Durability::Sync).expect("the engine opens");
        let put = |key: &[u8]| vec![(KeySpace::Ids, key.to_vec(), Some(b"value".to_vec()))];
        let has = |key: &[u8]| engine.get(KeySpace::Ids, key).expect("a read").is_some();
        let mut timer = PhaseTimer::since(TokioInstant::now());
        engine.apply(put(b"before"), &mut timer).expect("a commit");
        let journal = directory.path().join("0.jnl");
        let file = || journal.metadata().expect("a journal").ino();
        let first = file();
        engine.reopen(|| {}).expect("the engine opens again");
        assert_eq!(file(), first, "nothing has failed");

        let failed = engine.write_fault(fjall::Error::Io(std::io::Error::from_raw_os_error(5)));
        assert_eq!(failed.kind, FaultKind::Unavailable);
        assert!(!engine.can_write() && engine.prepare().is_err());
        // No room for the copy: something is in its way.
        let in_the_way = journal.with_extension("unfinished");
        fs::create_dir(&in_the_way).expect("a directory");
        assert_eq!(engine.reopen(|| {}).expect_err("it cannot be copied").kind, FaultKind::Full);
        assert!(has(b"before"), "reads go on");
        assert!(!engine.can_write());

        fs::remove_dir(&in_the_way).expect("removed");
        engine.reopen(|| {}).expect("the engine opens again");
        assert_ne!(file(), first);
        assert!(engine.can_write() && has(b"before"));
        engine.apply(put(b"after"), &mut timer).expect("a commit");
        engine.reopen(|| {}).expect("the engine opens again");
        assert!(has(b"before") && has(b"after"));
    }

    #[test]
    fn a_commit_asks_for_an_fsync_unless_it_is_relaxed() {
        assert_eq!(persist_mode(Durability::default()), PersistMode::SyncData);
        assert_eq!(persist_mode(Durability::Relaxed), PersistMode::Buffer);
    }
}
