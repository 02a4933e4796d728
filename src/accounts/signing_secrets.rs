//! Signing secrets of access tokens, in keys that say from when they sign. The newest key signs, and all
//! verify, so that a key can be rotated while tokens of both are valid. Values in, values out;
//! [`key_directory`](super::key_directory) stores them.

use std::cmp::Reverse;
use std::fmt;
use std::time::Duration;

use sha2::{Digest, Sha256};

/// The fewest bytes of a secret: RFC 7518, section 3.2, asks for as many as the hash has.
pub const SECRET_BYTES_MIN: usize = 32;
/// The most bytes of a secret; a longer text is refused.
pub const SECRET_BYTES_MAX: usize = 4096;
/// The most keys there may be.
pub const KEYS_MAX: usize = 8;
/// The time after which no token of a key is valid, once a newer key signs: the longest lifetime of a token
/// (24 hours), and an hour for clocks that differ and for processes that learn of the newer key later.
pub const KEY_RETIREMENT: Duration = Duration::from_secs(25 * 60 * 60);
/// Bytes of a digest that identify a secret.
const KEY_ID_BYTES: usize = 8;

/// Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret(Vec<u8>);

/// Key id (`kid`): identifies the secret that signed a token, and reveals nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyId(String);

impl SigningSecret {
    /// A secret from elsewhere, such as a secret shared by several processes.
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

    /// A new one.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; SECRET_BYTES_MIN];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes.to_vec()))
    }

    /// The id under which tokens name it.
    #[must_use]
    pub fn id(&self) -> KeyId {
        let mut digest = Sha256::new();
        digest.update(b"onehop access token secret\0");
        digest.update(&self.0);
        KeyId(digest.finalize().iter().take(KEY_ID_BYTES).map(|byte| format!("{byte:02x}")).collect())
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl KeyId {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
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
    /// For a file beyond the limit: as many as were read.
    pub actual: usize,
}

/// A secret and the time from which it signs. It verifies at any time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKey {
    pub secret: SigningSecret,
    /// Unix ms.
    pub signs_from_ms: i64,
}

/// One to [`KEYS_MAX`] keys, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKeys(Vec<SigningKey>);

/// Why keys are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SigningKeysError {
    #[error("there is no key")]
    Empty,
    #[error(
        "there would be more than {KEYS_MAX} keys: a rotation removes a key {} hours after a newer one began to sign, \
         and to delete a key file ends its tokens at once",
        KEY_RETIREMENT.as_secs() / 3600
    )]
    TooMany,
}

impl SigningKeys {
    /// Sorts keys. Of two keys with the same secret the newer one counts.
    ///
    /// # Errors
    /// There are no keys, or too many.
    pub fn of(mut keys: Vec<SigningKey>) -> Result<Self, SigningKeysError> {
        keys.sort_by_key(|key| Reverse(key.signs_from_ms));
        let mut distinct: Vec<SigningKey> = Vec::with_capacity(keys.len());
        for key in keys {
            if !distinct.iter().any(|known| known.secret == key.secret) {
                distinct.push(key);
            }
        }
        match distinct.len() {
            0 => Err(SigningKeysError::Empty),
            1..=KEYS_MAX => Ok(Self(distinct)),
            _ => Err(SigningKeysError::TooMany),
        }
    }

    /// All of them, the newest first.
    pub fn iter(&self) -> impl Iterator<Item = &SigningKey> {
        self.0.iter()
    }

    /// The key that signs: the newest key whose time has come. While no time has come, which clocks that were
    /// set back may cause, the oldest key.
    #[must_use]
    pub fn signing(&self, now_ms: i64) -> &SigningKey {
        &self.0[self.signing_index(now_ms)]
    }

    /// Their secrets, the signing one first.
    #[must_use]
    pub fn secrets(&self, now_ms: i64) -> Secrets {
        let mut secrets: Vec<SigningSecret> = self.0.iter().map(|key| key.secret.clone()).collect();
        secrets[..=self.signing_index(now_ms)].rotate_right(1);
        Secrets(secrets)
    }

    /// Keys that no valid token needs: a newer one has signed for [`KEY_RETIREMENT`].
    pub fn retired(&self, now_ms: i64) -> impl Iterator<Item = &SigningKey> {
        let retirement_ms = i64::try_from(KEY_RETIREMENT.as_millis()).unwrap_or(i64::MAX);
        let pairs = self.0.iter().zip(&self.0[1..]);
        let retired =
            pairs.filter(move |(newer, _)| newer.signs_from_ms.saturating_add(retirement_ms) <= now_ms);
        retired.map(|(_, older)| older)
    }

    fn signing_index(&self, now_ms: i64) -> usize {
        self.0.iter().position(|key| key.signs_from_ms <= now_ms).unwrap_or(self.0.len() - 1)
    }
}

/// At least one secret. The first signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secrets(Vec<SigningSecret>);

impl From<&SigningSecret> for Secrets {
    fn from(secret: &SigningSecret) -> Self {
        Self(vec![secret.clone()])
    }
}

impl From<&Secrets> for Secrets {
    fn from(secrets: &Secrets) -> Self {
        secrets.clone()
    }
}

impl Secrets {
    /// The signing secret.
    #[must_use]
    pub fn signing(&self) -> &SigningSecret {
        &self.0[0]
    }

    /// All of them, the signing one first.
    pub fn iter(&self) -> impl Iterator<Item = &SigningSecret> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(byte: u8) -> SigningSecret {
        SigningSecret::from_bytes(vec![byte; 32]).unwrap()
    }

    /// Keys that sign from these times on, each with a secret of that byte.
    fn keys(times: &[u8]) -> Result<SigningKeys, SigningKeysError> {
        let key = |time: &u8| SigningKey { secret: secret(*time), signs_from_ms: i64::from(*time) };
        SigningKeys::of(times.iter().map(key).collect())
    }

    fn secrets(times: &[u8], now_ms: i64) -> Vec<SigningSecret> {
        keys(times).unwrap().secrets(now_ms).0
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", secret(7)), "SigningSecret(..)");
        assert_eq!(format!("{:?}", Secrets::from(&secret(7))), "Secrets([SigningSecret(..)])");
        assert!(format!("{:?}", keys(&[7]).unwrap()).contains("secret: SigningSecret(..)"));
    }

    #[test]
    fn a_secret_has_a_length_within_bounds() {
        assert_eq!(SigningSecret::from_bytes(vec![7; 31]), Err(SecretLengthError { actual: 31 }));
        assert!(SigningSecret::from_bytes(vec![7; 4096]).is_ok());
        assert_eq!(SigningSecret::from_bytes(vec![7; 4097]), Err(SecretLengthError { actual: 4097 }));
    }

    #[test]
    fn the_newest_key_whose_time_has_come_signs() {
        assert_eq!(secrets(&[1, 3, 2], 10), [secret(3), secret(2), secret(1)]);
        assert_eq!(secrets(&[1, 3, 2], 2), [secret(2), secret(3), secret(1)]);
        assert_eq!(secrets(&[1, 3, 2], 0), [secret(1), secret(3), secret(2)], "the clock was set back");
    }

    #[test]
    fn there_is_a_key_and_there_are_not_too_many() {
        assert_eq!(keys(&[]), Err(SigningKeysError::Empty));
        assert!(keys(&[1, 2, 3, 4, 5, 6, 7, 8]).is_ok());
        assert_eq!(keys(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), Err(SigningKeysError::TooMany));
    }

    #[test]
    fn a_secret_that_is_there_twice_counts_once() {
        let key = |signs_from_ms| SigningKey { secret: secret(1), signs_from_ms };
        assert_eq!(SigningKeys::of(vec![key(1), key(2)]).unwrap().0, [key(2)]);
    }

    #[test]
    fn a_key_retires_when_a_newer_one_has_signed_long_enough() {
        let retired = |after_ms| {
            let now_ms = i64::try_from(KEY_RETIREMENT.as_millis()).unwrap() + after_ms;
            let keys = keys(&[10, 20, 30]).unwrap();
            keys.retired(now_ms).map(|key| key.signs_from_ms).collect::<Vec<_>>()
        };
        assert_eq!(retired(19), [0; 0]);
        assert_eq!(retired(20), [10]);
        assert_eq!(retired(29), [10]);
        assert_eq!(retired(30), [20, 10]);
        assert_eq!(retired(1000), [20, 10], "never the newest");
    }

    #[test]
    fn an_id_is_that_of_its_secret_alone() {
        assert_eq!(secret(1).id(), secret(1).id());
        assert_ne!(secret(1).id(), secret(2).id());
        assert_eq!(secret(1).id().as_str().len(), 16);
    }
}
