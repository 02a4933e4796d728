//! The audience of access tokens (`aud`, RFC 7519): which environment they are for. Environments that share a
//! token secret do not accept each other's tokens and sessions.

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use sha2::{Digest, Sha256};

use super::key_directory::SECRETS_DIRECTORY;
use onehop_runtime::private_files;

/// The file in a data directory, beside the signing keys and thus in no backup.
const FILE: &str = "audience";
const ID_BYTES: usize = 16;

/// The name of an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audience(String);

impl Audience {
    /// The audience in a setting.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// The audience of a data directory: a random id, made on the first start. Of several processes that
    /// start together all get the same one.
    ///
    /// # Errors
    /// The file cannot be read or made.
    pub fn of_directory(data_directory: &Path) -> Result<Self, AudienceError> {
        let directory = data_directory.join(SECRETS_DIRECTORY);
        let path = directory.join(FILE);
        match read_or_create(&directory, &path) {
            Ok(id) => Ok(Self::hashed(&[&id])),
            Err(source) => Err(AudienceError { path, source }),
        }
    }

    /// The audience of a database on an account, the same in every process.
    #[must_use]
    pub fn of_database(endpoint: &str, database: &str) -> Self {
        let endpoint = endpoint.trim_end_matches('/').to_ascii_lowercase();
        Self::hashed(&[endpoint.as_bytes(), database.as_bytes()])
    }

    /// A hash: clients can read the claim, and need not know where the data is.
    fn hashed(parts: &[&[u8]]) -> Self {
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        Self(format!("onehop:{}", hex(&digest.finalize()[..ID_BYTES])))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The audience of a data directory cannot be read or made.
#[derive(Debug, thiserror::Error)]
#[error("cannot read or make {}: {source}", path.display())]
pub struct AudienceError {
    path: PathBuf,
    source: io::Error,
}

fn read_or_create(directory: &Path, path: &Path) -> io::Result<Vec<u8>> {
    private_files::make_directory(directory)?;
    private_files::mend_tree(path)?;
    let _lock = private_files::lock_directory(directory)?;
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut id = [0; ID_BYTES];
            getrandom::fill(&mut id)?;
            private_files::write_atomically(path, hex(&id).as_bytes())?;
            fs::read(path)
        }
        read => read,
    }
}

impl Default for Audience {
    fn default() -> Self {
        Self::named(super::token::ISSUER)
    }
}

impl fmt::Display for Audience {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_directory_keeps_its_audience_and_others_differ() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let first = Audience::of_directory(one.path()).unwrap();
        assert_eq!(Audience::of_directory(one.path()).unwrap(), first);
        assert_ne!(Audience::of_directory(other.path()).unwrap(), first);
    }

    #[test]
    fn a_database_has_one_audience_in_every_process() {
        let audience = Audience::of_database("https://a.documents.azure.com", "blog");
        assert_eq!(Audience::of_database("https://A.documents.azure.com/", "blog"), audience);
        for (endpoint, database) in
            [("https://b.documents.azure.com", "blog"), ("https://a.documents.azure.com", "b")]
        {
            assert_ne!(Audience::of_database(endpoint, database), audience);
        }
        assert!(!audience.as_str().contains("azure"));
    }
}
