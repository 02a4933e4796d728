//! File permissions: keeps the files of the program private to its user (files 0600, directories 0700) under
//! every umask, and refuses secret files that other users can read. Knows no content of any file.

use std::fmt;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The mode of a private file.
pub const FILE_MODE: u32 = 0o600;
/// The mode of a private directory.
pub const DIRECTORY_MODE: u32 = 0o700;

/// All permissions of the group and of others.
const SHARED: u32 = 0o077;
/// Write permissions of the group and of others.
const SHARED_WRITE: u32 = 0o022;
/// Permissions that neither the group nor others may have on a file of another owner. An orchestrator mounts
/// a secret as root's and lets the group of the process read it.
const SHARED_BEYOND_GROUP_READ: u32 = 0o037;
/// The sticky bit of a directory such as `/tmp`, which is shared on purpose.
const STICKY: u32 = 0o1000;

/// Sets the umask of this process, so that files are private when libraries make them.
pub fn set_umask() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(SHARED));
}

/// Options that make a file with mode 0600.
#[must_use]
pub fn file_options() -> OpenOptions {
    let mut options = File::options();
    options.mode(FILE_MODE);
    options
}

/// Makes a directory with mode 0700, and its parents, or takes other users' permissions away from an existing
/// one.
///
/// # Errors
/// The directory cannot be made. Permissions that cannot be taken away are logged.
pub fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path)?;
    // A data directory may be a link to one.
    let target = path.canonicalize()?;
    mend(&target)
}

/// Locks a directory exclusively until the handle is dropped. Waits for a process that holds the lock.
///
/// # Errors
/// The directory cannot be opened, or its file system has no locks.
pub fn lock_directory(path: &Path) -> io::Result<File> {
    let directory = File::open(path)?;
    directory.lock()?;
    Ok(directory)
}

/// Writes a private file that appears whole or not at all, and lasts when this returns. One process at a time
/// may do so in a directory: the unfinished file has a fixed name, so the next write replaces a file left
/// behind by a crash.
///
/// # Errors
/// The file cannot be written; then it is as it was before.
pub fn write_atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    let unfinished = path.with_file_name(".unfinished");
    unless_missing(fs::remove_file(&unfinished))?;
    let mut file = file_options().write(true).create_new(true).open(&unfinished)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&unfinished, path)?;
    path.parent().map_or(Ok(()), sync_directory)
}

/// Brings the names in a directory to the disk.
///
/// # Errors
/// The directory cannot be opened or synced.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path)?.sync_all()
}

/// Takes other users' permissions away from files and directories, with everything in them. Missing ones are
/// left out, and symbolic links are not followed.
///
/// # Errors
/// A directory cannot be read. Permissions that cannot be taken away are logged.
pub fn mend_tree(path: &Path) -> io::Result<()> {
    let Some(metadata) = unless_missing(fs::symlink_metadata(path))? else { return Ok(()) };
    if metadata.is_symlink() {
        return Ok(());
    }
    mend(path)?;
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            mend_tree(&entry?.path())?;
        }
    }
    Ok(())
}

/// Takes other users' permissions away from one file or directory.
fn mend(path: &Path) -> io::Result<()> {
    let Some(metadata) = unless_missing(fs::symlink_metadata(path))? else { return Ok(()) };
    let mode = metadata.mode();
    if mode & SHARED == 0 || !(metadata.is_file() || metadata.is_dir()) {
        return Ok(());
    }
    if metadata.is_dir() && mode & STICKY != 0 {
        tracing::warn!(path = %path.display(), "the directory is shared with other users: use one of its own");
        return Ok(());
    }
    match take_away(path, mode) {
        Ok(()) => {
            tracing::info!(path = %path.display(), "other users' permissions were taken away");
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let command = ChmodCommand { path: path.to_owned(), is_directory: metadata.is_dir() };
            tracing::warn!(path = %path.display(), %command, "other users' permissions cannot be taken away");
            Ok(())
        }
        Err(error) => unless_missing(Err(error)).map(|_: Option<()>| ()),
    }
}

/// By a descriptor, so that a link that takes the place of the file meanwhile is not followed.
fn take_away(path: &Path, mode: u32) -> io::Result<()> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    file.set_permissions(Permissions::from_mode(mode & 0o7777 & !SHARED))
}

fn unless_missing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Why a secret file, or a directory of secret files, is refused: other users can read the file, or add to
/// the directory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "others may read or change it (mode {mode:04o}): run `{command}`, or mount it with such a mode, and replace \
     the secret if one of them may have read it"
)]
pub struct SharedFile {
    /// The permission bits, such as `0o644`.
    pub mode: u32,
    command: ChmodCommand,
}

/// Whether a secret file is private: the file's owner is the only user with permissions. If this process is
/// not the owner, the group may read the file. Pipes and other special files have no readers to refuse.
///
/// # Errors
/// The metadata of the file cannot be read; within it, the refusal.
pub fn check_private(file: &File, path: &Path) -> io::Result<Result<(), SharedFile>> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Ok(()));
    }
    let is_owner = metadata.uid() == rustix::process::geteuid().as_raw();
    let (mode, forbidden) =
        (metadata.mode() & 0o7777, if is_owner { SHARED } else { SHARED_BEYOND_GROUP_READ });
    Ok(if mode & forbidden == 0 { Ok(()) } else { Err(refusal(mode, path, false)) })
}

/// Whether the owner of a directory is the only user who may add files to it. A directory with the sticky bit
/// passes, since orchestrators mount secrets in one: there the owner of each file has to be checked.
///
/// # Errors
/// The refusal.
pub fn check_directory(metadata: &Metadata, path: &Path) -> Result<(), SharedFile> {
    let mode = metadata.mode() & 0o7777;
    if mode & SHARED_WRITE == 0 || mode & STICKY != 0 { Ok(()) } else { Err(refusal(mode, path, true)) }
}

fn refusal(mode: u32, path: &Path, is_directory: bool) -> SharedFile {
    SharedFile { mode, command: ChmodCommand { path: path.to_owned(), is_directory } }
}

/// The shell command that makes a path private.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ChmodCommand {
    path: PathBuf,
    is_directory: bool,
}

impl fmt::Display for ChmodCommand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display().to_string();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+,@%".contains(&byte);
        let path = if !path.is_empty() && !path.starts_with('-') && path.bytes().all(is_plain) {
            path
        } else {
            format!("-- '{}'", path.replace('\'', r"'\''"))
        };
        write!(formatter, "chmod {} {path}", if self.is_directory { 700 } else { 600 })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn file(path: &Path, mode: u32) {
        fs::write(path, "x").unwrap();
        set_mode(path, mode);
    }

    #[test]
    fn a_new_directory_and_its_parents_are_private() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("a/b");
        make_directory(&inner).unwrap();
        assert_eq!((mode(&inner), mode(&outer.path().join("a"))), (0o700, 0o700));
    }

    #[test]
    fn an_existing_tree_is_mended_and_links_are_not_followed() {
        let outer = tempfile::tempdir().unwrap();
        let [tree, elsewhere] = ["tree", "elsewhere"].map(|name| outer.path().join(name));
        fs::create_dir_all(tree.join("inner")).unwrap();
        file(&elsewhere, 0o644);
        file(&tree.join("inner/table"), 0o666);
        symlink(&elsewhere, tree.join("link")).unwrap();
        set_mode(&tree.join("inner"), 0o777);
        set_mode(&tree, 0o2755);
        mend_tree(&tree).unwrap();
        assert_eq!(mode(&tree) & 0o777, 0o700);
        assert_eq!((mode(&tree.join("inner")), mode(&tree.join("inner/table"))), (0o700, 0o600));
        assert_eq!(mode(&elsewhere), 0o644);
        mend_tree(&outer.path().join("missing")).unwrap();
    }

    #[test]
    fn a_link_to_a_directory_has_its_target_mended() {
        let outer = tempfile::tempdir().unwrap();
        let [target, link] = ["target", "link"].map(|name| outer.path().join(name));
        fs::create_dir(&target).unwrap();
        set_mode(&target, 0o755);
        symlink(&target, &link).unwrap();
        make_directory(&link).unwrap();
        assert_eq!(mode(&target), 0o700);
    }

    #[test]
    fn a_directory_that_is_shared_on_purpose_stays_as_it_is() {
        let outer = tempfile::tempdir().unwrap();
        set_mode(outer.path(), 0o1777);
        make_directory(outer.path()).unwrap();
        assert_eq!(mode(outer.path()), 0o1777);
    }

    #[test]
    fn a_secret_file_that_others_can_read_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        let path = outer.path().join("my key");
        for (mode, is_private) in
            [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o620, false)]
        {
            file(&path, mode);
            let checked = check_private(&File::open(&path).unwrap(), &path).unwrap();
            assert_eq!(checked.is_ok(), is_private, "{mode:o}");
            set_mode(&path, 0o600);
        }
        file(&path, 0o644);
        let refused = check_private(&File::open(&path).unwrap(), &path).unwrap().unwrap_err();
        let command = format!("(mode 0644): run `chmod 600 -- '{}'`", path.display());
        assert!(refused.to_string().contains(&command), "{refused}");
    }

    #[test]
    fn a_directory_to_which_others_can_add_files_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        for (mode, is_private) in
            [(0o700, true), (0o755, true), (0o1777, true), (0o770, false), (0o702, false)]
        {
            set_mode(outer.path(), mode);
            let checked = check_directory(&fs::metadata(outer.path()).unwrap(), outer.path());
            assert_eq!(checked.is_ok(), is_private, "{mode:o}");
            if let Err(refused) = checked {
                let command = format!("(mode {mode:04o}): run `chmod 700 {}`", outer.path().display());
                assert!(refused.to_string().contains(&command), "{refused}");
            }
        }
    }

    #[test]
    fn a_file_is_replaced_whole_also_after_a_crash() {
        let outer = tempfile::tempdir().unwrap();
        let path = outer.path().join("key");
        file(&outer.path().join(".unfinished"), 0o644);
        for content in ["first", "second"] {
            write_atomically(&path, content.as_bytes()).unwrap();
            assert_eq!((fs::read_to_string(&path).unwrap(), mode(&path)), (content.to_owned(), 0o600));
            assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1);
        }
    }
}
