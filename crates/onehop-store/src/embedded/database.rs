//! Engine database: the storage engine (fjall) with its key spaces, from opening to closing. It knows how the
//! engine fails, and no views.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fjall::config::{CompressionPolicy, FilterPolicy, PartitioningPolicy};
use fjall::{AbstractTree as _, CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::engine_chores::EngineChores;
use super::key_space::KeySpace;
use onehop_runtime::private_files;

/// The most that journals may take before they are flushed: a short journal keeps reopening short.
const JOURNAL_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// The engine's threads for writing out memtables and for compactions. The first only writes out memtables:
/// where all others compact, it takes orders for compactions and gives them back without end, which takes a
/// whole core. With two threads that was half of their CPU time under a steady load of writes.
const WORKER_THREADS: usize = 4;
/// The multiple of its limit up to which a memtable may grow before the engine itself has it written out:
/// never, because the memtables of all key spaces together are bounded.
const MEMTABLE_OVERRUN: u64 = 16;
/// The bytes of all memtables that take writes, as a multiple of the configured bytes: one for each of the
/// four key spaces that grow.
const ACTIVE_MEMTABLES: u64 = 4;
/// The multiple of their budget that memtables may reach before the next commit waits for their rotation.
const ACTIVE_OVERRUN: u64 = 2;
/// Memtables of a key space that wait to be written out before the next commit waits. The engine itself waits
/// at 4, inside of a commit, and without end if writing them out has failed, so it must not come to that.
const WAITING_MEMTABLES_MAX: usize = 2;
/// Runs in the lowest level of a key space before the next commit waits. The engine itself waits at 30,
/// likewise.
const LOWEST_RUNS_MAX: usize = 25;
/// Between two looks at waiting writes.
const FLUSH_WAIT: Duration = Duration::from_millis(10);

/// The file with which the engine ends the making of its directory, and the least it holds then, in bytes.
pub(super) const VERSION_FILE: &str = "version";
const VERSION_BYTES_MIN: u64 = 4;
/// The directory in which the engine makes one for each key space, its own first of all.
pub(super) const SPACES_DIRECTORY: &str = "keyspaces";
/// The first journal.
const FIRST_JOURNAL: &str = "0.jnl";

/// Whether indexes and filters are in blocks of their own, from the lowest level on; the last value is for
/// all further levels.
const PARTITIONED_LEVELS: [bool; 2] = [false, true];

pub(super) const SPACES: [(KeySpace, &str); 5] = [
    (KeySpace::Ids, "ids"),
    (KeySpace::Items, "items"),
    (KeySpace::Index, "index"),
    (KeySpace::Log, "log"),
    (KeySpace::Meta, "meta"),
];

/// The options for opening an engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct EngineSizes {
    /// Bytes of the block cache.
    pub cache_bytes: u64,
    /// A quarter of the bytes that all key spaces together collect in memory before the largest memtable is
    /// written out.
    pub memtable_bytes: u64,
}

/// An open engine.
pub(super) struct EngineDatabase {
    /// Dropped first: it holds key spaces, and files that an opening would take for leftovers.
    chores: EngineChores,
    pub database: Database,
    spaces: [Keyspace; 5],
    memtable_bytes: u64,
}

impl EngineDatabase {
    pub(super) fn open(path: &Path, sizes: EngineSizes) -> Result<Self, fjall::Error> {
        clear_unfinished(path)?;
        private_files::make_directory(path)?;
        let database = Database::builder(path)
            .cache_size(sizes.cache_bytes)
            .max_journaling_size(JOURNAL_BYTES_MAX)
            .worker_threads(WORKER_THREADS)
            .open()?;
        let open = |place: usize| {
            let (space, name) = SPACES[place];
            database.keyspace(name, || options(space, sizes.memtable_bytes))
        };
        let spaces = [open(0)?, open(1)?, open(2)?, open(3)?, open(4)?];
        let chores = EngineChores::start(&spaces)?;
        Ok(Self { chores, database, spaces, memtable_bytes: sizes.memtable_bytes })
    }

    pub(super) fn space(&self, space: KeySpace) -> &Keyspace {
        match space {
            KeySpace::Ids => &self.spaces[0],
            KeySpace::Items => &self.spaces[1],
            KeySpace::Index => &self.spaces[2],
            KeySpace::Log => &self.spaces[3],
            KeySpace::Meta => &self.spaces[4],
        }
    }

    pub(super) fn spaces(&self) -> &[Keyspace] {
        &self.spaces
    }

    /// The tables whose keys span a key.
    pub(super) fn tables_with(&self, space: KeySpace, key: &[u8]) -> Vec<PathBuf> {
        let version = self.space(space).tree.current_version();
        let has_key = version.iter_tables().filter(|table| table.metadata.key_range.contains_key(key));
        has_key.map(|table| table.path.to_path_buf()).collect()
    }

    /// Brings everything to the disk.
    pub(super) fn persist(&self) -> Result<(), fjall::Error> {
        self.database.persist(PersistMode::SyncAll)
    }

    /// Fails when the engine takes no more writes: its journal, the flush of committed writes or the thread
    /// for its chores has failed.
    pub(super) fn check(&self) -> Result<(), fjall::Error> {
        // Without its thread no memtable would be written out again.
        if !self.chores.is_running() {
            return Err(fjall::Error::Poisoned);
        }
        // Nothing is in a buffer between commits, so this only looks.
        self.database.persist(PersistMode::Buffer)
    }

    /// Has the largest memtable written out where all memtables together have used up their budget.
    ///
    /// A budget of their own for each key space would write out each at the same small size. The largest of a
    /// shared one is several times as large, and each key is merged with the tables below several times less
    /// often.
    ///
    /// Left to itself, the engine (fjall 3.1) asks its workers to, once with each commit, through a bounded
    /// queue that the workers send to as well. Where commits are faster than the workers the queue fills up,
    /// the workers wait for room in it, which only they could make, and nothing is ever written out again:
    /// see <https://github.com/fjall-rs/fjall/pull/323>. Asked for by the one thread that commits, once for
    /// each full memtable, the queue stays short.
    pub(super) fn rotate_full_memtables(&self) {
        self.chores.hold_new_versions();
        let sizes = self.active_bytes();
        if sizes.iter().sum::<u64>() >= self.budget_bytes() {
            let largest = (0..sizes.len()).max_by_key(|place| sizes[*place]).unwrap_or_default();
            if self.spaces[largest].tree.sealed_memtable_count() <= WAITING_MEMTABLES_MAX {
                self.chores.rotate(largest);
            }
        }
    }

    /// The bytes of the memtable that takes writes, of each key space.
    fn active_bytes(&self) -> [u64; 5] {
        self.spaces.each_ref().map(|space| space.tree.active_memtable().size())
    }

    /// The bytes that these memtables may have together.
    fn budget_bytes(&self) -> u64 {
        self.memtable_bytes.max(1) * ACTIVE_MEMTABLES
    }

    /// Waits until a commit does not have to wait within the engine.
    pub(super) fn wait_for_flushes(&self) -> Result<(), fjall::Error> {
        let is_behind = |space: &Keyspace| {
            space.tree.sealed_memtable_count() > WAITING_MEMTABLES_MAX
                || space.tree.l0_run_count() > LOWEST_RUNS_MAX
        };
        let active_max = self.budget_bytes() * ACTIVE_OVERRUN;
        loop {
            self.check()?;
            let is_full = self.active_bytes().iter().sum::<u64>() >= active_max;
            if !is_full && !self.spaces.iter().any(is_behind) {
                return Ok(());
            }
            if is_full {
                self.rotate_full_memtables();
            }
            #[expect(clippy::disallowed_methods, reason = "the engine has no signal after a flush")]
            std::thread::sleep(FLUSH_WAIT);
        }
    }
}

/// Removes the leftovers of an engine whose process died while it made its directory. The engine (fjall 3.1)
/// recognises its own files only by the version file, and would not make the directory again over them. A
/// directory that holds any key space is left unchanged, even if other files are missing.
fn clear_unfinished(path: &Path) -> io::Result<()> {
    if has_version(path)? || has_spaces(path)? {
        return Ok(());
    }
    for file in [FIRST_JOURNAL, VERSION_FILE] {
        found(std::fs::remove_file(path.join(file)))?;
    }
    Ok(())
}

/// Whether an engine was made here to the end, and holds key spaces. From then on there is a journal at all
/// times.
pub(super) fn is_made(path: &Path) -> io::Result<bool> {
    Ok(has_version(path)? && has_spaces(path)?)
}

fn has_version(path: &Path) -> io::Result<bool> {
    let version = found(path.join(VERSION_FILE).metadata())?;
    Ok(version.is_some_and(|file| file.len() >= VERSION_BYTES_MIN))
}

fn has_spaces(path: &Path) -> io::Result<bool> {
    let spaces = found(std::fs::read_dir(path.join(SPACES_DIRECTORY)))?;
    Ok(spaces.is_some_and(|mut entries| entries.next().is_some()))
}

/// The value, if it was found.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The options of a new key space, which it keeps from then on.
fn options(space: KeySpace, memtable_bytes: u64) -> KeyspaceCreateOptions {
    let options = KeyspaceCreateOptions::default()
        // A limit that `rotate_full_memtables` keeps it from ever reaching.
        .max_memtable_size(memtable_bytes.saturating_mul(MEMTABLE_OVERRUN))
        .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
        // Below the level of fresh tables, which stay in memory whole, indexes and filters are read in blocks
        // of 4 KiB. The engine's own default leaves them whole up to the third level, more than a MiB for
        // each table, and reads all of that again for a single key once the cache is smaller than all indexes
        // together.
        .index_block_partitioning_policy(PartitioningPolicy::new(PARTITIONED_LEVELS))
        .filter_block_partitioning_policy(PartitioningPolicy::new(PARTITIONED_LEVELS));
    match space {
        // Only ever read in ranges, where a filter says nothing.
        KeySpace::Index | KeySpace::Log => options.filter_policy(FilterPolicy::disabled()),
        // Only ever read under keys that another space names, so a filter of the last level would always say
        // yes.
        KeySpace::Items => options.expect_point_read_hits(true),
        KeySpace::Ids | KeySpace::Meta => options,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use fjall::compaction::Leveled;

    use super::*;

    const SIZES: EngineSizes = EngineSizes { cache_bytes: 1 << 20, memtable_bytes: 1 << 20 };

    fn opens(directory: &Path) -> bool {
        EngineDatabase::open(directory, SIZES).is_ok()
    }

    #[test]
    fn a_directory_whose_making_was_cut_off_is_made_again() {
        for has_version in [false, true] {
            let directory = tempfile::tempdir().expect("a temporary directory");
            fs::write(directory.path().join("lock"), "").expect("a lock file");
            fs::create_dir(directory.path().join(SPACES_DIRECTORY)).expect("a directory");
            fs::write(directory.path().join(FIRST_JOURNAL), "").expect("a journal");
            if has_version {
                fs::write(directory.path().join(VERSION_FILE), "").expect("an empty version file");
            }
            assert!(opens(directory.path()), "with a version file: {has_version}");
            assert!(opens(directory.path()), "again, with a version file: {has_version}");
        }
    }

    #[test]
    fn a_directory_without_key_spaces_is_completed() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        assert!(opens(directory.path()));
        fs::remove_dir_all(directory.path().join(SPACES_DIRECTORY)).expect("the key spaces are removed");
        fs::create_dir(directory.path().join(SPACES_DIRECTORY)).expect("a directory");
        assert!(opens(directory.path()));
    }

    #[test]
    fn data_without_a_version_file_is_left_alone() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        assert!(opens(directory.path()));
        fs::remove_file(directory.path().join(VERSION_FILE)).expect("the version file is removed");
        assert!(!opens(directory.path()));
        assert!(directory.path().join(FIRST_JOURNAL).exists());
    }

    /// Keys that lie far apart for numbers in sequence.
    fn scattered_key(number: u64) -> [u8; 32] {
        let mut key = [b'k'; 32];
        key[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        key
    }

    #[test]
    fn a_key_of_a_reopened_directory_is_found_by_small_blocks() {
        const KEYS: u64 = 60_000;
        let sizes = EngineSizes { cache_bytes: 1 << 20, memtable_bytes: 64 << 20 };
        let directory = tempfile::tempdir().expect("a temporary directory");
        let open = || EngineDatabase::open(directory.path(), sizes).expect("the engine opens");
        let engine = open();
        let space = engine.space(KeySpace::Ids);
        // More fresh tables than the engine leaves, each with keys of the whole range.
        for number in 0..KEYS {
            space.insert(scattered_key(number), [b'v'; 200]).expect("a key is written");
            if number % (KEYS / 5) == 0 {
                space.rotate_memtable_and_wait().expect("memory is written out");
            }
        }
        space.rotate_memtable_and_wait().expect("memory is written out");
        // Here or by the engine's own worker, which may hold the tables: one fresh table alone is merged,
        // too.
        let merge_all = Arc::new(Leveled::default().with_l0_threshold(1));
        while space.tree.level_table_count(0) != Some(0) {
            space.tree.compact(merge_all.clone(), 0).expect("tables are merged");
        }
        drop(engine);
        let engine = open();
        let metrics = engine.space(KeySpace::Ids).metrics();
        for number in [1, KEYS / 2, KEYS - 1] {
            let before = metrics.block_io();
            assert!(engine.space(KeySpace::Ids).get(scattered_key(number)).expect("a read").is_some());
            let read = metrics.block_io() - before;
            assert!((1..=24 * 1024).contains(&read), "{read} bytes were read for one key");
        }
    }

    /// Writes this many values of 256 KiB to one key space, as the writer does. They cannot be compressed.
    fn write_values(engine: &EngineDatabase, space: KeySpace, values: u64) {
        let mut value = vec![0; 256 << 10];
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for number in 0..values {
            for bytes in value.chunks_exact_mut(8) {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                bytes.copy_from_slice(&random.to_le_bytes());
            }
            engine.wait_for_flushes().expect("the engine can write");
            engine.space(space).insert(scattered_key(number), value.clone()).expect("a value is written");
            engine.rotate_full_memtables();
        }
    }

    /// See <https://github.com/fjall-rs/fjall/issues/288>.
    #[test]
    fn journals_stay_bounded_beside_an_idle_key_space() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let engine = EngineDatabase::open(directory.path(), SIZES).expect("the engine opens");
        engine.space(KeySpace::Log).insert("idle", "from the first journal").expect("a value is written");
        // Five journals of 64 MB.
        write_values(&engine, KeySpace::Items, 5 * 256);
        while engine.database.outstanding_flushes() > 0 {
            engine.wait_for_flushes().expect("the engine can write");
            std::thread::yield_now();
        }
        let journals = engine.database.journal_count();
        assert!(journals < 5, "{journals} journals are left");
    }

    /// See <https://github.com/fjall-rs/fjall/issues/257>.
    #[test]
    fn an_engine_with_many_fresh_tables_writes_again() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let engine = EngineDatabase::open(directory.path(), SIZES).expect("the engine opens");
        write_values(&engine, KeySpace::Items, 100);
        // More fresh tables than the engine takes writes with, and no time to merge them.
        for number in 0..40 {
            engine.space(KeySpace::Ids).insert(scattered_key(number), "v").expect("a value is written");
            engine.space(KeySpace::Ids).rotate_memtable().expect("memory is sealed");
        }
        drop(engine);
        let engine = EngineDatabase::open(directory.path(), SIZES).expect("the engine opens");
        write_values(&engine, KeySpace::Items, 100);
        write_values(&engine, KeySpace::Ids, 100);
    }

    #[test]
    fn a_closed_engine_leaves_no_obsolete_tables() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let engine = EngineDatabase::open(directory.path(), SIZES).expect("the engine opens");
        // Each value again and again, so that merges make tables obsolete.
        for _ in 0..12 {
            write_values(&engine, KeySpace::Items, 32);
        }
        drop(engine);
        let engine = EngineDatabase::open(directory.path(), SIZES).expect("the engine opens");
        let space = engine.space(KeySpace::Items);
        for number in 0..32 {
            assert!(space.get(scattered_key(number)).expect("a read").is_some(), "value {number} is lost");
        }
    }
}
