//! Trusted documents: the documents that an operator lists, by the SHA-256 of their texts. Knows texts and
//! hashes, no schema.

use std::collections::BTreeMap;
use std::fmt;

use sha2::{Digest, Sha256};

/// The prefix before the digits of a document identifier.
const PREFIX: &str = "sha256:";
/// The SHA-256 of a document's text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentHash([u8; 32]);

impl DocumentHash {
    /// Digits of a hash.
    pub(super) const DIGITS: usize = 64;

    /// The identifier of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// Reads 64 hexadecimal digits in lower case, with `sha256:` before them or without.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX).unwrap_or(text).as_bytes();
        if digits.len() != Self::DIGITS {
            return None;
        }
        let mut hash = [0; Self::DIGITS / 2];
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(hash))
    }
}

fn digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for DocumentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for DocumentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The documents that an operator trusts, by their hashes.
#[derive(Debug, Clone, Default)]
pub struct TrustedDocuments(BTreeMap<DocumentHash, String>);

/// Why a list of trusted documents was not taken. Names the entry.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("it is not a JSON object from hashes to documents: {0}")]
    Json(#[from] serde_json::Error),
    #[error(
        "{0:?} is not a SHA-256 in 64 hexadecimal digits in lower case, with `sha256:` before them or without"
    )]
    NotAHash(String),
    #[error("{named} is not the hash of its document, which is {actual}")]
    WrongHash { named: String, actual: DocumentHash },
    #[error("{hash}: {reason}")]
    Document { hash: DocumentHash, reason: String },
}

impl TrustedDocuments {
    /// Reads a JSON object from hashes to documents, and compares each hash with its document.
    ///
    /// # Errors
    /// The first entry that is wrong.
    pub fn from_json(json: &str) -> Result<Self, TrustError> {
        let entries: BTreeMap<String, String> = serde_json::from_str(json)?;
        let mut documents = BTreeMap::new();
        for (named, text) in entries {
            let Some(hash) = DocumentHash::parse(&named) else { return Err(TrustError::NotAHash(named)) };
            let actual = DocumentHash::of(&text);
            if actual != hash {
                return Err(TrustError::WrongHash { named, actual });
            }
            documents.insert(hash, text);
        }
        Ok(Self(documents))
    }

    /// The documents with their hashes.
    pub(super) fn iter(&self) -> impl Iterator<Item = (DocumentHash, &str)> {
        self.0.iter().map(|(hash, text)| (*hash, text.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_hash_is_lower_case_with_or_without_prefix() {
        // The example of the appendix.
        let text = "query($id:ID!){user(id:$id){name}}";
        let digits = "71f7dc5758652baac68e4a10c50be732b741c892ade2883a99358f52b555286b";
        let id = format!("sha256:{digits}");
        assert_eq!(DocumentHash::of(text).to_string(), id);
        for named in [digits, &id] {
            assert_eq!(DocumentHash::parse(named), Some(DocumentHash::of(text)));
        }
        let (long, upper) = (format!("{digits}0"), digits.to_uppercase());
        for named in ["", "71f7dc57", &upper, &long, "sha256:", "md5:71f7", &format!("sha512:{digits}")] {
            assert_eq!(DocumentHash::parse(named), None, "{named}");
        }
    }

    #[test]
    fn an_entry_that_is_wrong_is_named() {
        let refused = |json: &str| TrustedDocuments::from_json(json).unwrap_err().to_string();
        assert!(refused("[]").contains("not a JSON object"));
        assert!(refused(r#"{ "one": "{ a }" }"#).starts_with("\"one\" is not a SHA-256"));
        let other = DocumentHash::of("{ b }");
        let wrong = refused(&format!(r#"{{ "{other}": "{{ a }}" }}"#));
        assert!(wrong.starts_with(&other.to_string()), "{wrong}");
        assert!(wrong.contains(&DocumentHash::of("{ a }").to_string()), "{wrong}");
    }
}
