//! Limits of documents. The parser, the validator and the executor recurse, and visit a fragment again
//! wherever it is spread, so the limits of texts are counted in [`document_text`](super::document_text)
//! before anything is built from a text, and the limits of parsed documents in
//! [`document_size`](super::document_size).

use super::limit_exceeded::LimitExceeded;

/// The longest document, in bytes. Long texts belong into variables.
pub const DOCUMENT_BYTES_MAX: usize = 64 * 1024;

/// Limit of tokens in a document, also with its fragments written out. GraphiQL's introspection has about
/// 250.
pub const DOCUMENT_TOKENS_MAX: usize = 5_000;

/// Depth limit of selections. The introspection query of GraphiQL takes 15.
pub const DOCUMENT_DEPTH_MAX: usize = 16;

/// Limit of fields and fragments in a document's selections, with every fragment written out.
pub const DOCUMENT_SELECTIONS_MAX: usize = 1_000;

/// Limit of aliases in a document.
pub const DOCUMENT_ALIASES_MAX: usize = 50;

/// Limit of directives in a document.
pub const DOCUMENT_DIRECTIVES_MAX: usize = 50;

/// Limit of root fields in a query.
pub const QUERY_ROOT_FIELDS_MAX: usize = 20;

/// Limit of commands in one mutation.
pub const MUTATION_ROOT_FIELDS_MAX: usize = 10;

/// Errors of a request in its response, at most. A document may have thousands, each as long as a name in it.
pub const REQUEST_ERRORS_MAX: usize = 50;

/// Depth limit of brackets of all kinds in a document. Fixed, since the parser recurses.
pub const BRACKETS_MAX: usize = 64;

/// Depth limit of selections and fragments together. Fixed, since every walk over a document recurses so
/// deep.
pub const LEVELS_MAX: usize = 32;

/// The limits of a document.
#[derive(Debug, Clone, Copy)]
pub struct DocumentLimits {
    pub bytes_max: usize,
    /// At most [`LEVELS_MAX`] has a meaning.
    pub depth_max: usize,
    pub tokens_max: usize,
    pub selections_max: usize,
    pub aliases_max: usize,
    pub directives_max: usize,
    pub query_root_fields_max: usize,
    pub mutation_root_fields_max: usize,
}

impl Default for DocumentLimits {
    fn default() -> Self {
        Self {
            bytes_max: DOCUMENT_BYTES_MAX,
            depth_max: DOCUMENT_DEPTH_MAX,
            tokens_max: DOCUMENT_TOKENS_MAX,
            selections_max: DOCUMENT_SELECTIONS_MAX,
            aliases_max: DOCUMENT_ALIASES_MAX,
            directives_max: DOCUMENT_DIRECTIVES_MAX,
            query_root_fields_max: QUERY_ROOT_FIELDS_MAX,
            mutation_root_fields_max: MUTATION_ROOT_FIELDS_MAX,
        }
    }
}

impl DocumentLimits {
    pub(super) fn check_bytes(&self, bytes: usize) -> Result<(), LimitExceeded> {
        at_most(self.bytes_max, bytes, "document-bytes-max", "bytes")
    }

    pub(super) fn check_tokens(&self, tokens: usize) -> Result<(), LimitExceeded> {
        at_most(self.tokens_max, tokens, "document-tokens-max", "tokens, with its fragments written out")
    }
}

pub(super) fn at_most(
    max: usize,
    actual: usize,
    limit: &'static str,
    unit: &'static str,
) -> Result<(), LimitExceeded> {
    LimitExceeded::new(limit, max, "The document has more than", unit).unless(actual <= max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Document, DocumentError};

    /// The limit that a text exceeds.
    fn exceeded(text: &str) -> Option<&'static str> {
        match Document::parse(text, &DocumentLimits::default()) {
            Err(DocumentError::OverLimit(exceeded)) => Some(exceeded.limit),
            _ => None,
        }
    }

    fn is_parsed(text: &str) -> bool {
        Document::parse(text, &DocumentLimits::default()).is_ok()
    }

    #[test]
    fn a_document_beyond_the_byte_limit_is_refused() {
        let padded = |bytes: usize| format!("{{a}}{:1$}", "", bytes - 3);
        assert!(is_parsed(&padded(DOCUMENT_BYTES_MAX)));
        assert_eq!(exceeded(&padded(DOCUMENT_BYTES_MAX + 1)), Some("document-bytes-max"));
    }

    #[test]
    fn nesting_is_bounded_before_the_parser_recurses() {
        let limit = Some("document-brackets");
        for (open, close) in [("[", "]"), ("{a:", "}")] {
            let nested =
                |depth: usize| format!("{{a(b:{}1{})}}", open.repeat(depth - 2), close.repeat(depth - 2));
            assert!(is_parsed(&nested(BRACKETS_MAX)), "{open}");
            assert_eq!(exceeded(&nested(BRACKETS_MAX + 1)), limit, "{open}");
            assert_eq!(exceeded(&format!("{{a(b:{}", open.repeat(10_000))), limit, "{open}");
        }
        assert_eq!(exceeded(&format!("query($a: {}", "[".repeat(10_000))), limit);
        assert_eq!(exceeded(&"{a".repeat(10_000)), limit);
    }

    #[test]
    fn text_with_too_many_tokens_is_refused_before_it_is_parsed() {
        let long = |tokens: usize| format!("{{a(b:[{}])}}", "1 ".repeat(tokens - 9));
        assert!(is_parsed(&long(DOCUMENT_TOKENS_MAX)));
        assert_eq!(exceeded(&long(DOCUMENT_TOKENS_MAX + 1)), Some("document-tokens-max"));
        assert_eq!(exceeded(&"]".repeat(DOCUMENT_TOKENS_MAX + 1)), Some("document-tokens-max"));
    }

    #[test]
    fn brackets_in_strings_and_comments_count_for_nothing() {
        let brackets = "{[(".repeat(1_000);
        assert!(is_parsed(&format!("{{ a(b: \"{brackets}\") }} # {brackets}")));
        assert!(is_parsed(&format!(r#"{{ a(b: """ {brackets} \""" " {brackets} """) }}"#)));
        assert!(is_parsed(&format!(r#"{{ a(b: "\\\" {brackets}") }}"#)));
        assert!(is_parsed(r#"{ a(b: "\\") { c(d: "") { e } } }"#));
    }
}
