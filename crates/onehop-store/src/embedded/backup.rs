//! Online backup: a copy of a store in another directory, made from one snapshot while the store is written
//! to. It holds whole commits up to one moment, and nothing later. The copy is a data directory like any
//! other.

use std::fs;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::backup_manifest::{BACKUP_FILE, BackupManifest};
use super::database::{EngineDatabase, EngineSizes};
use super::directory;
use super::durability::Durability;
use super::engine::{Engine, View};
use super::high_water;
use super::high_water_mark::{CommitNumbers, HighWaterMark};
use super::item_entries::{META_COMMIT, META_SEQUENCE};
use super::key_space::KeySpace;
use super::keys;
use super::layout::{engine_path, sync_directory};
use super::open_error::{LostWrites, OpenError};
use super::store::EmbeddedStore;
use crate::Fault;
use onehop_runtime::clock::format_timestamp;
use onehop_runtime::private_files;

/// Bytes of the block cache of an engine that is only written to.
const CACHE_BYTES: u64 = 8 * 1024 * 1024;
/// Entries between two reports of progress, and two looks whether to go on.
const PROGRESS_ENTRIES: u64 = 1_000;

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
    #[error("it was stopped before it was done; delete {}", .0.display())]
    Stopped(PathBuf),
    #[error("cannot write {}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("the storage engine cannot write {}: {source}", path.display())]
    Engine { path: PathBuf, source: Box<fjall::Error> },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Fault(#[from] Fault),
}

const SPACES: [KeySpace; 5] =
    [KeySpace::Ids, KeySpace::Items, KeySpace::Index, KeySpace::Log, KeySpace::Meta];

impl EmbeddedStore {
    /// Copies the store into a directory that is missing or empty. `keep_going` receives the number of
    /// entries copied, and says whether to go on. Blocks for as long as it takes, and must not run on an
    /// async thread.
    ///
    /// # Errors
    /// See [`BackupError`]. The partial copy is marked as unfinished, and no command takes it for a backup.
    pub fn backup(
        &self,
        target: &Path,
        keep_going: &mut dyn FnMut(u64) -> bool,
    ) -> Result<BackupManifest, BackupError> {
        let begun_at = format_timestamp(self.clock.now_ms());
        make_empty(target)?;
        let io = |source| BackupError::Io { path: target.to_owned(), source };
        let (from, to) = (self.path().canonicalize().map_err(io)?, target.canonicalize().map_err(io)?);
        if to.starts_with(&from) {
            fs::remove_dir(target).map_err(io)?;
            return Err(BackupError::Inside(target.to_owned()));
        }
        directory::mark_unfinished(target).map_err(io)?;
        let (items, numbers) = self.copy_engine(target, keep_going)?;
        let note = BackupManifest { items, last_write: numbers.last_write, begun_at };
        let mark = HighWaterMark { numbers, ..self.high_water.made_with() };
        directory::finish(target, Some(&note), mark).map_err(io)?;
        Ok(note)
    }

    /// Copies every entry of one view; returns how many items there are and the numbers of the last commit
    /// and write.
    fn copy_engine(
        &self,
        target: &Path,
        keep_going: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(u64, CommitNumbers), BackupError> {
        let path = engine_path(target);
        let fail = |source| BackupError::Engine { path: path.clone(), source: Box::new(source) };
        let view = self.engine.view()?;
        let sizes = EngineSizes { cache_bytes: CACHE_BYTES, memtable_bytes: self.memtable_bytes };
        let copy = EngineDatabase::open(&path, sizes).map_err(fail)?;
        let (mut copied, mut items) = (0, 0);
        for space in SPACES {
            let before = copied;
            copy_space(&view, space, &copy, target, &mut copied, keep_going)?;
            // Every item has one entry there.
            if space == KeySpace::Ids {
                items = copied - before;
            }
        }
        let numbers = counts_in(&view)?;
        copy.persist().map_err(fail)?;
        keep_going(copied);
        Ok((items, numbers))
    }
}

/// The numbers of the last commit and write of a view.
pub(super) fn counts_in(view: &View) -> Result<CommitNumbers, Fault> {
    let number = |name: &[u8]| -> Result<u64, Fault> {
        let bytes = view.get(KeySpace::Meta, name)?;
        Ok(bytes.and_then(|bytes| bytes.as_ref().try_into().map(u64::from_be_bytes).ok()).unwrap_or(0))
    };
    Ok(CommitNumbers { last_commit: number(META_COMMIT)?, last_write: number(META_SEQUENCE)? })
}

/// Copies one key space in the order of its keys, straight into tables.
fn copy_space(
    view: &View,
    space: KeySpace,
    copy: &EngineDatabase,
    target: &Path,
    copied: &mut u64,
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> Result<(), BackupError> {
    let fail = |source| BackupError::Engine { path: target.to_owned(), source: Box::new(source) };
    let mut entries = view.range(space, &[], keys::BEHIND_ALL).peekable();
    if entries.peek().is_none() {
        return Ok(());
    }
    let mut ingestion = copy.space(space).start_ingestion().map_err(fail)?;
    for entry in entries {
        let (key, value) = entry.pair()?;
        ingestion.write(key, value).map_err(fail)?;
        *copied += 1;
        if copied.is_multiple_of(PROGRESS_ENTRIES) && !(keep_going(*copied) && view.can_write()) {
            return Err(BackupError::Stopped(target.to_owned()));
        }
    }
    ingestion.finish().map_err(fail)
}

/// Restores a finished backup into a data directory. The backup does not change.
///
/// # Errors
/// See [`BackupError`]. The partial copy is marked as unfinished.
pub fn restore(
    from: &Path,
    to: &Path,
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> Result<BackupManifest, BackupError> {
    let note = read_manifest(from)?;
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
    let copied = counts_of_copy(to)?;
    let mut expected = mark.unwrap_or_default();
    expected.numbers.last_write = expected.numbers.last_write.max(note.last_write);
    refuse(from, high_water::missing_commits(Some(&expected), copied).into_iter().collect())?;
    directory::finish(to, None, HighWaterMark { numbers: copied, ..expected }).map_err(io)?;
    Ok(note)
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

/// The numbers of the last commit and write in a copy of a backup: opening it finds out whether all files are
/// there.
fn counts_of_copy(path: &Path) -> Result<CommitNumbers, BackupError> {
    let path = engine_path(path);
    let sizes = EngineSizes { cache_bytes: CACHE_BYTES, memtable_bytes: CACHE_BYTES };
    let engine = Engine::open(&path, sizes, Durability::Sync)?;
    Ok(counts_in(&engine.view()?)?)
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
