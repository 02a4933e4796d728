//! Key directory: stores the signing keys of access tokens, one file of mode 0600 for each key in a directory
//! of mode 0700. It is in the data directory (made on the first start), or at a path that the operator gives.
//! Everything here blocks.
//!
//! The name of a key file is the time from which the key signs (`2026-11-20T09-30-00.125Z.key`), its content
//! the secret in base64. A file appears whole or not at all. Writers of the directory hold an exclusive lock
//! on it; readers need no lock. Secret files of former versions are read, too, and replaced by the first
//! change.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::secret_file::{self, KeyFileError, KeyFileFault, private_bytes, without_line_break};
use super::signing_secrets::{KeyId, SigningKey, SigningKeys, SigningSecret};
use onehop_runtime::clock::{format_timestamp, parse_timestamp};
use onehop_runtime::private_files::{self, sync_directory};

/// The part of a data directory that is in no backup.
pub(super) const SECRETS_DIRECTORY: &str = "secrets";
const KEYS_DIRECTORY: &str = "access-token-keys";
/// The secret file of former versions.
const FORMER_FILE: &str = "access-token.key";
const EXTENSION: &str = "key";

/// A directory of key files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDirectory {
    path: PathBuf,
    /// A secret file that the directory replaces. For a given path it is at the same path.
    secret_file: PathBuf,
}

/// The result of a rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRotation {
    pub new: KeyId,
    /// Unix ms.
    pub signs_from_ms: i64,
    /// The key that signed before, and its file.
    pub former: Option<(KeyId, PathBuf)>,
    /// Keys whose tokens have all expired.
    pub removed: Vec<KeyId>,
}

impl KeyDirectory {
    /// The one in a data directory.
    #[must_use]
    pub fn in_data_directory(data_directory: &Path) -> Self {
        let secrets = data_directory.join(SECRETS_DIRECTORY);
        Self { path: secrets.join(KEYS_DIRECTORY), secret_file: secrets.join(FORMER_FILE) }
    }

    /// The directory that the operator gives, or a secret file in its place.
    #[must_use]
    pub fn given(path: &Path) -> Self {
        Self { path: path.to_owned(), secret_file: path.to_owned() }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a key is stored.
    #[must_use]
    pub fn path_of(&self, key: &SigningKey) -> PathBuf {
        self.path.join(file_name(key.signs_from_ms))
    }

    /// The keys. This changes nothing.
    ///
    /// # Errors
    /// There are no keys, or a file cannot be read, holds no key, or is open to others.
    pub fn read(&self) -> Result<SigningKeys, KeyFileError> {
        self.ring(self.keys()?)
    }

    /// The keys; if there are no keys, the first one is made. Of several processes that start together all
    /// get the same one.
    ///
    /// # Errors
    /// As [`read`](Self::read), or it cannot be made.
    pub fn read_or_create(&self, now_ms: i64) -> Result<SigningKeys, KeyFileError> {
        self.make()?;
        let _lock = self.open_for_change()?;
        if self.keys()?.is_empty() {
            self.write(&new_key(now_ms).map_err(self.fault())?)?;
        }
        self.read()
    }

    /// Makes a key that signs after this time, and removes the keys that no valid token needs.
    ///
    /// # Errors
    /// As [`read`](Self::read), there would be too many, or the directory cannot be changed.
    pub fn rotate(&self, signs_in: Duration, now_ms: i64) -> Result<KeyRotation, KeyFileError> {
        let _lock = self.open_for_change()?;
        let mut keys = self.keys()?;
        let before = if keys.is_empty() { None } else { Some(self.ring(keys.clone())?) };
        let retired: Vec<_> = before.iter().flat_map(|keys| keys.retired(now_ms)).cloned().collect();
        // Later than the newest one, also where the clock was set back.
        let newest_ms = keys.iter().map(|key| key.signs_from_ms + 1).max();
        let signs_from_ms = now_ms.saturating_add(i64::try_from(signs_in.as_millis()).unwrap_or(i64::MAX));
        let new = new_key(signs_from_ms.max(newest_ms.unwrap_or(0))).map_err(self.fault())?;
        keys.retain(|key| !retired.contains(key));
        keys.push(new.clone());
        self.ring(keys)?;
        self.write(&new)?;
        for key in &retired {
            Self::remove(&self.path_of(key))?;
        }
        let former = before.map(|keys| keys.signing(now_ms).clone());
        Ok(KeyRotation {
            new: new.secret.id(),
            signs_from_ms: new.signs_from_ms,
            former: former.map(|key| (key.secret.id(), self.path_of(&key))),
            removed: retired.iter().map(|key| key.secret.id()).collect(),
        })
    }

    fn ring(&self, keys: Vec<SigningKey>) -> Result<SigningKeys, KeyFileError> {
        SigningKeys::of(keys).map_err(|error| self.fault()(KeyFileFault::Text(error.into())))
    }

    fn fault<F: Into<KeyFileFault>>(&self) -> impl FnOnce(F) -> KeyFileError {
        |fault| KeyFileFault::at(&self.path)(fault.into())
    }

    /// All stored keys. The secret file is read first: its keys are in the directory before it is removed.
    fn keys(&self) -> Result<Vec<SigningKey>, KeyFileError> {
        let mut keys = self.keys_of_secret_file()?;
        match self.keys_of_directory() {
            Err(KeyFileError { fault: KeyFileFault::Io(error), .. })
                if !keys.is_empty() && is_absent(&error) => {}
            stored => keys.extend(stored?),
        }
        Ok(keys)
    }

    /// The keys of the secret file; empty if it is missing, or a directory is in its place.
    fn keys_of_secret_file(&self) -> Result<Vec<SigningKey>, KeyFileError> {
        let path = &self.secret_file;
        if path.is_dir() {
            return Ok(Vec::new());
        }
        // Former versions made a file in which each byte is part of the secret.
        let content = if *path == self.path { without_line_break } else { std::convert::identity };
        match secret_file::read(path, content) {
            Err(KeyFileFault::Io(error)) if is_absent(&error) => Ok(Vec::new()),
            read => Ok(read.map_err(KeyFileFault::at(path))?.iter().cloned().collect()),
        }
    }

    fn keys_of_directory(&self) -> Result<Vec<SigningKey>, KeyFileError> {
        let entries = fs::read_dir(&self.path).map_err(self.fault())?;
        let metadata = fs::metadata(&self.path).map_err(self.fault())?;
        private_files::check_directory(&metadata, &self.path).map_err(self.fault())?;
        let owners = [rustix::process::geteuid().as_raw(), 0, metadata.uid()];
        let mut keys = Vec::new();
        for entry in entries {
            let path = entry.map_err(self.fault())?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                keys.push(key_of_file(&path, &owners).map_err(KeyFileFault::at(&path))?);
            }
        }
        Ok(keys)
    }

    /// Opens the directory under an exclusive lock, which ends with the handle. It takes the place of a
    /// secret file first.
    fn open_for_change(&self) -> Result<File, KeyFileError> {
        if self.secret_file != self.path && self.secret_file.exists() {
            self.make()?;
        }
        loop {
            let handle = private_files::lock_directory(&self.path).map_err(self.fault())?;
            if handle.metadata().map_err(self.fault())?.is_dir() {
                self.take_secret_file()?;
                return Ok(handle);
            }
            // While this process waited, another one may have made it a directory.
            if !self.path.is_dir() {
                self.become_directory()?;
            }
        }
    }

    /// Takes the keys of the secret file of a former version into the directory, and removes it. The lock is
    /// held.
    fn take_secret_file(&self) -> Result<(), KeyFileError> {
        let keys = self.keys_of_secret_file()?;
        let stored = self.keys_of_directory()?;
        for key in keys.iter().filter(|key| !stored.iter().any(|stored| stored.secret == key.secret)) {
            self.write(key)?;
        }
        if keys.is_empty() { Ok(()) } else { Self::remove(&self.secret_file) }
    }

    /// Replaces a secret file that was given by a directory with its keys, at once. The lock on the file is
    /// held.
    fn become_directory(&self) -> Result<(), KeyFileError> {
        let next = tempfile::tempdir_in(parent(&self.path)).map_err(self.fault())?;
        private_files::make_directory(next.path()).map_err(self.fault())?;
        for key in self.keys_of_secret_file()? {
            Self::given(next.path()).write(&key)?;
        }
        let exchanged = renameat_with(CWD, next.path(), CWD, &self.path, RenameFlags::EXCHANGE);
        exchanged.map_err(|error| self.fault()(io::Error::from(error)))?;
        Self::remove(&next.keep())
    }

    fn make(&self) -> Result<(), KeyFileError> {
        private_files::make_directory(&self.path).map_err(self.fault())?;
        // Its parent may be new, too.
        self.path.ancestors().skip(1).take(2).try_for_each(sync_directory).map_err(self.fault())
    }

    /// Stores a key. The lock is held.
    fn write(&self, key: &SigningKey) -> Result<(), KeyFileError> {
        let (path, content) = (self.path_of(key), format!("{}\n", STANDARD.encode(key.secret.as_bytes())));
        let written = private_files::write_atomically(&path, content.as_bytes());
        written.map_err(|error| KeyFileFault::at(&path)(error.into()))
    }

    fn remove(path: &Path) -> Result<(), KeyFileError> {
        let removed = fs::remove_file(path).and_then(|()| sync_directory(parent(path)));
        removed.map_err(|error| KeyFileFault::at(path)(error.into()))
    }
}

fn new_key(signs_from_ms: i64) -> io::Result<SigningKey> {
    Ok(SigningKey { secret: SigningSecret::random()?, signs_from_ms })
}

/// The key in a file. A directory that others may write to, as orchestrators mount it, must not bring keys of
/// theirs.
fn key_of_file(path: &Path, owners: &[u32]) -> Result<SigningKey, KeyFileFault> {
    let signs_from_ms = time_of(path).ok_or(KeyFileFault::Name)?;
    if !owners.contains(&fs::metadata(path)?.uid()) {
        return Err(KeyFileFault::Owner);
    }
    let content = private_bytes(path)?;
    let secret = STANDARD.decode(content.trim_ascii()).map_err(|_| KeyFileFault::Encoding)?;
    let secret = SigningSecret::from_bytes(secret).map_err(|error| KeyFileFault::Text(error.into()))?;
    Ok(SigningKey { secret, signs_from_ms })
}

/// An RFC 3339 time without the colons, which not every file system and orchestrator takes.
fn file_name(signs_from_ms: i64) -> String {
    format!("{}.{EXTENSION}", format_timestamp(signs_from_ms).replace(':', "-"))
}

fn time_of(path: &Path) -> Option<i64> {
    let (date, time) = path.file_stem()?.to_str()?.split_once('T')?;
    let signs_from_ms = parse_timestamp(&format!("{date}T{}", time.replace('-', ":")))?;
    // One name for each time, so that a key is found under the name that it is given.
    (Some(file_name(signs_from_ms).as_str()) == path.file_name()?.to_str()).then_some(signs_from_ms)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

#[cfg(test)]
mod tests;
