//! Online backup: a copy of a store's files in another directory, made while the store is written to. It
//! holds whole commits up to one moment, and nothing later. The copy is a data directory like any other. A
//! restored one can be rolled forward by a log archive.

use std::fs;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::backup_manifest::{BACKUP_FILE, BackupManifest};
use super::database::EngineSizes;
use super::directory;
use super::durability::Durability;
use super::engine::{Engine, View};
use super::file_snapshot::{CopyError, FileSnapshot};
use super::high_water;
use super::high_water_mark::{CommitNumbers, HighWaterMark};
use super::item_entries::{META_COMMIT, META_COMMIT_TIME, META_SEQUENCE};
use super::key_space::KeySpace;
use super::layout::{engine_path, sync_directory};
use super::lineage;
use super::log_archive::{RollForward, Target};
use super::open::{EmbeddedConfig, stored_containers};
use super::open_error::{LostWrites, OpenError};
use super::salvage::{items_and_settings, list};
use super::store::EmbeddedStore;
use crate::Fault;
use onehop_runtime::clock::format_timestamp;
use onehop_runtime::private_files;

/// Bytes of the block cache of an engine that is only written to.
const CACHE_BYTES: u64 = 8 * 1024 * 1024;

/// Why there is no backup, or no directory restored from one.
#[derive(Debug, Error)]
pub enum BackupError {
    #[error("{} is there already and not empty", .0.display())]
    NotEmpty(PathBuf),
    #[error("{} lies in the data directory", .0.display())]
    Inside(PathBuf),
    #[error("{} holds no finished backup", .0.display())]
    NotFinished(PathBuf),
    #[error("the backup {} is not whole: {losses}", path.display())]
    Lost { path: PathBuf, losses: LostWrites },
    #[error(
        "{} is not as it was written: the disk or the memory has changed it. `onehop check` names the items, and \
         `onehop recover` keeps the readable ones", .0.display()
    )]
    Damaged(PathBuf),
    #[error("the backup {} has no lineage: an earlier release made it, or no server had opened the directory", .0.display())]
    NoLineage(PathBuf),
    #[error(
        "the archive {} has no log of the backup's directory (lineage {lineage}): it is the archive of another \
         directory, or of the same one before it was restored or recovered", archive.display()
    )]
    OtherLineage { archive: PathBuf, lineage: String },
    #[error("--at: the backup has commits up to {0}; take an earlier backup")]
    LaterThan(String),
    #[error("--at: the archive reaches to {0}")]
    NotCovered(String),
    #[error(
        "the archive lacks the commits between {after} and {next}: the latest time that can be restored is {reaches}"
    )]
    Gap { after: u64, next: u64, reaches: String },
    #[error("it was stopped before it was done; delete {}", .0.display())]
    Stopped(PathBuf),
    #[error("cannot write {}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl EmbeddedStore {
    /// Copies the files of the store into a directory that is missing or empty, while it is written to.
    /// Tables that an earlier backup has are linked from there. `keep_going` receives the number of bytes,
    /// and says whether to go on. Blocks for as long as it takes, and must not run on an async thread.
    ///
    /// # Errors
    /// See [`BackupError`]. The partial copy is marked as unfinished, and no command takes it for a backup.
    pub fn backup(
        &self,
        target: &Path,
        earlier: Option<&Path>,
        keep_going: &mut dyn FnMut(u64) -> bool,
    ) -> Result<BackupManifest, BackupError> {
        let begun_at = format_timestamp(self.clock.now_ms());
        if let Some(earlier) = earlier {
            read_manifest(earlier)?;
        }
        make_empty(target)?;
        let io = |source| BackupError::Io { path: target.to_owned(), source };
        let (from, to) = (self.path().canonicalize().map_err(io)?, target.canonicalize().map_err(io)?);
        if to.starts_with(&from) {
            fs::remove_dir(target).map_err(io)?;
            return Err(BackupError::Inside(target.to_owned()));
        }
        directory::mark_unfinished(target).map_err(io)?;
        let snapshot = FileSnapshot::take(&self.directory.engine_path()).map_err(io)?;
        let path = engine_path(target);
        let earlier = earlier.map(engine_path);
        let bytes = snapshot.copy_to(&path, earlier.as_deref(), keep_going).map_err(|error| match error {
            CopyError::Io(source) => io(source),
            CopyError::Damaged(file) => BackupError::Damaged(file),
            CopyError::Stopped => BackupError::Stopped(target.to_owned()),
        })?;
        let lineage = lineage::read(&from).map_err(io)?.map(|lineage| lineage.to_string());
        let (items, numbers) = items_and_numbers(&path).map_err(io)?;
        let note = BackupManifest {
            items,
            last_write: numbers.last_write,
            begun_at,
            bytes_copied: bytes.copied,
            bytes_linked: bytes.linked,
            lineage,
        };
        let mark = HighWaterMark { numbers, ..self.high_water.made_with() };
        directory::finish(target, Some(&note), mark).map_err(io)?;
        Ok(note)
    }
}

/// The number of items in the files of an engine, and the numbers of its last commit and write.
fn items_and_numbers(engine: &Path) -> std::io::Result<(u64, CommitNumbers)> {
    let (items, settings) = items_and_settings(&list(engine)?, &[META_COMMIT, META_SEQUENCE])?;
    let number = |place: usize| -> u64 {
        let bytes = settings[place].as_deref().and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_be_bytes)
    };
    Ok((items, CommitNumbers { last_commit: number(0), last_write: number(1) }))
}

/// The numbers of the last commit and write of a view.
pub(super) fn counts_in(view: &View) -> Result<CommitNumbers, Fault> {
    let number = |name: &[u8]| -> Result<u64, Fault> {
        let bytes = view.get(KeySpace::Meta, name)?;
        Ok(bytes.and_then(|bytes| bytes.as_ref().try_into().map(u64::from_be_bytes).ok()).unwrap_or(0))
    };
    Ok(CommitNumbers { last_commit: number(META_COMMIT)?, last_write: number(META_SEQUENCE)? })
}

/// A log archive by which a backup is rolled forward.
#[derive(Debug, Clone)]
pub struct RestoreLog {
    /// The directory of the archive.
    pub archive: PathBuf,
    /// Unix ms; `None` for the end of the archive.
    pub at_ms: Option<i64>,
}

/// A restored directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub backup: BackupManifest,
    /// Commits of a log archive that were applied.
    pub commits: u64,
    /// When the last commit was made, RFC 3339, as far as it is known.
    pub last_commit_at: Option<String>,
}

/// Restores a finished backup into a data directory, and rolls it forward by a log archive, if one is given.
/// The backup does not change.
///
/// # Errors
/// See [`BackupError`]. The partial copy is marked as unfinished.
pub fn restore(
    from: &Path,
    to: &Path,
    log: Option<&RestoreLog>,
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> Result<Restored, BackupError> {
    let note = read_manifest(from)?;
    let archive = log.map(|log| archive_of(&note, from, log)).transpose()?;
    // A process that opens a backup as a data directory changes it.
    let _lock = directory::lock_without_a_trace(from)?;
    let (mark, losses) = high_water::look(from)?;
    refuse(from, losses)?;
    make_empty(to)?;
    let io = |source| BackupError::Io { path: to.to_owned(), source };
    directory::mark_unfinished(to).map_err(io)?;
    let mut copied = 0;
    let done = copy_files(&engine_path(from), &engine_path(to), &mut |bytes| {
        copied += bytes;
        keep_going(copied)
    });
    if !done.map_err(io)? {
        return Err(BackupError::Stopped(to.to_owned()));
    }
    let path = engine_path(to);
    let files = list(&path).map_err(io)?;
    let sizes = EngineSizes { cache_bytes: CACHE_BYTES, memtable_bytes: CACHE_BYTES };
    // Opening it finds out whether all files are there.
    let engine = Engine::open(&path, sizes, Durability::Relaxed)?;
    let (mut found, last_time_ms) = numbers_of(&engine.view()?)?;
    let mut expected = mark.unwrap_or_default();
    expected.numbers.last_write = expected.numbers.last_write.max(note.last_write);
    refuse(from, high_water::missing_commits(Some(&expected), found).into_iter().collect())?;
    let (mut commits, mut last_commit_at) = (0, last_time_ms.map(format_timestamp));
    if let Some((archive, target)) = &archive {
        let last_commit = found.last_commit;
        let (engine, engine_path, files) = (&engine, &path, &files);
        let roll =
            RollForward { archive, engine, files, engine_path, last_commit, last_time_ms, target: *target };
        let rolled = roll.run(keep_going)?;
        (commits, last_commit_at) = (rolled.commits, rolled.last_time_ms.map(format_timestamp));
        found = numbers_of(&engine.view()?)?.0;
    }
    engine.persist()?;
    let containers = stored_containers(&engine, &EmbeddedConfig::new(to))?;
    drop(engine);
    directory::finish(to, None, HighWaterMark { numbers: found, containers, ..expected }).map_err(io)?;
    Ok(Restored { backup: note, commits, last_commit_at })
}

/// The archive of a backup's lineage, and the moment that is wanted.
fn archive_of(
    note: &BackupManifest,
    from: &Path,
    log: &RestoreLog,
) -> Result<(PathBuf, Target), BackupError> {
    let lineage = note.lineage.as_ref().ok_or_else(|| BackupError::NoLineage(from.to_owned()))?;
    let archive = log.archive.join(lineage);
    if !archive.is_dir() {
        return Err(BackupError::OtherLineage { archive: log.archive.clone(), lineage: lineage.clone() });
    }
    Ok((archive, log.at_ms.map_or(Target::End, Target::Time)))
}

/// The numbers of the last commit and write of a view, and the time of the last commit.
fn numbers_of(view: &View) -> Result<(CommitNumbers, Option<i64>), Fault> {
    let time = view.get(KeySpace::Meta, META_COMMIT_TIME)?;
    let time_ms = time.and_then(|bytes| bytes.as_ref().try_into().map(i64::from_be_bytes).ok());
    Ok((counts_in(view)?, time_ms))
}

/// Makes a directory if it is missing.
///
/// # Errors
/// There is something in it.
fn make_empty(path: &Path) -> Result<(), BackupError> {
    let io = |source| BackupError::Io { path: path.to_owned(), source };
    private_files::make_directory(path).map_err(io)?;
    match fs::read_dir(path).map_err(io)?.next() {
        None => Ok(()),
        Some(_) => Err(BackupError::NotEmpty(path.to_owned())),
    }
}

/// The manifest of a finished backup.
///
/// # Errors
/// The directory has none, or it is not one that this release can read: of a later format, for example.
fn read_manifest(path: &Path) -> Result<BackupManifest, BackupError> {
    let manifest = fs::read(path.join(BACKUP_FILE)).ok();
    let manifest = manifest.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let manifest = manifest.ok_or_else(|| BackupError::NotFinished(path.to_owned()))?;
    match directory::check_without_a_trace(path) {
        Ok(()) => Ok(manifest),
        Err(OpenError::Unfinished { .. }) => Err(BackupError::NotFinished(path.to_owned())),
        Err(error) => Err(error.into()),
    }
}

fn refuse(from: &Path, losses: Vec<String>) -> Result<(), BackupError> {
    if losses.is_empty() {
        return Ok(());
    }
    Err(BackupError::Lost { path: from.to_owned(), losses: LostWrites(losses) })
}

/// Copies a directory with its content onto the disk. `false` when it was not to go on.
fn copy_files(from: &Path, to: &Path, keep_going: &mut dyn FnMut(u64) -> bool) -> std::io::Result<bool> {
    private_files::make_directory(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            if !copy_files(&entry.path(), &target, keep_going)? {
                return Ok(false);
            }
            continue;
        }
        let bytes = fs::copy(entry.path(), &target)?;
        fs::File::open(&target)?.sync_all()?;
        if !keep_going(bytes) {
            return Ok(false);
        }
    }
    sync_directory(to)?;
    Ok(true)
}
