//! Resolve: finds the document of a request, by its text in the cache of parsed documents, or by its SHA-256 among persisted documents:
//! trusted ones, which the operator lists, and those that clients have registered by sending text and hash together.
//!
//! Both ways to ask are taken: `documentId`, as the appendix on persisted documents of GraphQL over HTTP has it, and
//! Apollo's `extensions.persistedQuery`.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::document::{Document, DocumentError};
use crate::document_limits::DocumentLimits;
use crate::trusted_documents::{DocumentHash, TrustError, TrustedDocuments};

/// The longest document that is kept, in bytes.
const CACHED_DOCUMENT_BYTES_MAX: usize = 8 * 1024;

/// The text of all documents kept, in bytes. A parsed document takes tens of times its text.
const CACHE_BYTES_MAX: u64 = 512 * 1024;

/// How many documents the cache expects to hold.
const CACHE_DOCUMENTS_EXPECTED: usize = 512;

/// The text of all registered documents, in bytes.
pub const REGISTERED_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// How many documents are expected to be registered.
const REGISTERED_EXPECTED: usize = 2048;

/// The document cache: parses documents and keeps those that were parsed lately.
pub struct Documents {
    limits: DocumentLimits,
    cache: Cache<String, Arc<Document>, CachedWeighter>,
}

impl Documents {
    /// An empty cache.
    #[must_use]
    pub fn new(limits: DocumentLimits) -> Self {
        let cache = Cache::with_weighter(CACHE_DOCUMENTS_EXPECTED, CACHE_BYTES_MAX, CachedWeighter);
        Self { limits, cache }
    }

    /// What every document keeps.
    pub fn limits(&self) -> &DocumentLimits {
        &self.limits
    }

    /// The document of a text, from the cache if it was parsed lately.
    ///
    /// # Errors
    /// It is beyond a limit, or no document of any schema.
    pub fn parse(&self, text: &str) -> Result<Arc<Document>, DocumentError> {
        if let Some(document) = self.cache.get(text) {
            return Ok(document);
        }
        let document = Arc::new(Document::parse(text, &self.limits)?);
        if text.len() <= CACHED_DOCUMENT_BYTES_MAX {
            self.cache.insert(text.to_owned(), Arc::clone(&document));
        }
        Ok(document)
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
    registered: Cache<DocumentHash, Arc<str>, RegisteredWeighter>,
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
        let registered = Cache::with_weighter(REGISTERED_EXPECTED, REGISTERED_BYTES_MAX, RegisteredWeighter);
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
        for (hash, text) in trusted.iter() {
            let fault = |reason| TrustError::Document { hash, reason };
            let document = documents.parse(text).map_err(|error| fault(error.to_string()))?;
            check(&document).map_err(fault)?;
            parsed.insert(hash, (text.to_owned(), document));
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
struct RegisteredWeighter;

impl Weighter<DocumentHash, Arc<str>> for RegisteredWeighter {
    fn weight(&self, _hash: &DocumentHash, text: &Arc<str>) -> u64 {
        // The hash takes room, too.
        (text.len() + DocumentHash::DIGITS) as u64
    }
}

impl fmt::Debug for Documents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Documents").field("kept", &self.cache.len()).finish()
    }
}

#[derive(Clone)]
struct CachedWeighter;

impl Weighter<String, Arc<Document>> for CachedWeighter {
    fn weight(&self, text: &String, _document: &Arc<Document>) -> u64 {
        text.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document_limits::DOCUMENT_BYTES_MAX;

    fn documents() -> Documents {
        Documents::new(DocumentLimits::default())
    }

    fn by_hash(hash: DocumentHash) -> DocumentReference {
        DocumentReference { registered: Some(hash), ..DocumentReference::default() }
    }

    #[test]
    fn an_invalid_trusted_document_is_named() {
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

    #[test]
    fn same_text_is_parsed_once() {
        let documents = Documents::new(DocumentLimits::default());
        let (first, second) = (documents.parse("{ a }").unwrap(), documents.parse("{ a }").unwrap());
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[test]
    fn document_cache_stays_within_its_bytes() {
        let documents = Documents::new(DocumentLimits::default());
        for number in 0..2_000 {
            documents.parse(&format!("{{ a{number} # {} \n }}", "x".repeat(1_000))).unwrap();
        }
        assert!(documents.cache.weight() <= CACHE_BYTES_MAX);
    }
}
