//! The document cache: parses documents and keeps the recently parsed ones, by the normal forms of their
//! texts. A document weighs the bytes that it takes: text, parsed form and compiled operations.

use std::fmt;
use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::document::{Document, DocumentError};
use super::document_limits::DocumentLimits;
use super::document_text::NormalText;

/// The longest document that is kept, in bytes of its normal form.
const CACHED_DOCUMENT_BYTES_MAX: usize = 8 * 1024;

/// Bytes of memory of all documents that are kept.
pub const CACHE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The expected number of documents in the cache.
const CACHE_DOCUMENTS_EXPECTED: usize = 512;

/// The cache.
pub struct Documents {
    limits: DocumentLimits,
    cache: Cache<Box<str>, CachedDocument, CachedWeighter>,
}

/// A kept document, and its weight when it was put into the cache.
#[derive(Clone)]
struct CachedDocument {
    document: Arc<Document>,
    bytes: usize,
}

impl CachedDocument {
    fn new(document: &Arc<Document>) -> Self {
        Self { document: Arc::clone(document), bytes: document.bytes() }
    }
}

impl Documents {
    /// An empty cache.
    #[must_use]
    pub fn new(limits: DocumentLimits) -> Self {
        let cache = Cache::with_weighter(CACHE_DOCUMENTS_EXPECTED, CACHE_BYTES_MAX, CachedWeighter);
        Self { limits, cache }
    }

    /// The limits that every document keeps.
    #[must_use]
    pub fn limits(&self) -> &DocumentLimits {
        &self.limits
    }

    /// The document of a text, from the cache if it was parsed lately.
    ///
    /// # Errors
    /// It is beyond a limit, or no document of any schema.
    pub fn parse(&self, text: &str) -> Result<Arc<Document>, DocumentError> {
        let normal = self.limits.normalize(text)?;
        match self.find(&normal) {
            Some(document) => Ok(document),
            None => self.add(normal).map_err(|error| error.in_original(text)),
        }
    }

    /// The document of a normal form, if it was parsed lately.
    #[must_use]
    pub fn find(&self, normal: &NormalText) -> Option<Arc<Document>> {
        self.cache.get(normal.as_str()).map(|cached| cached.document)
    }

    /// Parses a normal form, and keeps the document.
    ///
    /// # Errors
    /// It is beyond a limit, or no document of any schema. Positions are positions in the normal form.
    pub fn add(&self, normal: NormalText) -> Result<Arc<Document>, DocumentError> {
        let document = Arc::new(Document::of_normal(normal, &self.limits)?);
        if document.text.len() <= CACHED_DOCUMENT_BYTES_MAX {
            self.cache.insert(document.text.clone(), CachedDocument::new(&document));
        }
        Ok(document)
    }

    /// Weighs a document again, whose operations may have been compiled since it was put into the cache.
    pub fn reweigh(&self, document: &Arc<Document>) {
        if !document.take_growth() {
            return;
        }
        let cached = self.cache.peek(&document.text);
        if cached.is_some_and(|cached| Arc::ptr_eq(&cached.document, document)) {
            self.cache.insert(document.text.clone(), CachedDocument::new(document));
        }
    }
}

impl fmt::Debug for Documents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Documents").field("kept", &self.cache.len()).finish()
    }
}

#[derive(Clone)]
struct CachedWeighter;

impl Weighter<Box<str>, CachedDocument> for CachedWeighter {
    fn weight(&self, text: &Box<str>, cached: &CachedDocument) -> u64 {
        (text.len() + cached.bytes) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_one_normal_form_are_parsed_once() {
        let documents = Documents::new(DocumentLimits::default());
        let first = documents.parse("{ a }").unwrap();
        for text in ["{ a }", "{a}", "{ a } # another comment", "\n{\n  a,\n}\n"] {
            assert!(Arc::ptr_eq(&first, &documents.parse(text).unwrap()), "{text}");
        }
    }

    #[test]
    fn document_cache_stays_within_its_bytes() {
        let documents = Documents::new(DocumentLimits::default());
        for number in 0..2_000 {
            let document = documents.parse(&format!("{{ a{number} {{ {} }} }}", "b ".repeat(500))).unwrap();
            document.add_compiled_bytes(100_000);
            documents.reweigh(&document);
        }
        assert!(documents.cache.weight() <= CACHE_BYTES_MAX);
        assert!((10..200).contains(&documents.cache.len()), "{}", documents.cache.len());
    }

    #[test]
    fn a_document_that_was_compiled_weighs_more() {
        let documents = Documents::new(DocumentLimits::default());
        let document = documents.parse("{ a }").unwrap();
        let before = documents.cache.weight();
        document.add_compiled_bytes(1_000);
        assert_eq!(documents.cache.weight(), before);
        documents.reweigh(&document);
        documents.reweigh(&document);
        assert_eq!(documents.cache.weight(), before + 1_000);
    }

    #[test]
    fn a_document_that_was_evicted_does_not_come_back() {
        let documents = Documents::new(DocumentLimits::default());
        let document = documents.parse("{ a }").unwrap();
        documents.cache.remove(&*document.text);
        document.add_compiled_bytes(1_000);
        documents.reweigh(&document);
        assert_eq!(documents.cache.len(), 0);
    }
}
