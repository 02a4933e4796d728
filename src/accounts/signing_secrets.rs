//! Signing secrets of access tokens: the first signs, and all verify, so that a secret can be rotated while tokens of both are
//! valid. Values in, values out; [`secret_file`](super::secret_file) stores them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The fewest bytes of a secret: RFC 7518, section 3.2, asks for as many as the hash has.
pub const SECRET_BYTES_MIN: usize = 32;
/// The most bytes of a secret; a longer one is none.
pub const SECRET_BYTES_MAX: usize = 4096;
/// The most secrets there may be.
pub const SECRETS_MAX: usize = 8;
/// The first line of a list of secrets. Whatever begins otherwise is one secret as it stands.
const LIST: &str = "onehop token secrets";
/// Bytes of a digest that identify a secret.
const KEY_ID_BYTES: usize = 8;

/// Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret(Vec<u8>);

/// Key id (`kid`): identifies the secret that signed a token, and reveals nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyId(String);

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

/// Why secrets were not taken. Shows none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretsError {
    #[error(transparent)]
    Length(#[from] SecretLengthError),
    #[error("line {line} of the list is not a secret in base64")]
    Line { line: usize },
    #[error("line {line} of the list: {source}")]
    LineLength { line: usize, source: SecretLengthError },
    #[error("the list has no secret")]
    Empty,
    #[error("the list has more than {SECRETS_MAX} secrets: drop some")]
    TooMany,
    #[error("the list has the secret {0} twice")]
    Twice(KeyId),
    #[error("there is no secret {0}")]
    Unknown(String),
    #[error("the secret {0} signs: have another one sign before it is dropped")]
    Signs(KeyId),
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
    /// Reads a list, or takes what is no list as one secret.
    ///
    /// # Errors
    /// A line that is no secret, too many of them, or none.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, SecretsError> {
        let is_list = bytes.strip_prefix(LIST.as_bytes()).is_some_and(|rest| rest.starts_with(b"\n"));
        if !is_list {
            return Ok(Self(vec![SigningSecret::from_bytes(bytes)?]));
        }
        let mut secrets = Vec::new();
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate().skip(1) {
            let (line, number) = (line.trim_ascii(), index + 1);
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let secret = STANDARD.decode(line).map_err(|_| SecretsError::Line { line: number })?;
            let secret = SigningSecret::from_bytes(secret)
                .map_err(|source| SecretsError::LineLength { line: number, source })?;
            secrets.push(secret);
        }
        Self::of(secrets)
    }

    fn of(secrets: Vec<SigningSecret>) -> Result<Self, SecretsError> {
        if secrets.is_empty() {
            return Err(SecretsError::Empty);
        }
        if secrets.len() > SECRETS_MAX {
            return Err(SecretsError::TooMany);
        }
        for (index, secret) in secrets.iter().enumerate() {
            if secrets[..index].contains(secret) {
                return Err(SecretsError::Twice(secret.id()));
            }
        }
        Ok(Self(secrets))
    }

    /// The list in its stored form.
    #[must_use]
    pub fn to_list(&self) -> Vec<u8> {
        let mut list = format!("{LIST}\n# The first signs, all verify.\n");
        for secret in &self.0 {
            list += &STANDARD.encode(&secret.0);
            list.push('\n');
        }
        list.into_bytes()
    }

    /// The one that signs.
    #[must_use]
    pub fn signing(&self) -> &SigningSecret {
        &self.0[0]
    }

    /// All of them, the one that signs first.
    pub fn iter(&self) -> impl Iterator<Item = &SigningSecret> {
        self.0.iter()
    }

    /// The same with one more, which only verifies.
    ///
    /// # Errors
    /// There are too many.
    pub fn with(mut self, secret: SigningSecret) -> Result<Self, SecretsError> {
        self.0.push(secret);
        Self::of(self.0)
    }

    /// The same, signing with this one.
    ///
    /// # Errors
    /// There is no such secret.
    pub fn signing_with(mut self, id: &str) -> Result<Self, SecretsError> {
        let index = self.index(id)?;
        self.0[..=index].rotate_right(1);
        Ok(self)
    }

    /// The same without one that does not sign.
    ///
    /// # Errors
    /// There is no such secret, or it signs.
    pub fn without(mut self, id: &str) -> Result<Self, SecretsError> {
        match self.index(id)? {
            0 => Err(SecretsError::Signs(self.signing().id())),
            index => {
                self.0.remove(index);
                Ok(self)
            }
        }
    }

    fn index(&self, id: &str) -> Result<usize, SecretsError> {
        let found = self.0.iter().position(|secret| secret.id().as_str() == id);
        found.ok_or_else(|| SecretsError::Unknown(id.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(byte: u8) -> SigningSecret {
        SigningSecret::from_bytes(vec![byte; 32]).unwrap()
    }

    fn three() -> Secrets {
        Secrets::from(&secret(1)).with(secret(2)).unwrap().with(secret(3)).unwrap()
    }

    fn read(text: &str) -> Result<Secrets, SecretsError> {
        Secrets::from_bytes(text.as_bytes().to_vec())
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", secret(7)), "SigningSecret(..)");
        assert_eq!(format!("{:?}", Secrets::from(&secret(7))), "Secrets([SigningSecret(..)])");
    }

    #[test]
    fn what_is_no_list_is_one_secret_as_it_stands() {
        for bytes in [vec![7; 32], b"onehop token secrets and more of them\nAAAA".to_vec(), vec![b'\n'; 40]] {
            let secrets = Secrets::from_bytes(bytes.clone()).unwrap();
            assert_eq!((secrets.iter().count(), secrets.signing().as_bytes()), (1, &*bytes));
        }
        assert_eq!(read("too short"), Err(SecretLengthError { actual: 9 }.into()));
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        assert_eq!(Secrets::from_bytes(three().to_list()), Ok(three()));
        let with_others = format!("{LIST}\n\n# mine\r\n  {}  \r\n", STANDARD.encode([1; 32]));
        assert_eq!(read(&with_others), Ok(Secrets::from(&secret(1))));
    }

    #[test]
    fn a_list_that_is_wrong_is_refused_by_its_line_and_not_repeated() {
        let [good, short] = [STANDARD.encode([1; 32]), STANDARD.encode([1; 31])];
        let list = |lines: &[&str]| read(&format!("{LIST}\n{}\n", lines.join("\n")));
        assert_eq!(list(&["# nothing"]), Err(SecretsError::Empty));
        assert_eq!(list(&[&good, "not base64!"]), Err(SecretsError::Line { line: 3 }));
        let refused = list(&[&short]).unwrap_err();
        assert!(matches!(refused, SecretsError::LineLength { line: 2, .. }));
        assert!(!refused.to_string().contains(&short));
        assert_eq!(list(&[&good, &good]), Err(SecretsError::Twice(secret(1).id())));
        let many: Vec<String> = (0..9).map(|byte| STANDARD.encode([byte; 32])).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(list(&many), Err(SecretsError::TooMany));
        assert!(list(&many[..8]).is_ok());
    }

    #[test]
    fn a_secret_is_added_signs_and_is_dropped() {
        let id = |byte| secret(byte).id().to_string();
        let signing = three().signing_with(&id(3)).unwrap();
        assert_eq!(signing.0, [secret(3), secret(1), secret(2)]);
        assert_eq!(signing.clone().without(&id(1)).unwrap().0, [secret(3), secret(2)]);
        assert_eq!(signing.clone().without(&id(3)), Err(SecretsError::Signs(secret(3).id())));
        assert_eq!(signing.without("nothing"), Err(SecretsError::Unknown("nothing".to_owned())));
        assert_eq!(three().with(secret(2)), Err(SecretsError::Twice(secret(2).id())));
    }

    #[test]
    fn an_id_is_that_of_its_secret_alone() {
        assert_eq!(secret(1).id(), secret(1).id());
        assert_ne!(secret(1).id(), secret(2).id());
        assert_eq!(secret(1).id().as_str().len(), 16);
    }
}
