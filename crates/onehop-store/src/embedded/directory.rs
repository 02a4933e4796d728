//! Data directory: the lock of one process, and the version of the format.

use std::cmp::Ordering;
use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::backup_manifest::{BACKUP_FILE, BackupManifest};
use super::high_water::HighWaterTracker;
use super::high_water_mark::{HighWaterMark, MARK_FILE};
use super::layout::{ENGINE_DIRECTORY, engine_path, new_file, sync_directory};
use super::lineage::LINEAGE_FILE;
use super::open_error::OpenError;
use super::salvage::complete as complete_exchange;
#[cfg(feature = "simulation")]
use super::simulated::{DiskLock, SimulatedDisk};
use super::store_files::StoreFiles;
use onehop_runtime::private_files;

/// The format of the data directory that this program reads and writes.
pub(super) const FORMAT_VERSION: u32 = 2;

const LOCK_FILE: &str = "lock";
/// Attempts at a lock that this process itself holds.
const LOCK_ATTEMPTS_MAX: u32 = 100;
const LOCK_RETRY: Duration = Duration::from_millis(2);
const FORMAT_FILE: &str = "format";
const FORMAT_FILE_UNFINISHED: &str = "format.unfinished";
/// There from the beginning of a backup or a restoring to its end.
const UNFINISHED_FILE: &str = "unfinished";

/// A data directory that is locked as long as this lives.
pub(super) struct Directory {
    files: StoreFiles,
    /// Written when the directory is closed; absent until it was opened to the end.
    high_water: OnceLock<Arc<HighWaterTracker>>,
    _lock: DirectoryLock,
}

/// The lock that keeps other processes out of a data directory.
enum DirectoryLock {
    File {
        _file: File,
    },
    #[cfg(feature = "simulation")]
    Simulated {
        _lock: DiskLock,
    },
}

impl Directory {
    /// Makes the directory where it is missing, locks it, checks its format, and takes other users'
    /// permissions away.
    pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
        let io = |source| OpenError::Io { path: path.to_owned(), source };
        private_files::make_directory(path).map_err(io)?;
        let lock_path = path.join(LOCK_FILE);
        let mut lock = private_files::file_options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock_path)
            .map_err(io)?;
        try_lock(&mut lock, path)?;
        lock.set_len(0).and_then(|()| lock.rewind()).map_err(io)?;
        writeln!(lock, "{}", std::process::id()).map_err(io)?;
        check_finished(path)?;
        complete_exchange(path).map_err(io)?;
        check_format(path)?;
        mend_permissions(path).map_err(io)?;
        let files = StoreFiles::Directory(path.to_owned());
        Ok(Self { files, high_water: OnceLock::new(), _lock: DirectoryLock::File { _file: lock } })
    }

    /// Locks a simulated disk, under the path that messages name.
    #[cfg(feature = "simulation")]
    pub(super) fn simulated(path: &Path, disk: &SimulatedDisk) -> Result<Self, OpenError> {
        let lock = disk.lock().ok_or_else(|| OpenError::InUse { path: path.to_owned(), holder: None })?;
        let files = StoreFiles::Simulated(lock.files(path));
        Ok(Self { files, high_water: OnceLock::new(), _lock: DirectoryLock::Simulated { _lock: lock } })
    }

    /// Makes a data directory of a former backup after all of it was opened: new writes are not part of the
    /// backup.
    pub(super) fn end_backup(&self) -> Result<(), OpenError> {
        #[cfg(feature = "simulation")]
        if matches!(self.files, StoreFiles::Simulated(..)) {
            return Ok(());
        }
        let path = self.path();
        match fs::remove_file(path.join(BACKUP_FILE)) {
            Ok(()) => sync_directory(path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
        .map_err(|source| OpenError::Io { path: path.to_owned(), source })
    }

    /// Where the storage engine keeps its files.
    pub(super) fn engine_path(&self) -> PathBuf {
        engine_path(self.path())
    }

    /// The directory itself.
    pub(super) fn path(&self) -> &Path {
        self.files.path()
    }

    /// The place of the store's own files.
    pub(super) fn files(&self) -> &StoreFiles {
        &self.files
    }

    /// Has this mark closed when the directory is: the engine has to be closed before.
    pub(super) fn close_with(&self, high_water: Arc<HighWaterTracker>) {
        let _ = self.high_water.set(high_water);
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Some(high_water) = self.high_water.get() {
            high_water.close();
        }
    }
}

/// Takes other users' permissions away from the store's files in a data directory. The signing keys are not
/// among them: a key that others can read is refused and not mended in silence.
fn mend_permissions(path: &Path) -> std::io::Result<()> {
    for name in [LOCK_FILE, FORMAT_FILE, MARK_FILE, BACKUP_FILE, LINEAGE_FILE, ENGINE_DIRECTORY] {
        private_files::mend_tree(&path.join(name))?;
    }
    Ok(())
}

/// Locks the file, or says which process holds it. Where that is this process, it tries for a while: a child
/// that this process is starting has inherited the lock, and holds it until it runs its own program.
#[expect(clippy::disallowed_methods, reason = "a real file, never in a simulation")]
fn try_lock(lock: &mut File, path: &Path) -> Result<(), OpenError> {
    try_lock_with(lock, path, || std::thread::sleep(LOCK_RETRY))
}

/// [`try_lock`], which calls `wait` before each attempt but the first.
fn try_lock_with(lock: &mut File, path: &Path, mut wait: impl FnMut()) -> Result<(), OpenError> {
    let own = std::process::id().to_string();
    let mut holder = None;
    for _ in 0..LOCK_ATTEMPTS_MAX {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => holder = holder_of(lock),
            Err(TryLockError::Error(source)) => return Err(OpenError::Io { path: path.to_owned(), source }),
        }
        if holder.as_ref() != Some(&own) {
            break;
        }
        wait();
    }
    Err(OpenError::InUse { path: path.to_owned(), holder })
}

/// The process that a lock file names.
fn holder_of(lock: &mut File) -> Option<String> {
    let mut text = String::new();
    lock.rewind().and_then(|()| lock.read_to_string(&mut text)).ok()?;
    let pid = text.trim();
    (!pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit())).then(|| pid.to_owned())
}

/// Locks a data directory and changes nothing in it. `None` for a directory that was never opened, such as a
/// backup: it has no lock.
pub(super) fn lock_without_a_trace(path: &Path) -> Result<Option<File>, OpenError> {
    match File::open(path.join(LOCK_FILE)) {
        Ok(mut lock) => try_lock(&mut lock, path).map(|()| Some(lock)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(OpenError::Io { path: path.to_owned(), source }),
    }
}

/// Refuses a directory without a format that this program reads, and an unfinished directory.
pub(super) fn check_without_a_trace(path: &Path) -> Result<(), OpenError> {
    check_finished(path)?;
    let format_path = path.join(FORMAT_FILE);
    if format_path.exists() || engine_path(path).exists() {
        check_format(path)
    } else {
        Err(OpenError::NotADataDirectory { path: format_path })
    }
}

fn check_finished(path: &Path) -> Result<(), OpenError> {
    if path.join(UNFINISHED_FILE).exists() {
        return Err(OpenError::Unfinished { path: path.to_owned() });
    }
    Ok(())
}

/// Marks a directory as unfinished, on the disk, before anything else is in it.
pub(super) fn mark_unfinished(path: &Path) -> std::io::Result<()> {
    new_file(&path.join(UNFINISHED_FILE))?.sync_all()?;
    sync_directory(path)
}

/// Completes a directory that holds all its files: as a backup with a note, as a data directory without. The
/// mark goes last.
pub(super) fn finish(path: &Path, note: Option<&BackupManifest>, mark: HighWaterMark) -> std::io::Result<()> {
    if let Some(note) = note {
        note.write(path)?;
    }
    mend_permissions(path)?;
    sync_directory(&engine_path(path))?;
    mark.closed(path)?.write(path)?;
    write_format(path)?;
    fs::remove_file(path.join(UNFINISHED_FILE))?;
    sync_directory(path)
}

fn check_format(path: &Path) -> Result<(), OpenError> {
    let format_path = path.join(FORMAT_FILE);
    let io = |source| OpenError::Io { path: format_path.clone(), source };
    match fs::read_to_string(&format_path) {
        Ok(text) => {
            let found: u32 = text
                .trim()
                .parse()
                .map_err(|_| OpenError::NotADataDirectory { path: format_path.clone() })?;
            let (path, known) = (path.to_owned(), FORMAT_VERSION);
            match found.cmp(&known) {
                Ordering::Less => Err(OpenError::OlderFormat { path, found, known }),
                Ordering::Equal => Ok(()),
                Ordering::Greater => Err(OpenError::NewerFormat { path, found, known }),
            }
        }
        // The format is written before anything else is made.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => match engine_path(path).exists() {
            true => Err(OpenError::FormatMissing { path: format_path, known: FORMAT_VERSION }),
            false => write_format(path).map_err(io),
        },
        Err(source) => Err(io(source)),
    }
}

/// Writes the format file under another name first: a crash leaves no file or a whole file.
fn write_format(path: &Path) -> std::io::Result<()> {
    let unfinished = path.join(FORMAT_FILE_UNFINISHED);
    let mut file = private_files::file_options().write(true).create(true).truncate(true).open(&unfinished)?;
    writeln!(file, "{FORMAT_VERSION}")?;
    file.sync_all()?;
    fs::rename(&unfinished, path.join(FORMAT_FILE))?;
    sync_directory(path)?;
    match path.canonicalize()?.parent() {
        Some(parent) => sync_directory(parent),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lock file that names a process, and the file that holds its lock.
    fn held_by(path: &Path, process: u32) -> File {
        let mut holder = private_files::file_options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path.join(LOCK_FILE))
            .expect("a lock file");
        holder.try_lock().expect("nobody else holds it");
        write!(holder, "{process}").expect("written");
        holder
    }

    fn lock_file(path: &Path) -> File {
        File::open(path.join(LOCK_FILE)).expect("a lock file")
    }

    #[test]
    fn a_lock_that_a_child_of_this_process_holds_is_awaited() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut holder = Some(held_by(directory.path(), std::process::id()));
        let mut waits = 0;
        let outcome = try_lock_with(&mut lock_file(directory.path()), directory.path(), || {
            waits += 1;
            if waits == 3 {
                holder.take();
            }
        });
        assert!(outcome.is_ok(), "{outcome:?}");
        assert_eq!(waits, 3);
    }

    #[test]
    fn a_lock_that_this_process_keeps_is_refused_after_the_last_attempt() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let _holder = held_by(directory.path(), std::process::id());
        let mut waits = 0;
        let outcome = try_lock_with(&mut lock_file(directory.path()), directory.path(), || waits += 1);
        let own = Some(std::process::id().to_string());
        assert!(matches!(&outcome, Err(OpenError::InUse { holder, .. }) if *holder == own), "{outcome:?}");
        assert_eq!(waits, LOCK_ATTEMPTS_MAX);
    }

    #[test]
    fn a_lock_of_another_process_is_refused_at_once() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let other = std::process::id() + 1;
        let _holder = held_by(directory.path(), other);
        let mut waits = 0;
        let outcome = try_lock_with(&mut lock_file(directory.path()), directory.path(), || waits += 1);
        let named = Some(other.to_string());
        assert!(matches!(&outcome, Err(OpenError::InUse { holder, .. }) if *holder == named), "{outcome:?}");
        assert_eq!(waits, 0);
    }
}
