//! Secret file: stores the signing secrets of access tokens in a file of mode 0600, either in the data directory (made on the
//! first start) or at a path that the operator gives. A file that is too short or readable by others is refused and never
//! repaired silently. A change replaces the file atomically. Everything here blocks.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::signing_secrets::{SECRET_BYTES_MIN, Secrets, SecretsError, SigningSecret};
use onehop_runtime::private_files::{self, SharedFile};

/// The most bytes that are read: a list of the longest secrets fits.
const FILE_BYTES_MAX: u64 = 64 * 1024;

const DIRECTORY: &str = "secrets";
const FILE: &str = "access-token.key";
/// What the next content is written to. Only the process that made it may replace the file.
const NEXT: &str = "next";

/// A file of secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFile {
    path: PathBuf,
    /// Whether the program has made it: then no line break is at its end.
    is_ours: bool,
}

impl SecretFile {
    /// The one in a data directory.
    #[must_use]
    pub fn in_directory(data_directory: &Path) -> Self {
        Self { path: data_directory.join(DIRECTORY).join(FILE), is_ours: true }
    }

    /// One that the operator gives.
    #[must_use]
    pub fn given(path: &Path) -> Self {
        Self { path: path.to_owned(), is_ours: false }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is in it.
    ///
    /// # Errors
    /// The file cannot be read, is no secret and no list of them, or is open to others.
    pub fn read(&self) -> Result<Secrets, SecretFault> {
        let path = &self.path;
        let file = File::open(path).map_err(SecretFault::io("open", path))?;
        private_files::check_private(&file, path).map_err(SecretFault::io("look at", path))??;
        let mut bytes = Vec::with_capacity(SECRET_BYTES_MIN);
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(SecretFault::io("read", path))?;
        if !self.is_ours {
            bytes = without_line_break(bytes);
        }
        Secrets::from_bytes(bytes).map_err(|source| SecretFault::Content { path: path.to_owned(), source })
    }

    /// What is in it; where there is none, it is made first. It appears whole or not at all, and of several processes that
    /// start together all get the same one.
    ///
    /// # Errors
    /// As [`read`](Self::read), or it cannot be made.
    pub fn read_or_create(&self) -> Result<Secrets, SecretFault> {
        match self.read() {
            Err(SecretFault::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                self.create()?;
                self.read()
            }
            found => found,
        }
    }

    /// Replaces what is in it. One change at a time.
    ///
    /// # Errors
    /// The file cannot be read or written, another process is changing it, or the change is refused.
    pub fn change(
        &self,
        change: impl FnOnce(Secrets) -> Result<Secrets, SecretsError>,
    ) -> Result<Secrets, SecretFault> {
        let path = &self.path;
        let next = path.with_added_extension(NEXT);
        let mut file = new_private(&next).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => SecretFault::Changing { next: next.clone() },
            _ => SecretFault::io("make", &next)(source),
        })?;
        let changed = self.read().and_then(|secrets| {
            let content = |source| SecretFault::Content { path: path.clone(), source };
            let changed = change(secrets).map_err(content)?;
            file.write_all(&changed.to_list()).map_err(SecretFault::io("write", &next))?;
            // Whoever was allowed to read it still is.
            let permissions = fs::metadata(path).map_err(SecretFault::io("look at", path))?.permissions();
            file.set_permissions(permissions).map_err(SecretFault::io("set the mode of", &next))?;
            file.sync_all().map_err(SecretFault::io("sync", &next))?;
            fs::rename(&next, path).map_err(SecretFault::io("replace", path))?;
            Ok(changed)
        });
        match changed {
            Ok(changed) => {
                sync_parent(path)?;
                Ok(changed)
            }
            Err(fault) => {
                // What is left of it holds nothing that is in use.
                let _ = fs::remove_file(&next);
                Err(fault)
            }
        }
    }

    fn create(&self) -> Result<(), SecretFault> {
        let secret = SigningSecret::random().map_err(SecretFault::Randomness)?;
        create_whole(&self.path, secret.as_bytes())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SecretFault {
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Content { path: PathBuf, source: SecretsError },
    #[error(transparent)]
    Shared(#[from] SharedFile),
    #[error("another command is changing the secrets, or was ended while it did: then delete {}", next.display())]
    Changing { next: PathBuf },
    #[error("the system gave no random bytes")]
    Randomness(#[source] getrandom::Error),
}

impl SecretFault {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }
}

/// A line break at the end is not part of a secret, so that a file and a variable with the same text are the same.
#[must_use]
pub fn without_line_break(mut bytes: Vec<u8>) -> Vec<u8> {
    for end in [b'\n', b'\r'] {
        if bytes.last() == Some(&end) {
            bytes.pop();
        }
    }
    bytes
}

/// The content of another file beside the secret of a data directory. Where there is none, it is made with this content; of
/// several processes that start together all get the same one.
pub(super) fn read_or_create_beside(
    data_directory: &Path,
    name: &str,
    content: &[u8],
) -> Result<Vec<u8>, SecretFault> {
    let path = data_directory.join(DIRECTORY).join(name);
    private_files::make_directory(parent(&path)).map_err(SecretFault::io("make", &path))?;
    private_files::mend_tree(&path).map_err(SecretFault::io("set the mode of", &path))?;
    match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_whole(&path, content)?;
            fs::read(&path).map_err(SecretFault::io("read", &path))
        }
        read => read.map_err(SecretFault::io("read", &path)),
    }
}

/// Makes a private file that appears whole or not at all, unless another process was faster.
fn create_whole(path: &Path, content: &[u8]) -> Result<(), SecretFault> {
    let directory = parent(path);
    let mut suffix = [0; 8];
    getrandom::fill(&mut suffix).map_err(SecretFault::Randomness)?;
    let temporary = path.with_added_extension(format!("{:016x}", u64::from_le_bytes(suffix)));
    private_files::make_directory(directory).map_err(SecretFault::io("make", directory))?;
    write_private(&temporary, content).map_err(SecretFault::io("write", &temporary))?;
    publish(&temporary, path).map_err(SecretFault::io("make", path))?;
    sync_parent(path)
}

fn sync_parent(path: &Path) -> Result<(), SecretFault> {
    let directory = parent(path);
    sync_directory(directory).map_err(SecretFault::io("sync", directory))
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn new_private(path: &Path) -> io::Result<File> {
    private_files::file_options().write(true).create_new(true).open(path)
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = new_private(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A link, unlike a rename, does not replace the secret of a process that was faster. Some network file systems
/// have no links; there a rename must do.
fn publish(temporary: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(temporary, path) {
        Ok(()) => fs::remove_file(temporary),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => fs::remove_file(temporary),
        Err(_) => fs::rename(temporary, path),
    }
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::super::signing_secrets::SecretLengthError;
    use super::*;

    fn read_or_create(data: &tempfile::TempDir) -> Result<Secrets, SecretFault> {
        SecretFile::in_directory(data.path()).read_or_create()
    }

    fn left(data: &tempfile::TempDir) -> usize {
        fs::read_dir(data.path().join(DIRECTORY)).unwrap().count()
    }

    #[test]
    fn the_secret_of_the_first_start_is_that_of_every_later_one() {
        let data = tempfile::tempdir().unwrap();
        let first = read_or_create(&data).unwrap();
        assert_eq!(first, read_or_create(&data).unwrap());
        assert_eq!(first.signing().as_bytes().len(), SECRET_BYTES_MIN);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(first, read_or_create(&other).unwrap());
    }

    #[test]
    fn processes_that_start_together_share_one_secret() {
        let data = tempfile::tempdir().unwrap();
        let starts: Vec<_> = std::thread::scope(|scope| {
            let starting: Vec<_> = (0..8).map(|_| scope.spawn(|| read_or_create(&data).unwrap())).collect();
            starting.into_iter().map(|start| start.join().unwrap()).collect()
        });
        assert!(starts.windows(2).all(|pair| pair[0] == pair[1]));
        assert_eq!(left(&data), 1, "no temporary file is left");
    }

    #[test]
    fn only_the_owner_may_read_the_file_and_its_directory() {
        use std::os::unix::fs::PermissionsExt as _;
        let data = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        read_or_create(&data).unwrap();
        let file = SecretFile::in_directory(data.path());
        for _ in 0..2 {
            assert_eq!(mode(&data.path().join(DIRECTORY)), 0o700);
            assert_eq!(mode(file.path()), 0o600);
            file.change(|secrets| secrets.with(SigningSecret::random().unwrap())).unwrap();
        }
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let data = tempfile::tempdir().unwrap();
        read_or_create(&data).unwrap();
        let path = data.path().join(DIRECTORY).join(FILE);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        for file in [SecretFile::in_directory(data.path()), SecretFile::given(&path)] {
            let refused = file.read_or_create().unwrap_err();
            assert!(matches!(&refused, SecretFault::Shared(shared) if shared.mode == 0o640), "{refused:?}");
            let command = format!("(mode 0640): run `chmod 600 {}`", path.display());
            assert!(refused.to_string().contains(&command), "{refused}");
        }
    }

    #[test]
    fn a_file_that_is_too_short_is_refused_and_kept() {
        let data = tempfile::tempdir().unwrap();
        let directory = data.path().join(DIRECTORY);
        private_files::make_directory(&directory).unwrap();
        write_private(&directory.join(FILE), b"too short").unwrap();
        let refused = read_or_create(&data).unwrap_err();
        let length = SecretsError::Length(SecretLengthError { actual: 9 });
        assert!(matches!(refused, SecretFault::Content { source, .. } if source == length));
        assert_eq!(fs::read(directory.join(FILE)).unwrap(), b"too short");
    }

    #[test]
    fn a_change_keeps_the_secret_of_the_first_start() {
        let data = tempfile::tempdir().unwrap();
        let first = read_or_create(&data).unwrap();
        let file = SecretFile::in_directory(data.path());
        let new = SigningSecret::random().unwrap();
        let changed = file.change(|secrets| secrets.with(new.clone())).unwrap();
        assert_eq!(changed, first.with(new).unwrap());
        assert_eq!(file.read().unwrap(), changed);
        assert_eq!(left(&data), 1, "no temporary file is left");
    }

    #[test]
    fn a_change_that_is_refused_changes_nothing() {
        let data = tempfile::tempdir().unwrap();
        let first = read_or_create(&data).unwrap();
        let file = SecretFile::in_directory(data.path());
        assert!(file.change(|secrets| secrets.without("nothing")).is_err());
        assert_eq!((file.read().unwrap(), left(&data)), (first, 1));
    }

    #[test]
    fn two_changes_at_once_do_not_lose_one() {
        let data = tempfile::tempdir().unwrap();
        let first = read_or_create(&data).unwrap();
        let file = SecretFile::in_directory(data.path());
        let changed = file.change(|secrets| {
            let meanwhile = file.change(|secrets| secrets.with(SigningSecret::random().unwrap()));
            assert!(matches!(meanwhile, Err(SecretFault::Changing { .. })), "{meanwhile:?}");
            secrets.with(SigningSecret::random().unwrap())
        });
        assert_eq!(changed.unwrap().iter().count(), 2);
        assert_ne!(file.read().unwrap(), first);
    }
}
