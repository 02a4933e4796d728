//! Opening of a data directory: configuration, the stored container definitions, and the start of the writer.

use std::panic::catch_unwind;
use std::path::PathBuf;
use std::sync::Arc;

use futures::executor::block_on;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::change_signals::ChangeSignals;
use super::database::EngineSizes;
use super::directory::Directory;
use super::disk_space::DiskSpace;
use super::durability::Durability;
use super::engine::Engine;
use super::high_water::{self, HighWaterTracker};
use super::high_water_mark::{CommitNumbers, HighWaterMark};
use super::item_entries::{META_COMMIT, META_SEQUENCE};
use super::journal_rewrite::rewrite_last_journal;
use super::key_space::{KeyChange, KeySpace};
use super::keys::BEHIND_ALL;
use super::lineage;
use super::log_archive::{LogArchiveConfig, LogArchiver};
use super::open_error::{LostWrites, OpenError};
use super::opened_after::OpenedAfter;
use super::read_caches::{CacheShares, ReadCaches};
use super::reindex::Reindexing;
use super::reopenings::Reopenings;
use super::store::{EmbeddedContainer, EmbeddedStore};
use super::store_files::StoreFiles;
use super::stored_container::StoredContainer;
use super::writer::{GroupCommitWriter, QUEUE_REQUESTS_MAX, WriterContainer};
use super::writer_counters::WriterCounters;
use crate::charges::Calibration;
use crate::{ContainerSpec, Fault, FaultKind, Indexing, WriteMarks};
use onehop_runtime::clock::{Clock, SystemClock};

/// Physical partitions of a new data directory unless the configuration says otherwise.
pub const PHYSICAL_PARTITIONS_DEFAULT: u16 = 4;
/// The most physical partitions that are modelled.
pub const PHYSICAL_PARTITIONS_MAX: u16 = 1000;

/// Bytes that are to stay free on the disk unless the configuration says otherwise. Full memtables of all key
/// spaces and the next journal fit in.
pub const DISK_RESERVE_BYTES_DEFAULT: u64 = 256 * 1024 * 1024;

/// Bytes of a body from which on a small change is stored as a difference. Below, the whole body costs little
/// more than the keys of its entries.
const EDITS_FROM_BYTES_DEFAULT: usize = 512;

pub(super) const META_PARTITIONS: &[u8] = b"physical-partitions";
pub(super) const META_CONTAINERS: &[u8] = b"containers";

/// The options for opening a data directory.
#[derive(Debug, Clone)]
pub struct EmbeddedConfig {
    pub path: PathBuf,
    pub durability: Durability,
    /// `None` takes the number of the directory's creation.
    pub physical_partitions: Option<u16>,
    /// Bytes of all caches: of the engine's blocks, and of items and pages that were read lately.
    pub cache_bytes: u64,
    /// A quarter of the bytes that the engine's key spaces together collect in memory before the largest is
    /// written out.
    pub memtable_bytes: u64,
    /// Bytes of a body from which on a small change of an item is stored as a difference.
    pub edits_from_bytes: usize,
    /// The properties that the estimated charges of writes take for indexed. The store's own indexes do not
    /// depend on it.
    pub indexing: Indexing,
    /// The constants of the estimated charges.
    pub calibration: Arc<Calibration>,
    /// Bytes that are to stay free on the disk: writes are refused that would leave less.
    pub disk_reserve_bytes: u64,
    /// Where the log is kept for restoring to a moment; `None` keeps none.
    pub log_archive: Option<LogArchiveConfig>,
}

impl EmbeddedConfig {
    /// The defaults for a directory.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            durability: Durability::Sync,
            physical_partitions: None,
            cache_bytes: 128 * 1024 * 1024,
            memtable_bytes: 16 * 1024 * 1024,
            edits_from_bytes: EDITS_FROM_BYTES_DEFAULT,
            indexing: Indexing::Needed,
            calibration: Calibration::current(),
            disk_reserve_bytes: DISK_RESERVE_BYTES_DEFAULT,
            log_archive: None,
        }
    }
}

impl EmbeddedStore {
    /// Opens the store in a directory with the defaults, by the clock of the system, and makes a missing
    /// directory.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(path: impl Into<PathBuf>, specs: &[ContainerSpec]) -> Result<Self, OpenError> {
        Self::open_with(&EmbeddedConfig::new(path), specs, Arc::new(SystemClock))
    }

    /// The same with settings and a clock.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open_with(
        config: &EmbeddedConfig,
        specs: &[ContainerSpec],
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        check_physical_partitions(config)?;
        let directory = Directory::open(&config.path)?;
        let (mark, losses) = high_water::look(&config.path)?;
        refuse(config, losses)?;
        let is_closed = mark.as_ref().is_some_and(|mark| mark.closed.is_some());
        let mark = high_water::mark_open(&config.path, mark)?;
        // The process before may have ended after an fsync that failed.
        let copied = match config.durability {
            Durability::Sync if !is_closed => rewrite_last_journal(&directory.engine_path()),
            _ => Ok(()),
        };
        // The engine may delete journals when it opens.
        let archiver = open_archive(&directory, config, clock.now_ms())?;
        let engine = open_engine(&directory, config)?;
        if let Err(error) = copied {
            tracing::warn!(%error, "the journal cannot be copied: writes are refused until it can");
            engine.distrust_journal();
        }
        let (mut store, writer) = Self::with_writer(directory, engine, mark, config, specs, clock)?;
        let writer = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || block_on(writer))
            .map_err(|source| OpenError::Io { path: config.path.clone(), source })?;
        store.writer = Some(writer);
        if let Some(mut archiver) = archiver {
            let last_commit = store.high_water.made_with().numbers.last_commit;
            archiver.forget_after(last_commit).map_err(archive_error(config))?;
            store.archiver = Some(Mutex::new(archiver));
        }
        if is_closed {
            store.opened_after = OpenedAfter::Close;
        }
        Ok(store)
    }

    /// Makes the store of an open engine, and its writer, which is to run until the store is dropped.
    pub(super) fn with_writer(
        directory: Directory,
        engine: Engine,
        mark: Option<HighWaterMark>,
        config: &EmbeddedConfig,
        specs: &[ContainerSpec],
        clock: Arc<dyn Clock>,
    ) -> Result<(Self, impl Future<Output = ()> + Send + use<>), OpenError> {
        let engine = Arc::new(engine);
        let opened_after = match &mark {
            None => OpenedAfter::Nothing,
            Some(_) => OpenedAfter::Crash,
        };
        let numbers = stored_counts(&engine, config)?;
        refuse(config, losses_within(&engine, mark.as_ref(), numbers, config)?)?;
        let partitions = partitions_of(&engine, config)?;
        let ids = stored_container_ids(&engine, specs, config, partitions)?;
        let high_water = Arc::new(high_water_of(&engine, directory.files(), config, numbers, mark)?);
        directory.end_backup()?;
        high_water.begin(&engine);
        directory.close_with(Arc::clone(&high_water));
        let (containers, writer_containers) = containers_of(specs, &ids, config.indexing);

        let (requests, receiver) = mpsc::channel(QUEUE_REQUESTS_MAX);
        let counters = Arc::new(WriterCounters::default());
        let marks = Arc::new(WriteMarks::default());
        let shares = CacheShares::of(config.cache_bytes);
        let caches = Arc::new(ReadCaches::new(shares, Arc::clone(&marks)));
        let writer = GroupCommitWriter {
            engine: Arc::clone(&engine),
            room: DiskSpace::new(directory.files().clone(), config.disk_reserve_bytes),
            reopenings: Reopenings::default(),
            containers: Arc::new(writer_containers),
            clock: Arc::clone(&clock),
            sequence: numbers.last_write,
            commit_number: numbers.last_commit,
            high_water: Arc::clone(&high_water),
            counters: Arc::clone(&counters),
            marks: Arc::clone(&marks),
            caches: Arc::clone(&caches),
            commits: 0,
        };
        let store = Self {
            directory: Arc::new(directory),
            engine,
            containers,
            partitions,
            calibration: Arc::clone(&config.calibration),
            opened_after,
            edits_from_bytes: config.edits_from_bytes,
            disk_reserve_bytes: config.disk_reserve_bytes,
            clock,
            requests: Some(requests),
            writer: None,
            archiver: None,
            counters,
            marks,
            caches,
            high_water,
        };
        Ok((store, writer.run(receiver)))
    }
}

/// Opens the log archive, if the store has one, and gives the directory a lineage.
fn open_archive(
    directory: &Directory,
    config: &EmbeddedConfig,
    now_ms: i64,
) -> Result<Option<LogArchiver>, OpenError> {
    let io = |source| OpenError::Io { path: config.path.clone(), source };
    let lineage = lineage::read_or_begin(&config.path).map_err(io)?.to_string();
    let Some(archive) = &config.log_archive else { return Ok(None) };
    let opened = LogArchiver::open(&directory.engine_path(), archive, &lineage, now_ms);
    opened.map(Some).map_err(archive_error(config))
}

fn archive_error(config: &EmbeddedConfig) -> impl Fn(std::io::Error) -> OpenError {
    |source| {
        let archive = config.log_archive.as_ref().map(|archive| archive.directory.clone());
        OpenError::LogArchive { path: archive.unwrap_or_default(), source }
    }
}

/// The containers of a store, and the writer's data about them, by their numbers.
fn containers_of(
    specs: &[ContainerSpec],
    ids: &[u8],
    indexing: Indexing,
) -> (Vec<EmbeddedContainer>, Vec<WriterContainer>) {
    let mut containers = Vec::with_capacity(specs.len());
    let mut writer_containers: Vec<Option<WriterContainer>> = Vec::new();
    for (spec, id) in specs.iter().zip(ids.iter().copied()) {
        let signals = Arc::new(ChangeSignals::default());
        let place = usize::from(id);
        if writer_containers.len() <= place {
            writer_containers.resize_with(place + 1, || None);
        }
        writer_containers[place] =
            Some(WriterContainer { newest_types: spec.newest_types, signals: Arc::clone(&signals) });
        let policy = spec.indexing_policy(indexing);
        containers.push(EmbeddedContainer { id, spec: *spec, policy, signals });
    }
    let unused = || WriterContainer { newest_types: &[], signals: Arc::default() };
    let writer_containers = writer_containers.into_iter().map(|container| container.unwrap_or_else(unused));
    (containers, writer_containers.collect())
}

pub(super) fn check_physical_partitions(config: &EmbeddedConfig) -> Result<(), OpenError> {
    match config.physical_partitions {
        Some(wanted) if !(1..=PHYSICAL_PARTITIONS_MAX).contains(&wanted) => {
            Err(OpenError::PhysicalPartitionsLimit { wanted, max: PHYSICAL_PARTITIONS_MAX })
        }
        _ => Ok(()),
    }
}

/// Opens the engine. It verifies its reads by checksums, but trusts some lengths in a damaged journal: a
/// panic there is an error here.
pub(super) fn open_engine(directory: &Directory, config: &EmbeddedConfig) -> Result<Engine, OpenError> {
    let path = directory.engine_path();
    let cache_bytes = CacheShares::of(config.cache_bytes).blocks;
    let sizes = EngineSizes { cache_bytes, memtable_bytes: config.memtable_bytes };
    let opening = || Engine::open(&path, sizes, config.durability);
    catch_unwind(opening).unwrap_or_else(|_| Err(damaged(config, "the journal of the storage engine")))
}

pub(super) fn io(config: &EmbeddedConfig) -> impl Fn(Fault) -> OpenError {
    |fault| OpenError::Io { path: config.path.clone(), source: std::io::Error::other(fault.to_string()) }
}

pub(super) fn damaged(config: &EmbeddedConfig, what: &'static str) -> OpenError {
    OpenError::Damaged { path: config.path.clone(), what }
}

/// The number that the directory was made with; `None` where that was not written yet.
pub(super) fn stored_partitions(engine: &Engine, config: &EmbeddedConfig) -> Result<Option<u16>, OpenError> {
    let Some(bytes) = engine.get(KeySpace::Meta, META_PARTITIONS).map_err(io(config))? else {
        return Ok(None);
    };
    let stored = bytes.as_ref().try_into().map(u16::from_be_bytes);
    let stored = stored.map_err(|_| damaged(config, "the number of physical partitions"))?;
    match config.physical_partitions {
        Some(wanted) if wanted != stored => {
            Err(OpenError::PhysicalPartitions { path: config.path.clone(), stored, wanted })
        }
        _ => Ok(Some(stored)),
    }
}

/// The number that the directory was made with; a new one gets it now.
pub(super) fn partitions_of(engine: &Engine, config: &EmbeddedConfig) -> Result<u16, OpenError> {
    if let Some(stored) = stored_partitions(engine, config)? {
        return Ok(stored);
    }
    let partitions = config.physical_partitions.unwrap_or(PHYSICAL_PARTITIONS_DEFAULT);
    let change: KeyChange =
        (KeySpace::Meta, META_PARTITIONS.to_vec(), Some(partitions.to_be_bytes().to_vec()));
    engine.commit(vec![change]).map_err(io(config))?;
    Ok(partitions)
}

/// The stored definitions of all containers, in the order of their numbers.
pub(super) fn stored_containers(
    engine: &Engine,
    config: &EmbeddedConfig,
) -> Result<Vec<StoredContainer>, OpenError> {
    let stored = read_containers(engine).map_err(io(config))?;
    stored.ok_or_else(|| damaged(config, "the list of containers"))
}

/// The same; `None` where they cannot be read.
pub(super) fn read_containers(engine: &Engine) -> Result<Option<Vec<StoredContainer>>, Fault> {
    Ok(match engine.get(KeySpace::Meta, META_CONTAINERS)? {
        Some(bytes) => serde_json::from_slice(&bytes).ok(),
        None => Some(Vec::new()),
    })
}

/// The number of each container: those seen before keep theirs, new ones get the next. Where a container has
/// other orders or indexes than before, the keys of its items are made anew.
pub(super) fn stored_container_ids(
    engine: &Engine,
    specs: &[ContainerSpec],
    config: &EmbeddedConfig,
    partitions: u16,
) -> Result<Vec<u8>, OpenError> {
    let mut stored = stored_containers(engine, config)?;
    let mut changed = false;
    let (mut ids, mut reindexed) = (Vec::with_capacity(specs.len()), Vec::new());
    for spec in specs {
        let wanted = StoredContainer::from(spec);
        let found = stored.iter().position(|container| container.name == wanted.name);
        let place = found.unwrap_or(stored.len());
        let too_many =
            |_| io(config)(Fault::new(FaultKind::Internal, "a directory has at most 256 containers"));
        let container = u8::try_from(place).map_err(too_many)?;
        ids.push(container);
        match stored.get_mut(place) {
            Some(present) if *present == wanted => {}
            Some(present) => {
                let reindexing = Reindexing { engine, container, partitions, spec };
                let is_possible = present.partition_key == wanted.partition_key;
                if !(is_possible && reindexing.fits().map_err(io(config))?) {
                    let container = wanted.name;
                    return Err(OpenError::ContainerChanged { path: config.path.clone(), container });
                }
                *present = StoredContainer { is_reindexed: true, ..wanted };
                reindexed.push((place, reindexing));
                changed = true;
            }
            None => {
                stored.push(wanted);
                changed = true;
            }
        }
    }
    if changed {
        write_containers(engine, &stored).map_err(io(config))?;
    }
    if reindexed.is_empty() {
        return Ok(ids);
    }
    for (place, reindexing) in reindexed {
        tracing::info!(container = stored[place].name, "the indexes of a container are made anew");
        reindexing.run().map_err(io(config))?;
        stored[place].is_reindexed = false;
    }
    write_containers(engine, &stored).map_err(io(config))?;
    Ok(ids)
}

fn write_containers(engine: &Engine, stored: &[StoredContainer]) -> Result<(), Fault> {
    let bytes = serde_json::to_vec(stored).expect("a plain struct with string keys serialises");
    engine.commit(vec![(KeySpace::Meta, META_CONTAINERS.to_vec(), Some(bytes))])
}

/// The numbers of the last commit and the last write. A number is never given out twice: continuations of the
/// change feed and ETags depend on it. In a directory of an earlier version commits have no numbers yet.
pub(super) fn stored_counts(engine: &Engine, config: &EmbeddedConfig) -> Result<CommitNumbers, OpenError> {
    let number = |name: &[u8], what| {
        let Some(bytes) = engine.get(KeySpace::Meta, name).map_err(io(config))? else { return Ok(0) };
        bytes.as_ref().try_into().map(u64::from_be_bytes).map_err(|_| damaged(config, what))
    };
    Ok(CommitNumbers {
        last_commit: number(META_COMMIT, "the number of the last commit")?,
        last_write: number(META_SEQUENCE, "the number of the last write")?,
    })
}

/// The losses of an open engine, by the mark or by itself.
pub(super) fn losses_within(
    engine: &Engine,
    mark: Option<&HighWaterMark>,
    found: CommitNumbers,
    config: &EmbeddedConfig,
) -> Result<Vec<String>, OpenError> {
    let mut losses: Vec<String> = high_water::missing_commits(mark, found).into_iter().collect();
    // The settings of a directory are written before its first item.
    if losses.is_empty() && stored_partitions(engine, config)?.is_none() {
        let view = engine.view().map_err(io(config))?;
        if view.range(KeySpace::Items, &[], BEHIND_ALL).next().is_some() {
            losses.push("there are items, and nothing of what the directory was made with".to_owned());
        }
    }
    Ok(losses)
}

fn refuse(config: &EmbeddedConfig, losses: Vec<String>) -> Result<(), OpenError> {
    if losses.is_empty() {
        return Ok(());
    }
    Err(OpenError::Lost { path: config.path.clone(), losses: LostWrites(losses) })
}

/// The mark of an open directory, with the settings of its creation.
pub(super) fn high_water_of(
    engine: &Engine,
    files: &StoreFiles,
    config: &EmbeddedConfig,
    numbers: CommitNumbers,
    before: Option<HighWaterMark>,
) -> Result<HighWaterTracker, OpenError> {
    let mark = HighWaterMark {
        numbers,
        physical_partitions: stored_partitions(engine, config)?.unwrap_or(PHYSICAL_PARTITIONS_DEFAULT),
        containers: stored_containers(engine, config)?,
        ..HighWaterMark::default()
    };
    Ok(HighWaterTracker::new(files.clone(), config.durability, mark, before))
}
