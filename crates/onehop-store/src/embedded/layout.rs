//! Layout of a data directory: where the storage engine has its files, and how new names get to the disk.

use std::fs::File;
use std::path::{Path, PathBuf};

use onehop_runtime::private_files;

/// The directory of the storage engine.
pub(super) const ENGINE_DIRECTORY: &str = "engine";

/// Where the storage engine keeps its files in a data directory.
pub(super) fn engine_path(path: &Path) -> PathBuf {
    path.join(ENGINE_DIRECTORY)
}

/// Makes a file that is not there yet.
pub(super) fn new_file(path: &Path) -> std::io::Result<File> {
    private_files::file_options().write(true).create_new(true).open(path)
}

/// Brings the names in a directory to the disk.
pub(super) fn sync_directory(path: &Path) -> std::io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Bytes free for this process on the file system that holds a path; `None` where the system does not say.
pub(super) fn free_bytes(path: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(path).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}
