//! Resolve: persisted documents, which are asked for by their SHA-256: trusted ones, which the operator lists, and those that clients have
//! registered by sending text and hash together. Knows texts and hashes, no schema.
//!
//! Both ways to ask are taken: `documentId`, as the appendix on persisted documents of GraphQL over HTTP has it, and
//! Apollo's `extensions.persistedQuery`.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};

use crate::document::{Document, DocumentError, Documents};

/// The text of all registered documents, in bytes.
pub const REGISTERED_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// How many documents are expected to be registered.
const REGISTERED_EXPECTED: usize = 2048;

/// What comes before the digits of a document identifier.
const PREFIX: &str = "sha256:";
/// Digits of a hash.
const DIGITS: usize = 64;

/// The SHA-256 of a document's text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentHash([u8; 32]);

impl DocumentHash {
    /// That of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// Reads 64 hexadecimal digits in lower case, with `sha256:` before them or without.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX).unwrap_or(text).as_bytes();
        if digits.len() != DIGITS {
            return None;
        }
        let mut hash = [0; DIGITS / 2];
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
}

/// How a client says which document it wants.
#[derive(Debug, Default)]
pub struct DocumentReference {
    pub text: Option<String>,
    /// A `documentId`; one that is no hash is the name of a document that there is not.
    pub id: Option<String>,
    /// Apollo's hash, by which a text that comes with it is registered.
    pub registered: Option<DocumentHash>,
}

/// Why there is no document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PersistedError {
    /// Apollo's clients know it by this text, or by its code, and send the text of the document next.
    #[error("PersistedQueryNotFound")]
    NotFound,
    /// In Apollo's words.
    #[error("provided sha does not match query")]
    HashMismatch,
    #[error("This server runs trusted documents only, and this is none of them.")]
    NotTrusted,
}

impl PersistedError {
    /// The code that clients get.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NotFound => "PERSISTED_QUERY_NOT_FOUND",
            Self::HashMismatch => "PERSISTED_QUERY_HASH_MISMATCH",
            Self::NotTrusted => "FORBIDDEN",
        }
    }
}

/// A document that was found.
pub(crate) struct ResolvedDocument {
    pub(crate) text: String,
    pub(crate) document: Arc<Document>,
    /// By which it is to be registered once it is known to be good.
    pub(crate) registers: Option<DocumentHash>,
}

/// Finds documents by text and by hash.
pub(crate) struct PersistedDocuments {
    trusted: HashMap<DocumentHash, (String, Arc<Document>)>,
    trusted_only: bool,
    registered: Cache<DocumentHash, Arc<str>, TextWeighter>,
}

/// A document that cannot be had.
#[derive(Debug)]
pub(crate) enum NoDocument {
    Persisted(PersistedError),
    Document(DocumentError),
}

impl From<PersistedError> for NoDocument {
    fn from(error: PersistedError) -> Self {
        Self::Persisted(error)
    }
}

impl From<DocumentError> for NoDocument {
    fn from(error: DocumentError) -> Self {
        Self::Document(error)
    }
}

impl PersistedDocuments {
    /// No trusted documents, and everything runs.
    pub(crate) fn new() -> Self {
        let registered = Cache::with_weighter(REGISTERED_EXPECTED, REGISTERED_BYTES_MAX, TextWeighter);
        Self { trusted: HashMap::new(), trusted_only: false, registered }
    }

    /// The same with trusted documents, each of which has to pass a check.
    ///
    /// # Errors
    /// The first that does not parse, is beyond a limit, or does not pass.
    pub(crate) fn trusting(
        self,
        trusted: &TrustedDocuments,
        trusted_only: bool,
        documents: &Documents,
        check: impl Fn(&Document) -> Result<(), String>,
    ) -> Result<Self, TrustError> {
        let mut parsed = HashMap::new();
        for (&hash, text) in &trusted.0 {
            let fault = |reason| TrustError::Document { hash, reason };
            let document = documents.parse(text).map_err(|error| fault(error.to_string()))?;
            check(&document).map_err(fault)?;
            parsed.insert(hash, (text.clone(), document));
        }
        Ok(Self { trusted: parsed, trusted_only, ..self })
    }

    /// The document that is asked for.
    pub(crate) fn resolve(
        &self,
        reference: DocumentReference,
        documents: &Documents,
    ) -> Result<ResolvedDocument, NoDocument> {
        let DocumentReference { text, id, registered } = reference;
        let by_id = id.as_deref().map(DocumentHash::parse);
        // A request that names two documents is about none.
        if let (Some(by_id), Some(registered)) = (by_id, registered)
            && by_id != Some(registered)
        {
            return Err(PersistedError::HashMismatch.into());
        }
        // What is too long is not even hashed.
        if let Some(text) = &text {
            documents.limits().check_bytes(text.len()).map_err(DocumentError::from)?;
        }
        match (text, by_id.or(registered.map(Some))) {
            (Some(text), named) => {
                if named.is_some_and(|named| named != Some(DocumentHash::of(&text))) {
                    return Err(PersistedError::HashMismatch.into());
                }
                self.by_text(text, registered, documents)
            }
            (None, Some(Some(hash))) => self.by_hash(hash, documents),
            (None, _) => Err(PersistedError::NotFound.into()),
        }
    }

    fn by_text(
        &self,
        text: String,
        registered: Option<DocumentHash>,
        documents: &Documents,
    ) -> Result<ResolvedDocument, NoDocument> {
        if self.trusted_only {
            let Some((_, document)) = self.trusted.get(&DocumentHash::of(&text)) else {
                return Err(PersistedError::NotTrusted.into());
            };
            return Ok(ResolvedDocument { text, document: Arc::clone(document), registers: None });
        }
        let document = documents.parse(&text)?;
        let registers = registered.filter(|hash| !self.trusted.contains_key(hash));
        Ok(ResolvedDocument { text, document, registers })
    }

    fn by_hash(&self, hash: DocumentHash, documents: &Documents) -> Result<ResolvedDocument, NoDocument> {
        if let Some((text, document)) = self.trusted.get(&hash) {
            return Ok(ResolvedDocument {
                text: text.clone(),
                document: Arc::clone(document),
                registers: None,
            });
        }
        let text = self.registered.get(&hash).ok_or(PersistedError::NotFound)?;
        Ok(ResolvedDocument {
            document: documents.parse(&text)?,
            text: text.as_ref().to_owned(),
            registers: None,
        })
    }

    /// Keeps a document for requests that name it by its hash.
    pub(crate) fn register(&self, hash: DocumentHash, text: &str) {
        if self.registered.get(&hash).is_none() {
            self.registered.insert(hash, Arc::from(text));
        }
    }
}

impl fmt::Debug for PersistedDocuments {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("PersistedDocuments");
        shown.field("trusted", &self.trusted.len()).field("registered", &self.registered.len()).finish()
    }
}

#[derive(Clone)]
struct TextWeighter;

impl Weighter<DocumentHash, Arc<str>> for TextWeighter {
    fn weight(&self, _hash: &DocumentHash, text: &Arc<str>) -> u64 {
        // The hash takes room, too.
        (text.len() + DIGITS) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document_limits::{DOCUMENT_BYTES_MAX, DocumentLimits};

    fn documents() -> Documents {
        Documents::new(DocumentLimits::default())
    }

    fn by_hash(hash: DocumentHash) -> DocumentReference {
        DocumentReference { registered: Some(hash), ..DocumentReference::default() }
    }

    #[test]
    fn a_hash_is_read_with_its_prefix_and_without_and_in_lower_case_only() {
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

    #[test]
    fn a_trusted_document_beyond_a_limit_or_refused_by_the_check_is_named() {
        let trusting = |text: &str| {
            let hash = DocumentHash::of(text);
            let json = serde_json::json!({ hash.to_string(): text }).to_string();
            let trusted = TrustedDocuments::from_json(&json).unwrap();
            let check = |document: &Document| match document.size.selections {
                2 => Err("two fields".to_owned()),
                _ => Ok(()),
            };
            let trusting = PersistedDocuments::new().trusting(&trusted, true, &documents(), check);
            trusting.map(drop).map_err(|error| (error.to_string(), hash.to_string()))
        };
        assert_eq!(trusting("{ a }"), Ok(()));
        for (text, reason) in
            [("{ a b }", "two fields"), ("{", "Syntax error"), (&"{a".repeat(99), "brackets")]
        {
            let (told, hash) = trusting(text).unwrap_err();
            assert!(told.starts_with(&hash) && told.contains(reason), "{told}");
        }
    }

    #[test]
    fn a_text_beyond_the_limit_is_refused_before_it_is_hashed() {
        let text = " ".repeat(DOCUMENT_BYTES_MAX + 1);
        let registered = Some(DocumentHash::of("{ another }"));
        let found = PersistedDocuments::new()
            .resolve(DocumentReference { text: Some(text), id: None, registered }, &documents());
        assert!(matches!(found, Err(NoDocument::Document(DocumentError::OverLimit(_)))));
    }

    #[test]
    fn registered_documents_stay_within_their_bytes() {
        let (persisted, documents) = (PersistedDocuments::new(), documents());
        for number in 0..2_000 {
            let text = format!("{{ a{number} }} # {}", "x".repeat(10_000));
            persisted.register(DocumentHash::of(&text), &text);
        }
        assert!(persisted.registered.weight() <= REGISTERED_BYTES_MAX);
        let last = "{ last }";
        assert!(persisted.resolve(by_hash(DocumentHash::of(last)), &documents).is_err());
        persisted.register(DocumentHash::of(last), last);
        assert_eq!(persisted.resolve(by_hash(DocumentHash::of(last)), &documents).unwrap().text, last);
    }
}
