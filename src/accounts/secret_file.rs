//! Secret file: one signing secret as it stands, or the list of several that former versions wrote. Read
//! only: where keys are to change, [`key_directory`](super::key_directory) takes its place.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::signing_secrets::{SecretLengthError, SigningKey, SigningKeys, SigningKeysError, SigningSecret};
use onehop_runtime::private_files::{self, SharedFile};

/// The most bytes that are read: a list of the longest secrets fits.
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// The first line of a list. Anything else is one secret as it stands.
const LIST: &[u8] = b"onehop token secrets\n";

/// Why a text holds no secrets. Shows no secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretTextError {
    #[error(transparent)]
    Length(#[from] SecretLengthError),
    #[error("line {line} of the list is not a secret in base64")]
    Line { line: usize },
    #[error("line {line} of the list: {source}")]
    LineLength { line: usize, source: SecretLengthError },
    #[error(transparent)]
    Keys(#[from] SigningKeysError),
}

/// Why a secret file, a key file or a key directory cannot be used. Shows no secret.
#[derive(Debug, thiserror::Error)]
#[error("{}: {fault}", path.display())]
pub struct KeyFileError {
    pub path: PathBuf,
    #[source]
    pub fault: KeyFileFault,
}

#[derive(Debug, thiserror::Error)]
pub enum KeyFileFault {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Shared(#[from] SharedFile),
    #[error("it belongs to another user")]
    Owner,
    #[error("the name of a key file is the time from which it signs, such as 2026-11-20T09-30-00.125Z.key")]
    Name,
    #[error("it holds no base64")]
    Encoding,
    #[error(transparent)]
    Text(#[from] SecretTextError),
}

impl KeyFileFault {
    /// The error with the path that it is about.
    pub(super) fn at(path: &Path) -> impl FnOnce(Self) -> KeyFileError {
        move |fault| KeyFileError { path: path.to_owned(), fault }
    }
}

/// The keys in a secret file. The file has no times of its keys: the time of its last change stands for the
/// key that signs, and the others are older.
pub(super) fn read(path: &Path, content: fn(Vec<u8>) -> Vec<u8>) -> Result<SigningKeys, KeyFileFault> {
    let bytes = private_bytes(path)?;
    let changed = fs::metadata(path)?.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(keys_of(content(bytes), i64::try_from(changed.as_millis()).unwrap_or(i64::MAX))?)
}

/// The content of a file that no other user can read.
pub(super) fn private_bytes(path: &Path) -> Result<Vec<u8>, KeyFileFault> {
    let file = File::open(path)?;
    private_files::check_private(&file, path)??;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The keys in a secret text: a list, whose first secret signs from this time on, or else one secret.
///
/// # Errors
/// A line that is no secret, too many of them, or none.
pub fn keys_of(text: Vec<u8>, signs_from_ms: i64) -> Result<SigningKeys, SecretTextError> {
    let secrets = match text.strip_prefix(LIST) {
        Some(lines) => listed(lines)?,
        None => vec![SigningSecret::from_bytes(text)?],
    };
    let times = (0..).map(|older| signs_from_ms.saturating_sub(older));
    let keys = secrets.into_iter().zip(times);
    Ok(SigningKeys::of(keys.map(|(secret, signs_from_ms)| SigningKey { secret, signs_from_ms }).collect())?)
}

fn listed(lines: &[u8]) -> Result<Vec<SigningSecret>, SecretTextError> {
    let mut secrets = Vec::new();
    for (line, text) in (2..).zip(lines.split(|byte| *byte == b'\n')) {
        let text = text.trim_ascii();
        if text.is_empty() || text.starts_with(b"#") {
            continue;
        }
        let secret = STANDARD.decode(text).map_err(|_| SecretTextError::Line { line })?;
        let secret = SigningSecret::from_bytes(secret);
        secrets.push(secret.map_err(|source| SecretTextError::LineLength { line, source })?);
    }
    Ok(secrets)
}

/// A line break at the end is not part of a secret, so that a file and a variable with the same text are the
/// same.
#[must_use]
pub fn without_line_break(mut bytes: Vec<u8>) -> Vec<u8> {
    for end in [b'\n', b'\r'] {
        if bytes.last() == Some(&end) {
            bytes.pop();
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(byte: u8) -> SigningSecret {
        SigningSecret::from_bytes(vec![byte; 32]).unwrap()
    }

    fn read(text: &str) -> Result<Vec<SigningSecret>, SecretTextError> {
        let keys = keys_of(text.as_bytes().to_vec(), 1000)?;
        Ok(keys.secrets(1000).iter().cloned().collect())
    }

    fn list(lines: &[&str]) -> Result<Vec<SigningSecret>, SecretTextError> {
        read(&format!("onehop token secrets\n{}\n", lines.join("\n")))
    }

    #[test]
    fn what_is_no_list_is_one_secret_as_it_stands() {
        for bytes in [vec![7; 32], b"onehop token secrets and more of them\nAAAA".to_vec(), vec![b'\n'; 40]] {
            let keys = keys_of(bytes.clone(), 7).unwrap();
            let secret = SigningSecret::from_bytes(bytes).unwrap();
            assert_eq!(keys, SigningKeys::of(vec![SigningKey { secret, signs_from_ms: 7 }]).unwrap());
        }
        assert_eq!(read("too short"), Err(SecretLengthError { actual: 9 }.into()));
    }

    #[test]
    fn the_first_secret_of_a_list_signs() {
        let [one, two, three] = [1, 2, 3].map(|byte| STANDARD.encode([byte; 32]));
        assert_eq!(
            list(&["# The first signs.", &two, &one, &three]),
            Ok(vec![secret(2), secret(1), secret(3)])
        );
        assert_eq!(list(&["", "# mine\r", &format!("  {one}  \r"), &one]), Ok(vec![secret(1)]));
    }

    #[test]
    fn a_list_that_is_wrong_is_refused_by_its_line_and_not_repeated() {
        let [good, short] = [STANDARD.encode([1; 32]), STANDARD.encode([1; 31])];
        assert_eq!(list(&["# nothing"]), Err(SigningKeysError::Empty.into()));
        assert_eq!(list(&[&good, "not base64!"]), Err(SecretTextError::Line { line: 3 }));
        let refused = list(&[&short]).unwrap_err();
        assert!(matches!(refused, SecretTextError::LineLength { line: 2, .. }));
        assert!(!refused.to_string().contains(&short));
        let many: Vec<String> = (0..9).map(|byte| STANDARD.encode([byte; 32])).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(list(&many), Err(SigningKeysError::TooMany.into()));
        assert!(list(&many[..8]).is_ok());
    }
}
