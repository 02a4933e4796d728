//! The audience of access tokens (`aud`, RFC 7519): which environment they are for. Environments that share a token secret do not
//! accept each other's tokens and sessions.

use std::fmt;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::secret_file::{SecretFault, read_or_create_beside};

/// The file in a data directory, beside the token secret and thus in no backup.
const FILE: &str = "audience";
const ID_BYTES: usize = 16;

/// The name of an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audience(String);

impl Audience {
    /// One that a setting gives.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// That of a data directory: a random id, made on the first start.
    ///
    /// # Errors
    /// The file cannot be read or made.
    pub fn of_directory(data_directory: &Path) -> Result<Self, SecretFault> {
        let mut id = [0; ID_BYTES];
        getrandom::fill(&mut id).map_err(SecretFault::Randomness)?;
        let stored = read_or_create_beside(data_directory, FILE, hex(&id).as_bytes())?;
        Ok(Self::hashed(&[&stored]))
    }

    /// That of a database on an account, the same in every process.
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
