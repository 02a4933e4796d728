//! The secret that signs access tokens: made on the first start, kept in a file that only its owner may read.
//! A file that is too short or readable by others is refused and never repaired in silence.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// The fewest bytes of a secret: RFC 7518, section 3.2, asks for as many as the hash has.
pub const SECRET_BYTES_MIN: usize = 32;
/// The most bytes that are read; a larger file is not a secret.
pub const SECRET_BYTES_MAX: usize = 4096;

const DIRECTORY: &str = "secrets";
const FILE: &str = "access-token.key";

/// Never shown.
#[derive(Clone)]
pub struct SigningSecret(Vec<u8>);

impl SigningSecret {
    /// A secret from elsewhere, such as one that several processes share.
    ///
    /// # Errors
    /// The secret has a wrong length.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, SecretLengthError> {
        if (SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&bytes.len()) {
            Ok(Self(bytes))
        } else {
            Err(SecretLengthError { actual: bytes.len() })
        }
    }

    /// Reads `secrets/access-token.key` in the data directory, and makes it first when there is none. It appears
    /// whole or not at all, and of several processes that start together all get the same one. This blocks.
    ///
    /// # Errors
    /// The file cannot be made or read, has a wrong length, or is open to others.
    pub fn load_or_create(data_directory: &Path) -> Result<Self, SecretFault> {
        let directory = data_directory.join(DIRECTORY);
        let path = directory.join(FILE);
        match read(&path) {
            Err(SecretFault::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                create(&directory, &path)?;
                read(&path)
            }
            found => found,
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SigningSecret(..)")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a signing secret must have {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} bytes, this one has {actual}")]
pub struct SecretLengthError {
    /// For a file beyond the limit: the limit and one.
    pub actual: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum SecretFault {
    #[error("cannot {action} {}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{}", path.display())]
    Length { path: PathBuf, source: SecretLengthError },
    #[error("{} may be read by others (mode {mode:04o}): set it to 0600, or delete it to have a new one", path.display())]
    Open { path: PathBuf, mode: u32 },
    #[error("the system gave no random bytes")]
    Randomness(#[source] getrandom::Error),
}

impl SecretFault {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }
}

fn read(path: &Path) -> Result<SigningSecret, SecretFault> {
    let file = File::open(path).map_err(SecretFault::io("open", path))?;
    refuse_open_mode(&file, path)?;
    let mut bytes = Vec::with_capacity(SECRET_BYTES_MIN);
    let limit = SECRET_BYTES_MAX as u64 + 1;
    file.take(limit).read_to_end(&mut bytes).map_err(SecretFault::io("read", path))?;
    SigningSecret::from_bytes(bytes).map_err(|source| SecretFault::Length { path: path.to_owned(), source })
}

#[cfg(unix)]
fn refuse_open_mode(file: &File, path: &Path) -> Result<(), SecretFault> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = file.metadata().map_err(SecretFault::io("look at", path))?.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(SecretFault::Open { path: path.to_owned(), mode }) }
}

#[cfg(not(unix))]
fn refuse_open_mode(_file: &File, _path: &Path) -> Result<(), SecretFault> {
    Ok(())
}

fn create(directory: &Path, path: &Path) -> Result<(), SecretFault> {
    let mut secret = [0; SECRET_BYTES_MIN];
    getrandom::fill(&mut secret).map_err(SecretFault::Randomness)?;
    let mut suffix = [0; 8];
    getrandom::fill(&mut suffix).map_err(SecretFault::Randomness)?;
    let temporary = directory.join(format!("{FILE}.{:016x}", u64::from_le_bytes(suffix)));

    private_directory(directory).map_err(SecretFault::io("make", directory))?;
    write_private(&temporary, &secret).map_err(SecretFault::io("write", &temporary))?;
    publish(&temporary, path).map_err(SecretFault::io("make", path))?;
    sync_directory(directory).map_err(SecretFault::io("sync", directory))
}

fn private_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
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

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_of_the_first_start_is_that_of_every_later_one() {
        let data = tempfile::tempdir().unwrap();
        let first = SigningSecret::load_or_create(data.path()).unwrap();
        let second = SigningSecret::load_or_create(data.path()).unwrap();
        assert_eq!(first.as_bytes(), second.as_bytes());
        assert_eq!(first.as_bytes().len(), SECRET_BYTES_MIN);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(first.as_bytes(), SigningSecret::load_or_create(other.path()).unwrap().as_bytes());
    }

    #[test]
    fn processes_that_start_together_share_one_secret() {
        let data = tempfile::tempdir().unwrap();
        let starts: Vec<_> = std::thread::scope(|scope| {
            let starting: Vec<_> =
                (0..8).map(|_| scope.spawn(|| SigningSecret::load_or_create(data.path()).unwrap())).collect();
            starting.into_iter().map(|start| start.join().unwrap()).collect()
        });
        assert!(starts.windows(2).all(|pair| pair[0].as_bytes() == pair[1].as_bytes()));
        let left = fs::read_dir(data.path().join(DIRECTORY)).unwrap().count();
        assert_eq!(left, 1, "no temporary file is left");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_may_read_the_file_and_its_directory() {
        use std::os::unix::fs::PermissionsExt as _;
        let data = tempfile::tempdir().unwrap();
        SigningSecret::load_or_create(data.path()).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&data.path().join(DIRECTORY)), 0o700);
        assert_eq!(mode(&data.path().join(DIRECTORY).join(FILE)), 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let data = tempfile::tempdir().unwrap();
        SigningSecret::load_or_create(data.path()).unwrap();
        let path = data.path().join(DIRECTORY).join(FILE);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let refused = SigningSecret::load_or_create(data.path()).unwrap_err();
        assert!(matches!(refused, SecretFault::Open { mode: 0o640, .. }));
        assert!(refused.to_string().contains("(mode 0640): set it to 0600"), "{refused}");
    }

    #[test]
    fn a_file_that_is_too_short_is_refused_and_kept() {
        let data = tempfile::tempdir().unwrap();
        let directory = data.path().join(DIRECTORY);
        private_directory(&directory).unwrap();
        write_private(&directory.join(FILE), b"too short").unwrap();
        let refused = SigningSecret::load_or_create(data.path()).unwrap_err();
        assert!(matches!(refused, SecretFault::Length { source: SecretLengthError { actual: 9 }, .. }));
        assert_eq!(fs::read(directory.join(FILE)).unwrap(), b"too short");
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", SigningSecret::from_bytes(vec![7; 32]).unwrap()), "SigningSecret(..)");
    }
}
