//! The thin layer over the storage engine, so that another engine can take its place: five ordered key spaces, a
//! snapshot to read from, and an atomic commit over all of them.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use fjall::config::{CompressionPolicy, FilterPolicy};
use fjall::{
    AbstractTree, CompressionType, Database, Guard, Keyspace, KeyspaceCreateOptions, PersistMode, Readable,
    Slice, Snapshot,
};

use super::OpenError;
use super::ends::{ListEnds, META_LISTS};
use crate::store::{Fault, FaultKind};

/// An ordered key space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Space {
    Ids,
    Items,
    Index,
    Log,
    Meta,
}

const SPACES: [(Space, &str); 5] = [
    (Space::Ids, "ids"),
    (Space::Items, "items"),
    (Space::Index, "index"),
    (Space::Log, "log"),
    (Space::Meta, "meta"),
];

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

/// The most that journals may take before they are flushed: a short journal keeps reopening short.
const JOURNAL_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// How many times its limit a memory may grow before the engine itself has it written out.
const MEMTABLE_OVERRUN: u64 = 8;

/// Blocks of the engine's files that reads have needed since the store was opened: data, index and filter blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Read from a file, out of the operating system's cache or from the disk.
    pub read: u64,
    /// Found in the block cache.
    pub cached: u64,
}

/// The storage engine.
pub(super) struct Engine {
    database: Database,
    spaces: [Keyspace; 5],
    durability: Durability,
    memtable_bytes: u64,
    published: RwLock<Arc<Snapshot>>,
    ends: ListEnds,
}

/// One key's new value, or its removal.
pub(super) type Change = (Space, Vec<u8>, Option<Vec<u8>>);

impl Engine {
    pub(super) fn open(
        path: &Path,
        cache_bytes: u64,
        memtable_bytes: u64,
        durability: Durability,
    ) -> Result<Self, OpenError> {
        let fail = |source| OpenError::Engine { path: path.to_owned(), source: Box::new(source) };
        let database = Database::builder(path)
            .cache_size(cache_bytes)
            .max_journaling_size(JOURNAL_BYTES_MAX)
            .worker_threads(2)
            .open()
            .map_err(fail)?;
        let open = |place: usize| {
            let (space, name) = SPACES[place];
            database.keyspace(name, || options(space, memtable_bytes)).map_err(fail)
        };
        let spaces = [open(0)?, open(1)?, open(2)?, open(3)?, open(4)?];
        let published = RwLock::new(Arc::new(database.snapshot()));
        let mut engine =
            Self { database, spaces, durability, memtable_bytes, published, ends: ListEnds::default() };
        if let Some(kept) = engine.space(Space::Meta).get(META_LISTS).map_err(fail)? {
            engine.ends = ListEnds::restored(&kept);
        }
        Ok(engine)
    }

    fn space(&self, space: Space) -> &Keyspace {
        match space {
            Space::Ids => &self.spaces[0],
            Space::Items => &self.spaces[1],
            Space::Index => &self.spaces[2],
            Space::Log => &self.spaces[3],
            Space::Meta => &self.spaces[4],
        }
    }

    /// A view of the last commit that later commits do not change.
    ///
    /// It is the snapshot that was taken when that commit was done. One taken at any time would not do: when a flush or a
    /// compaction ends, the engine (fjall 3.1) moves its visible sequence number past a batch that is still being
    /// applied, and a snapshot from that moment sees a part of the batch now and the rest later.
    pub(super) fn view(&self) -> View<'_> {
        let published = self.published.read().unwrap_or_else(PoisonError::into_inner);
        View { engine: self, snapshot: Arc::clone(&published) }
    }

    /// Reads a value outside any view: for the writer, which alone changes the engine.
    pub(super) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Slice>, Fault> {
        self.space(space).get(key).map_err(engine_fault)
    }

    /// Writes all changes or none, as durable as configured. No key may appear twice. Only one thread may commit: the
    /// view that is published afterwards must not see a part of another commit.
    pub(super) fn commit(&self, changes: Vec<Change>) -> Result<(), Fault> {
        let lists = self.ends.expect(&changes).map(|lists| (Space::Meta, META_LISTS.to_vec(), Some(lists)));
        let mut batch = self.database.batch().durability(Some(self.durability.persist_mode()));
        for (space, key, value) in changes.into_iter().chain(lists) {
            match value {
                Some(value) => batch.insert(self.space(space), key, value),
                None => batch.remove(self.space(space), key),
            }
        }
        let committed = batch.commit().map_err(engine_fault);
        if committed.is_ok() {
            let snapshot = Arc::new(self.database.snapshot());
            *self.published.write().unwrap_or_else(PoisonError::into_inner) = snapshot;
        }
        self.ends.settle();
        committed?;
        self.seal_full_memory()
    }

    /// Has the memory of key spaces that is full written out.
    ///
    /// Left to itself, the engine (fjall 3.1) asks its workers to, once with each commit, through a bounded queue that
    /// the workers send to as well. Where commits are faster than the workers the queue fills up, the workers wait for
    /// room in it, which only they could make, and nothing is ever written out again: see
    /// <https://github.com/fjall-rs/fjall/pull/323>. Asked by the one thread that commits, once for each full memory,
    /// the queue stays short.
    fn seal_full_memory(&self) -> Result<(), Fault> {
        for space in &self.spaces {
            if space.tree.active_memtable().size() >= self.memtable_bytes {
                space.rotate_memtable().map_err(engine_fault)?;
            }
        }
        Ok(())
    }

    /// Bytes of writes in memory that are in the journal and not yet written out.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.database.write_buffer_size()
    }

    /// Where lists end, as far as it is known.
    pub(super) fn ends(&self) -> &ListEnds {
        &self.ends
    }

    /// Brings everything that was acknowledged to the disk.
    pub(super) fn persist(&self) -> Result<(), Fault> {
        self.database.persist(PersistMode::SyncAll).map_err(engine_fault)
    }

    /// Blocks that reads have needed so far.
    pub(super) fn blocks(&self) -> Blocks {
        self.spaces.iter().map(Keyspace::metrics).fold(Blocks::default(), |sum, metrics| Blocks {
            read: sum.read + metrics.block_load_io_count() as u64,
            cached: sum.cached + metrics.block_load_cached_count() as u64,
        })
    }

    /// Bytes on the disk.
    pub(super) fn disk_bytes(&self) -> Result<u64, Fault> {
        self.database.disk_space().map_err(engine_fault)
    }
}

/// How a key space is made; it keeps its options from then on.
fn options(space: Space, memtable_bytes: u64) -> KeyspaceCreateOptions {
    let options = KeyspaceCreateOptions::default()
        // What `seal_full_memory` keeps it from ever reaching.
        .max_memtable_size(memtable_bytes.saturating_mul(MEMTABLE_OVERRUN))
        .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4));
    match space {
        // Only ever read in ranges, where a filter says nothing.
        Space::Index | Space::Log => options.filter_policy(FilterPolicy::disabled()),
        // Only ever read under keys that another space names, so a filter of the last level would always say yes.
        Space::Items => options.expect_point_read_hits(true),
        Space::Ids | Space::Meta => options,
    }
}

/// A consistent view of the engine.
pub(super) struct View<'a> {
    engine: &'a Engine,
    snapshot: Arc<Snapshot>,
}

impl View<'_> {
    pub(super) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Slice>, Fault> {
        self.snapshot.get(self.engine.space(space), key).map_err(engine_fault)
    }

    /// Keys and values from `from` (inclusive) up to `to` (exclusive), in either direction.
    pub(super) fn range(
        &self,
        space: Space,
        from: &[u8],
        to: &[u8],
    ) -> impl DoubleEndedIterator<Item = Entry> + use<> {
        self.snapshot.range(self.engine.space(space), from..to).map(Entry)
    }
}

/// A key and its value, not yet loaded.
pub(super) struct Entry(Guard);

impl Entry {
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

/// The end (exclusive) of the range of keys that start with a prefix.
pub(super) fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    vec![u8::MAX; prefix.len() + 1]
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function for map_err")]
fn engine_fault(error: fjall::Error) -> Fault {
    let kind = if is_damage(&error) { FaultKind::Corrupt } else { FaultKind::Internal };
    Fault::new(kind, format!("the storage engine failed: {error}"))
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
    use super::{Durability, PersistMode, prefix_end};

    #[test]
    fn a_commit_asks_for_an_fsync_unless_it_is_relaxed() {
        assert_eq!(Durability::default().persist_mode(), PersistMode::SyncData);
        assert_eq!(Durability::Relaxed.persist_mode(), PersistMode::Buffer);
    }

    #[test]
    fn the_end_of_a_prefix_is_the_next_key_that_does_not_start_with_it() {
        assert_eq!(prefix_end(&[1, 2]), vec![1, 3]);
        assert_eq!(prefix_end(&[1, 255]), vec![2]);
    }
}
