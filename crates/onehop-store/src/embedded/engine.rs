//! Storage engine layer, so that another engine can take its place: five ordered key spaces, a snapshot to read from, and an
//! atomic commit over all of them. An engine that can no longer write is opened again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fjall::{Guard, Keyspace, PersistMode, Readable, Slice, Snapshot};
use parking_lot::RwLock;

use super::database::{EngineDatabase, EngineSizes};
use super::key_space::{KeyChange, KeySpace};
use super::open_error::OpenError;
use super::tombstone_hints::{META_LISTS, TombstoneHints};
use crate::{Fault, FaultKind};

/// How long a reopening waits for reads that are under way.
const READS_WAIT_MAX: Duration = Duration::from_secs(5);
/// Between two looks whether they have ended.
const READS_WAIT: Duration = Duration::from_millis(1);
/// When to try again what an engine refuses that cannot write.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(5);

/// How far an acknowledged write has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// On the disk: it survives the loss of power. Concurrent commits share one fsync.
    #[default]
    Sync,
    /// With the operating system: it survives the end of the process, but not the loss of power.
    Relaxed,
}

impl Durability {
    /// What the engine is asked to do with its journal before a commit counts as done.
    fn persist_mode(self) -> PersistMode {
        match self {
            Self::Sync => PersistMode::SyncData,
            Self::Relaxed => PersistMode::Buffer,
        }
    }
}

/// Blocks of the engine's files that reads have needed since the engine was opened: data, index and filter blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Read from a file, out of the operating system's cache or from the disk.
    pub read: u64,
    /// Found in the block cache.
    pub cached: u64,
}

/// The storage engine.
pub(super) struct Engine {
    path: PathBuf,
    sizes: EngineSizes,
    durability: Durability,
    /// `None` after a reopening that failed.
    published: RwLock<Option<Arc<EngineVersion>>>,
    ends: TombstoneHints,
}

/// What readers share: the last commit, and the opening that it was done in.
struct EngineVersion {
    snapshot: Snapshot,
    opened: Arc<EngineDatabase>,
}

impl Engine {
    pub(super) fn open(path: &Path, sizes: EngineSizes, durability: Durability) -> Result<Self, OpenError> {
        let fail = |source| OpenError::Engine { path: path.to_owned(), source: Box::new(source) };
        let opened = EngineDatabase::open(path, sizes).map_err(fail)?;
        let kept = opened.space(KeySpace::Meta).get(META_LISTS).map_err(fail)?;
        let ends = kept.map(|kept| TombstoneHints::restored(&kept)).unwrap_or_default();
        let published = RwLock::new(Some(Arc::new(EngineVersion::of(Arc::new(opened)))));
        Ok(Self { path: path.to_owned(), sizes, durability, published, ends })
    }

    /// A view of the last commit that later commits do not change.
    ///
    /// It is the snapshot that was taken when that commit was done. One taken at any time would not do: when a flush or a
    /// compaction ends, the engine (fjall 3.1) moves its visible sequence number past a batch that is still being
    /// applied, and a snapshot from that moment sees a part of the batch now and the rest later.
    ///
    /// # Errors
    /// The engine could not be opened again.
    pub(super) fn view(&self) -> Result<View, Fault> {
        let published = self.published.read();
        published.clone().map(View).ok_or_else(closed)
    }

    fn opened(&self) -> Result<Arc<EngineDatabase>, Fault> {
        Ok(Arc::clone(&self.view()?.0.opened))
    }

    /// Reads a value outside any view: for the writer, which alone changes the engine.
    pub(super) fn get(&self, space: KeySpace, key: &[u8]) -> Result<Option<Slice>, Fault> {
        self.opened()?.space(space).get(key).map_err(engine_fault)
    }

    /// Writes all changes or none, as durable as configured. No key may appear twice. Only one thread may commit: the
    /// view that is published afterwards must not see a part of another commit.
    ///
    /// # Errors
    /// [`FaultKind::Full`]: nothing was written. Otherwise the journal may hold the commit or not: the next
    /// opening will show.
    pub(super) fn commit(&self, changes: Vec<KeyChange>) -> Result<(), Fault> {
        let opened = self.opened()?;
        opened.wait_for_flushes().map_err(|error| cannot_write(&error))?;
        let lists =
            self.ends.expect(&changes).map(|lists| (KeySpace::Meta, META_LISTS.to_vec(), Some(lists)));
        let mut batch = opened.database.batch().durability(Some(self.durability.persist_mode()));
        for (space, key, value) in changes.into_iter().chain(lists) {
            match value {
                Some(value) => batch.insert(opened.space(space), key, value),
                None => batch.remove(opened.space(space), key),
            }
        }
        let committed = batch.commit().map_err(|error| match error {
            fjall::Error::Poisoned => cannot_write(&error),
            error => engine_fault(error),
        });
        if committed.is_ok() {
            let published = Arc::new(EngineVersion::of(Arc::clone(&opened)));
            *self.published.write() = Some(published);
        }
        self.ends.settle();
        committed?;
        if let Err(error) = opened.seal_full_memory() {
            // The commit is done. What keeps memory from being written out is met by the next one.
            tracing::warn!(%error, "full memory cannot be written out");
        }
        Ok(())
    }

    /// Bytes of writes in memory that are in the journal and not yet written out.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.opened().map_or(0, |opened| opened.database.write_buffer_size())
    }

    /// Whether the engine can write. One that has failed to, on a full disk for example, writes nothing more until it is
    /// opened again.
    pub(super) fn can_write(&self) -> bool {
        self.opened().is_ok_and(|opened| opened.check().is_ok())
    }

    /// Closes the engine and opens it again. Whatever was acknowledged is in the journal or in a table. Reads wait
    /// meanwhile; a commit must not be under way.
    ///
    /// # Errors
    /// The engine cannot be opened, and reads fail from now on; or reads did not end, and everything is as it was.
    pub(super) fn reopen(&self) -> Result<(), Fault> {
        let mut published = self.published.write();
        if let Some(last) = published.take() {
            let opened = Arc::clone(&last.opened);
            drop(last);
            if let Err(opened) = close(opened) {
                *published = Some(Arc::new(EngineVersion::of(opened)));
                return Err(no_writes("reads that were under way did not end"));
            }
        }
        let opened = EngineDatabase::open(&self.path, self.sizes);
        let opened = opened.map_err(|error| no_writes(format!("it cannot be opened again: {error}")))?;
        // The journal may hold a commit that had failed: a list may end elsewhere than any view showed.
        self.ends.forget();
        *published = Some(Arc::new(EngineVersion::of(Arc::new(opened))));
        Ok(())
    }

    /// The tombstone hints.
    pub(super) fn ends(&self) -> &TombstoneHints {
        &self.ends
    }

    /// Brings everything that was acknowledged to the disk.
    pub(super) fn persist(&self) -> Result<(), Fault> {
        self.opened()?.persist().map_err(engine_fault)
    }

    /// Blocks that reads have needed since the engine was opened.
    pub(super) fn blocks(&self) -> Blocks {
        let Ok(opened) = self.opened() else { return Blocks::default() };
        opened.spaces().iter().map(Keyspace::metrics).fold(Blocks::default(), |sum, metrics| Blocks {
            read: sum.read + metrics.block_load_io_count() as u64,
            cached: sum.cached + metrics.block_load_cached_count() as u64,
        })
    }

    /// Bytes on the disk.
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
pub(super) struct View(Arc<EngineVersion>);

impl View {
    /// Whether the engine can write. One that cannot waits for its views before it is opened again, so a reader that keeps one for
    /// long gives it up.
    pub(super) fn can_write(&self) -> bool {
        self.0.opened.check().is_ok()
    }

    pub(super) fn get(&self, space: KeySpace, key: &[u8]) -> Result<Option<Slice>, Fault> {
        let read = self.0.snapshot.get(self.0.opened.space(space), key).map_err(engine_fault);
        read.map_err(|fault| fault.in_files(|| self.0.opened.tables_with(space, key)))
    }

    /// Keys and values from `from` (inclusive) up to `to` (exclusive), in either direction.
    pub(super) fn range(
        &self,
        space: KeySpace,
        from: &[u8],
        to: &[u8],
    ) -> impl DoubleEndedIterator<Item = KeyValue> + use<> {
        self.0.snapshot.range(self.0.opened.space(space), from..to).map(KeyValue)
    }
}

/// A key and its value, not yet loaded.
pub(super) struct KeyValue(Guard);

impl KeyValue {
    pub(super) fn pair(self) -> Result<(Slice, Slice), Fault> {
        self.0.into_inner().map_err(engine_fault)
    }

    pub(super) fn value(self) -> Result<Slice, Fault> {
        self.0.value().map_err(engine_fault)
    }

    pub(super) fn key(self) -> Result<Slice, Fault> {
        self.0.key().map_err(engine_fault)
    }
}

/// A reopening has failed; the next write tries again.
fn closed() -> Fault {
    Fault::new(FaultKind::Unavailable, "the storage engine is closed").with_retry_after(RETRY_AFTER)
}

/// The engine refused a commit before anything of it was written.
fn cannot_write(error: &fjall::Error) -> Fault {
    no_writes(format!("it cannot write any more: {error}"))
}

fn no_writes(why: impl std::fmt::Display) -> Fault {
    Fault::new(FaultKind::Full, format!("the storage engine takes no writes: {why}"))
        .with_retry_after(RETRY_AFTER)
}

fn engine_fault(error: fjall::Error) -> Fault {
    let message = format!("the storage engine failed: {error}");
    match error {
        error if is_damage(&error) => Fault::new(FaultKind::Corrupt, message),
        // The disk or the process lacks something; no request is at fault.
        fjall::Error::Storage(_) | fjall::Error::Io(_) | fjall::Error::Poisoned => {
            Fault::new(FaultKind::Unavailable, message).with_retry_after(RETRY_AFTER)
        }
        _ => Fault::new(FaultKind::Internal, message),
    }
}

/// Whether what was read is not what was once written.
fn is_damage(error: &fjall::Error) -> bool {
    match error {
        fjall::Error::Storage(error) => !matches!(error, fjall::LsmError::Io(_)),
        fjall::Error::Decompress(_)
        | fjall::Error::InvalidTag(_)
        | fjall::Error::InvalidTrailer
        | fjall::Error::Unrecoverable => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;
    use crate::embedded::header::encode_value;
    use crate::embedded::keys::{live_prefix, with_keyset};
    use crate::embedded::reader::partition_page;

    #[test]
    fn a_list_is_read_to_its_end_after_a_commit_of_unknown_outcome() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let sizes = EngineSizes { cache_bytes: 1 << 20, memtable_bytes: 1 << 20 };
        let engine = Engine::open(directory.path(), sizes, Durability::Sync).expect("the engine opens");
        let prefix = live_prefix(1, "partition", "post");
        let key = |order_value: &str| with_keyset(prefix.clone(), order_value, "id");
        let put = |order_value: &str| (KeySpace::Items, key(order_value), Some(encode_value(1, 0, 0, b"{}")));
        let page = || {
            let read = partition_page(&engine, &prefix, Direction::NewestFirst, None, 10, 0);
            read.expect("a page").items.len()
        };
        engine.commit(vec![put("1"), put("5")]).expect("a commit");
        engine.commit(vec![(KeySpace::Items, key("1"), None)]).expect("a commit");
        // A commit that fails after it was written to the journal: what readers see lacks it.
        assert_eq!(engine.ends().expect(&[put("4")]), None);
        engine.ends().settle();
        assert_eq!(page(), 1);
        let opened = engine.opened().expect("the engine is open");
        opened.space(KeySpace::Items).insert(key("4"), encode_value(2, 0, 0, b"{}")).expect("a write");
        drop(opened);
        engine.reopen().expect("the engine opens again");
        assert_eq!(page(), 2);
    }

    #[test]
    fn a_commit_asks_for_an_fsync_unless_it_is_relaxed() {
        assert_eq!(Durability::default().persist_mode(), PersistMode::SyncData);
        assert_eq!(Durability::Relaxed.persist_mode(), PersistMode::Buffer);
    }
}
