//! Resolve: finds the document of a request, by its text in the cache of parsed documents, or by its SHA-256
//! among persisted documents. The operator lists the trusted ones; clients have registered the others by
//! sending text and hash together.
//!
//! Both ways to ask are taken: `documentId`, as the appendix on persisted documents of GraphQL over HTTP has
//! it, and Apollo's `extensions.persistedQuery`.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_graphql::ServerError;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::document::Document;
use crate::document_cache::Documents;
use crate::document_text::move_to_original;
use crate::trusted_documents::{DocumentHash, TrustError, TrustedDocuments};

/// The text of all registered documents, in bytes.
pub const REGISTERED_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The expected number of registered documents.
const REGISTERED_EXPECTED: usize = 2048;

/// A client's reference to a document.
#[derive(Debug, Default)]
pub struct DocumentReference {
    pub text: Option<String>,
    /// A `documentId`; a text that is no hash names no existing document.
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

/// The document of a reference.
#[derive(Debug)]
pub(crate) enum ReferencedDocument {
    /// A trusted document, which was parsed at the start.
    Parsed { text: String, document: Arc<Document> },
    /// The text that the client sent, with the hash by which it is to be registered.
    Sent { text: String, registers: Option<DocumentHash> },
    /// The text that was registered under a hash.
    Registered { text: Arc<str> },
}

/// Finds documents by text and by hash.
pub(crate) struct PersistedDocuments {
    trusted: HashMap<DocumentHash, (String, Arc<Document>)>,
    trusted_only: bool,
    registered: Cache<DocumentHash, Arc<str>, RegisteredWeighter>,
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
        check: impl Fn(&Document) -> Result<(), ServerError>,
    ) -> Result<Self, TrustError> {
        let mut parsed = HashMap::new();
        for (hash, text) in trusted.iter() {
            let fault = |reason| TrustError::Document { hash, reason };
            let document = documents.parse(text).map_err(|error| fault(error.to_string()))?;
            check(&document).map_err(|mut error| {
                move_to_original(&mut error, text);
                fault(error_text(&error))
            })?;
            parsed.insert(hash, (text.to_owned(), document));
        }
        Ok(Self { trusted: parsed, trusted_only, ..self })
    }

    /// The document of a reference.
    ///
    /// # Errors
    /// It leads to nothing, or to two documents.
    pub(crate) fn find(&self, reference: DocumentReference) -> Result<ReferencedDocument, PersistedError> {
        let DocumentReference { text, id, registered } = reference;
        let by_id = id.as_deref().map(DocumentHash::parse);
        // A request that names two different documents is refused.
        if let (Some(by_id), Some(registered)) = (by_id, registered)
            && by_id != Some(registered)
        {
            return Err(PersistedError::HashMismatch);
        }
        match (text, by_id.or(registered.map(Some))) {
            (Some(text), named) => {
                if named.is_some_and(|named| named != Some(DocumentHash::of(&text))) {
                    return Err(PersistedError::HashMismatch);
                }
                self.by_text(text, registered)
            }
            (None, Some(Some(hash))) => self.by_hash(hash),
            (None, _) => Err(PersistedError::NotFound),
        }
    }

    fn by_text(
        &self,
        text: String,
        registered: Option<DocumentHash>,
    ) -> Result<ReferencedDocument, PersistedError> {
        if self.trusted_only {
            let Some((_, document)) = self.trusted.get(&DocumentHash::of(&text)) else {
                return Err(PersistedError::NotTrusted);
            };
            return Ok(ReferencedDocument::Parsed { text, document: Arc::clone(document) });
        }
        let registers = registered.filter(|hash| !self.trusted.contains_key(hash));
        Ok(ReferencedDocument::Sent { text, registers })
    }

    fn by_hash(&self, hash: DocumentHash) -> Result<ReferencedDocument, PersistedError> {
        if let Some((text, document)) = self.trusted.get(&hash) {
            return Ok(ReferencedDocument::Parsed { text: text.clone(), document: Arc::clone(document) });
        }
        let text = self.registered.get(&hash).ok_or(PersistedError::NotFound)?;
        Ok(ReferencedDocument::Registered { text })
    }

    /// Keeps a document for requests that name it by its hash.
    pub(crate) fn register(&self, hash: DocumentHash, text: &str) {
        if self.registered.get(&hash).is_none() {
            self.registered.insert(hash, Arc::from(text));
        }
    }
}

/// The errors of a document, and their places.
fn error_text(error: &ServerError) -> String {
    match error.locations.first() {
        Some(place) => format!("{} (line {}, column {})", error.message, place.line, place.column),
        None => error.message.clone(),
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

#[cfg(test)]
mod tests {
    use async_graphql::Pos;

    use super::*;
    use crate::document_limits::DocumentLimits;

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
                2 => Err(ServerError::new("two fields", Some(Pos { line: 1, column: 4 }))),
                _ => Ok(()),
            };
            let trusting = PersistedDocuments::new().trusting(&trusted, true, &documents(), check);
            trusting.map(drop).map_err(|error| (error.to_string(), hash.to_string()))
        };
        assert_eq!(trusting("{ a }"), Ok(()));
        for (text, reason) in [
            ("{\n a b }", "two fields (line 2, column 4)"),
            ("{", "Syntax error"),
            (&"{a".repeat(99), "brackets"),
        ] {
            let (told, hash) = trusting(text).unwrap_err();
            assert!(told.starts_with(&hash) && told.contains(reason), "{told}");
        }
    }

    #[test]
    fn registered_documents_stay_within_their_bytes() {
        let persisted = PersistedDocuments::new();
        for number in 0..2_000 {
            let text = format!("{{ a{number} }} # {}", "x".repeat(10_000));
            persisted.register(DocumentHash::of(&text), &text);
        }
        assert!(persisted.registered.weight() <= REGISTERED_BYTES_MAX);
        let last = "{ last }";
        assert!(persisted.find(by_hash(DocumentHash::of(last))).is_err());
        persisted.register(DocumentHash::of(last), last);
        let found = persisted.find(by_hash(DocumentHash::of(last))).unwrap();
        assert!(matches!(found, ReferencedDocument::Registered { text } if &*text == last));
    }
}
