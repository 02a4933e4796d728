//! Recovery of a data directory that has lost writes or has damaged files: makes it consistent again, and
//! reports the dropped data.
//!
//! The engine writes each key space out by itself, so after the loss of a journal they are of different
//! moments. `items` holds everything that the other spaces are made of, and is of one moment: the recovery
//! keeps it, and makes `ids`, `index` and `log` fit. Numbers go on behind the high-water mark, so no number
//! is given out twice. Cut off, a recovery is begun again: the mark is reached with its last commit.
//!
//! Where files are damaged, the same is done in a new engine that has all readable entries, and the damaged
//! one is kept under another name.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::database::EngineSizes;
use super::directory::Directory;
use super::engine::Engine;
use super::high_water::{self, HighWaterTracker};
use super::high_water_mark::{CommitNumbers, HighWaterMark};
use super::index_recovery::{IndexRecovery, RecoveredEntries};
use super::item_entries::commit_entries;
use super::key_space::{KeyChange, KeySpace};
use super::keys::ContainerId;
use super::lineage;
use super::open::{
    EmbeddedConfig, META_CONTAINERS, META_PARTITIONS, damaged, high_water_of, io, losses_within, open_engine,
    partitions_of, stored_container_ids, stored_containers, stored_counts, stored_partitions,
};
use super::open_error::OpenError;
use super::salvage::{
    EngineFiles, LostItem, SalvageStep, Witnesses, examine, exchange, fill_copy, write_lost_items,
};
use super::stored_container::StoredContainer;
use crate::ContainerSpec;

/// Numbers of writes that are left out where the last number may be lost: a number is never given out twice.
const NUMBERS_LEFT_OUT: u64 = 1_000_000;

/// The findings and the work of a recovery.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recovery {
    /// The missing writes; empty when there was nothing to recover.
    pub losses: Vec<String>,
    /// The last commit that is there, and the last that was once on the disk.
    pub last_commit: u64,
    pub expected_commit: u64,
    /// Items that are there.
    pub items: u64,
    /// Items that were older versions of others, or could not be read.
    pub items_dropped: u64,
    /// Entries of ids, indexes and the change log that were made from items.
    pub entries_made: u64,
    /// Entries that belonged to no item.
    pub entries_dropped: u64,
    /// The damaged files, and the unreadable places in them.
    #[serde(default)]
    pub damage: Vec<String>,
    /// Where the damaged engine is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<PathBuf>,
    /// Each item whose newest version could not be read.
    #[serde(default)]
    pub lost_items: Vec<LostItem>,
}

impl Recovery {
    /// Whether nothing was missing and no file was damaged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.losses.is_empty() && self.damage.is_empty() && self.kept.is_none()
    }
}

/// When a recovery makes the engine anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecoveryScope {
    /// Where a file is damaged.
    Damaged,
    /// In any case.
    All,
}

/// Makes a data directory that has lost writes or has damaged files sound, and lets it be opened again.
/// Changes nothing where nothing is missing.
///
/// # Errors
/// The directory cannot be opened or written, or there is no room for a copy of its engine.
pub fn recover(
    config: &EmbeddedConfig,
    specs: &[ContainerSpec],
    progress: &mut dyn FnMut(u64),
) -> Result<Recovery, OpenError> {
    recover_in_steps(config, specs, RecoveryScope::Damaged, &mut |_| {}, progress)
}

/// The same for a directory in which an integrity check finds entries that do not fit the items, though each
/// file is as it was written.
///
/// # Errors
/// As for [`recover`].
pub fn recover_entries(
    config: &EmbeddedConfig,
    specs: &[ContainerSpec],
    progress: &mut dyn FnMut(u64),
) -> Result<Recovery, OpenError> {
    recover_in_steps(config, specs, RecoveryScope::All, &mut |_| {}, progress)
}

/// The same with a call before each step of a salvage.
pub(super) fn recover_in_steps(
    config: &EmbeddedConfig,
    specs: &[ContainerSpec],
    scope: RecoveryScope,
    step: &mut dyn FnMut(SalvageStep),
    progress: &mut dyn FnMut(u64),
) -> Result<Recovery, OpenError> {
    let directory = Directory::open(&config.path)?;
    let (mark, losses) = high_water::look(&config.path)?;
    let engine_path = directory.engine_path();
    let io = |source| OpenError::Io { path: engine_path.clone(), source };
    if engine_path.is_dir() {
        let files = examine(&engine_path, progress).map_err(io)?;
        if scope == RecoveryScope::All || !files.are_intact() {
            return Salvage { config, specs, mark, losses, files }.run(directory, step, progress);
        }
    }
    let mark = if losses.is_empty() { high_water::mark_open(&config.path, mark)? } else { mark };
    high_water::ensure_journal(&engine_path).map_err(io)?;
    recover_in_place(directory, config, specs, (mark, losses), progress)
}

/// Makes the entries fit the items of an engine whose files are sound.
fn recover_in_place(
    directory: Directory,
    config: &EmbeddedConfig,
    specs: &[ContainerSpec],
    (mark, mut losses): (Option<HighWaterMark>, Vec<String>),
    progress: &mut dyn FnMut(u64),
) -> Result<Recovery, OpenError> {
    let engine = open_engine(&directory, config)?;
    let found = stored_counts(&engine, config)?;
    losses.extend(losses_within(&engine, mark.as_ref(), found, config)?);
    if losses.is_empty() {
        close(&directory, high_water_of(&engine, directory.files(), config, found, mark)?, &engine);
        return Ok(Recovery::default());
    }
    // The rest differs from the note of a backup.
    directory.end_backup()?;
    end_lineage(config)?;
    let expected = mark.as_ref().map_or(found, |mark| mark.numbers);
    restore_making(&engine, mark.as_ref(), false, config)?;
    let partitions = partitions_of(&engine, config)?;
    let ids = stored_container_ids(&engine, specs, config, partitions)?;
    let containers = ids.into_iter().zip(specs.iter().copied()).collect();
    let mut fitting = fitting(&engine, (containers, partitions), None, progress);
    fitting.run().map_err(io(config))?;
    let recovery = recovery_of(&fitting.recovery, losses, (found, expected));
    let numbers = CommitNumbers {
        last_commit: found.last_commit.max(expected.last_commit) + 1,
        last_write: found.last_write.max(expected.last_write).max(fitting.recovery.last_write),
    };
    engine.commit(commit_entries(numbers).into()).map_err(io(config))?;
    close(&directory, high_water_of(&engine, directory.files(), config, numbers, mark)?, &engine);
    Ok(recovery)
}

/// A recovery of damaged files.
struct Salvage<'a> {
    config: &'a EmbeddedConfig,
    specs: &'a [ContainerSpec],
    mark: Option<HighWaterMark>,
    losses: Vec<String>,
    files: EngineFiles,
}

impl Salvage<'_> {
    fn run(
        self,
        directory: Directory,
        step: &mut dyn FnMut(SalvageStep),
        progress: &mut dyn FnMut(u64),
    ) -> Result<Recovery, OpenError> {
        let Self { config, specs, mark, mut losses, files } = self;
        let sizes = EngineSizes { cache_bytes: config.cache_bytes, memtable_bytes: config.memtable_bytes };
        let salvaged = fill_copy(&config.path, sizes, &files, step, progress)?;
        let engine = Engine::open(&salvaged.path, sizes, config.durability)?;
        restore_making(&engine, mark.as_ref(), salvaged.are_numbers_hidden, config)?;
        let found = stored_counts(&engine, config)?;
        losses.extend(losses_within(&engine, mark.as_ref(), found, config)?);
        let expected = mark.as_ref().map_or(found, |mark| mark.numbers);
        let partitions = stored_partitions(&engine, config)?
            .ok_or_else(|| damaged(config, "the number of physical partitions"))?;
        let containers = containers_as_stored(&engine, specs, config)?;
        let mut witnesses = salvaged.witnesses;
        witnesses.are_commits_missing = !losses.is_empty();
        let mut fitting = fitting(&engine, (containers, partitions), Some(witnesses), progress);
        fitting.run().map_err(io(config))?;
        let mut recovery = recovery_of(&fitting.recovery, losses, (found, expected));
        recovery.damage = files.damage.into_iter().chain(salvaged.gaps).collect();
        recovery.lost_items =
            fitting.witnesses.take().map_or_else(Vec::new, |witnesses| witnesses.lost.into_items());
        let lost_writes = recovery.lost_items.iter().filter_map(|item| item.lost_write);
        let last_write = lost_writes.fold(fitting.recovery.last_write, u64::max);
        let left_out = if salvaged.are_numbers_hidden { NUMBERS_LEFT_OUT } else { 0 };
        let numbers = CommitNumbers {
            last_commit: found.last_commit.max(expected.last_commit) + 1 + left_out,
            last_write: found.last_write.max(expected.last_write).max(last_write) + left_out,
        };
        engine.commit(commit_entries(numbers).into()).map_err(io(config))?;
        engine.persist().map_err(io(config))?;
        drop(fitting);
        drop(engine);
        step(SalvageStep::Fitted);
        let failed = |source| OpenError::Io { path: config.path.clone(), source };
        write_lost_items(&config.path, &recovery.lost_items).map_err(failed)?;
        // The rest differs from the note of a backup.
        directory.end_backup()?;
        end_lineage(config)?;
        // Fits the damaged engine and the new one, whose journals have other numbers.
        let mark = mark.map(|mark| HighWaterMark { journal: 0, closed: None, ..mark });
        if let Some(mark) = &mark {
            mark.write(&config.path).map_err(failed)?;
        }
        recovery.kept = Some(exchange(&config.path, step)?);
        let engine = open_engine(&directory, config)?;
        close(&directory, high_water_of(&engine, directory.files(), config, numbers, mark)?, &engine);
        Ok(recovery)
    }
}

/// The history of the directory goes on from another state: no log archive of before fits it.
fn end_lineage(config: &EmbeddedConfig) -> Result<(), OpenError> {
    lineage::end(&config.path).map_err(|source| OpenError::Io { path: config.path.clone(), source })
}

fn fitting<'a>(
    engine: &'a Engine,
    (containers, partitions): (HashMap<ContainerId, ContainerSpec>, u16),
    witnesses: Option<Witnesses>,
    progress: &'a mut dyn FnMut(u64),
) -> IndexRecovery<'a> {
    let recovery = RecoveredEntries::default();
    IndexRecovery { engine, containers, partitions, changes: HashMap::new(), recovery, witnesses, progress }
}

fn recovery_of(
    entries: &RecoveredEntries,
    losses: Vec<String>,
    (found, expected): (CommitNumbers, CommitNumbers),
) -> Recovery {
    Recovery {
        losses,
        last_commit: found.last_commit,
        expected_commit: expected.last_commit,
        items: entries.items,
        items_dropped: entries.items_dropped,
        entries_made: entries.entries_made,
        entries_dropped: entries.entries_dropped,
        ..Recovery::default()
    }
}

/// Has the directory marked as closed when it is.
fn close(directory: &Directory, high_water: HighWaterTracker, engine: &Engine) {
    high_water.begin(engine);
    high_water.finish();
    directory.close_with(Arc::new(high_water));
}

/// The containers by their numbers. Keys of items depend on their definitions, which must be the same as in
/// the directory.
fn containers_as_stored(
    engine: &Engine,
    specs: &[ContainerSpec],
    config: &EmbeddedConfig,
) -> Result<HashMap<ContainerId, ContainerSpec>, OpenError> {
    let stored = stored_containers(engine, config)?;
    if stored.is_empty() {
        return Err(damaged(config, "the list of containers"));
    }
    let mut containers = HashMap::with_capacity(stored.len());
    for (place, container) in stored.into_iter().enumerate() {
        let is_declared = |spec: &ContainerSpec| spec.name.as_str() == container.name;
        let is_as_declared = |spec: &ContainerSpec| StoredContainer::from(spec) == container;
        // One that is not declared any more keeps its items.
        let is_known = specs.iter().any(is_as_declared) || !specs.iter().any(is_declared);
        let spec = container.spec(specs).ok().filter(|_| is_known);
        let (Some(spec), Ok(number)) = (spec, ContainerId::try_from(place)) else {
            let (path, container) = (config.path.clone(), container.name);
            return Err(OpenError::UnknownContainer { path, container });
        };
        containers.insert(number, spec);
    }
    Ok(containers)
}

/// Writes the settings of the directory's creation again, as the mark has them: those that are missing, or
/// all.
fn restore_making(
    engine: &Engine,
    mark: Option<&HighWaterMark>,
    are_all_written: bool,
    config: &EmbeddedConfig,
) -> Result<(), OpenError> {
    let Some(mark) = mark else { return Ok(()) };
    let mut changes: Vec<KeyChange> = Vec::new();
    if are_all_written || stored_partitions(engine, config)?.is_none() {
        let value = mark.physical_partitions.to_be_bytes().to_vec();
        changes.push((KeySpace::Meta, META_PARTITIONS.to_vec(), Some(value)));
    }
    if are_all_written || stored_containers(engine, config)?.is_empty() {
        let value = serde_json::to_vec(&mark.containers).expect("a plain struct with string keys serialises");
        changes.push((KeySpace::Meta, META_CONTAINERS.to_vec(), Some(value)));
    }
    if changes.is_empty() {
        return Ok(());
    }
    engine.commit(changes).map_err(io(config))
}
