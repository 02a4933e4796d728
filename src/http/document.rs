//! Documents: bounded before they are parsed, parsed once, kept for the next request with the same text.
//! Knows operations and their kinds, no schema.

use std::{fmt, sync::Arc};

use async_graphql::{
    ServerError,
    parser::{
        parse_query,
        types::{ExecutableDocument, OperationDefinition},
    },
};
use quick_cache::{Weighter, sync::Cache};

/// How deep brackets of all kinds may nest in a document. The parser and the executor recurse.
pub const DOCUMENT_NESTING_MAX: usize = 128;

/// How many tokens a document may have. GraphiQL's introspection query has about 250.
pub const DOCUMENT_TOKENS_MAX: usize = 10_000;

/// The longest document that is kept, in bytes.
const CACHED_DOCUMENT_BYTES_MAX: usize = 8 * 1024;

/// The text of all documents kept, in bytes. A parsed document takes tens of times its text.
const CACHE_BYTES_MAX: u64 = 512 * 1024;

/// How many documents the cache expects to hold.
const CACHE_DOCUMENTS_EXPECTED: usize = 512;

/// Why a document was not taken.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DocumentError {
    #[error("{0}")]
    Syntax(ServerError),
    #[error("The document nests deeper than {DOCUMENT_NESTING_MAX} brackets.")]
    TooDeep,
    #[error("The document has more than {DOCUMENT_TOKENS_MAX} tokens.")]
    TooLong,
}

/// Why there is no operation to execute.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperationError {
    #[error("The document has no operation named \"{0}\".")]
    Unknown(String),
    #[error("The document has several operations: `operationName` must say which to execute.")]
    Ambiguous,
}

/// Parses documents and keeps those that were parsed lately.
pub struct Documents {
    cache: Cache<String, Arc<ExecutableDocument>, TextWeighter>,
}

impl Documents {
    pub fn new() -> Self {
        Self { cache: Cache::with_weighter(CACHE_DOCUMENTS_EXPECTED, CACHE_BYTES_MAX, TextWeighter) }
    }

    /// The document of a text.
    pub fn parse(&self, text: &str) -> Result<Arc<ExecutableDocument>, DocumentError> {
        if let Some(document) = self.cache.get(text) {
            return Ok(document);
        }
        check_size(text)?;
        let document =
            Arc::new(parse_query(text).map_err(|error| DocumentError::Syntax(ServerError::from(error)))?);
        if text.len() <= CACHED_DOCUMENT_BYTES_MAX {
            self.cache.insert(text.to_owned(), Arc::clone(&document));
        }
        Ok(document)
    }
}

impl Default for Documents {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Documents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Documents").field("kept", &self.cache.len()).finish()
    }
}

/// The operation that a request with this `operationName` executes.
pub fn select_operation<'a>(
    document: &'a ExecutableDocument,
    name: Option<&str>,
) -> Result<&'a OperationDefinition, OperationError> {
    let mut operations = document.operations.iter();
    match name {
        Some(name) => operations
            .find(|(candidate, _)| candidate.is_some_and(|candidate| candidate.as_str() == name))
            .map(|(_, operation)| &operation.node)
            .ok_or_else(|| OperationError::Unknown(name.to_owned())),
        None => match (operations.next(), operations.next()) {
            (Some((_, operation)), None) => Ok(&operation.node),
            _ => Err(OperationError::Ambiguous),
        },
    }
}

#[derive(Clone)]
struct TextWeighter;

impl Weighter<String, Arc<ExecutableDocument>> for TextWeighter {
    fn weight(&self, text: &String, _document: &Arc<ExecutableDocument>) -> u64 {
        text.len() as u64
    }
}

/// Walks over the text once, counting tokens and open brackets, without building anything.
fn check_size(text: &str) -> Result<(), DocumentError> {
    let bytes = text.as_bytes();
    let (mut position, mut tokens, mut nesting) = (0, 0_usize, 0_usize);
    while let Some(&byte) = bytes.get(position) {
        let length = match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b',' => {
                position += 1;
                continue;
            }
            b'#' => {
                position += length_until(&bytes[position..], |byte| matches!(byte, b'\n' | b'\r'));
                continue;
            }
            b'{' | b'(' | b'[' => {
                nesting += 1;
                1
            }
            b'}' | b')' | b']' => {
                nesting = nesting.saturating_sub(1);
                1
            }
            b'"' => string_length(&bytes[position..]),
            _ if is_word(byte) => length_until(&bytes[position..], |byte| !is_word(byte)),
            _ => 1,
        };
        position += length;
        tokens += 1;
        if nesting > DOCUMENT_NESTING_MAX {
            return Err(DocumentError::TooDeep);
        }
        if tokens > DOCUMENT_TOKENS_MAX {
            return Err(DocumentError::TooLong);
        }
    }
    Ok(())
}

/// Names and numbers; a byte of a character beyond ASCII counts as one so that it is one step.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn length_until(bytes: &[u8], is_end: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| is_end(byte)).unwrap_or(bytes.len())
}

/// The length of the string literal that starts here, closed or not.
fn string_length(bytes: &[u8]) -> usize {
    let (delimiter, escape): (&[u8], &[u8]) =
        if bytes.starts_with(b"\"\"\"") { (b"\"\"\"", b"\\\"\"\"") } else { (b"\"", b"\\\"") };
    let mut position = delimiter.len();
    while position < bytes.len() {
        let rest = &bytes[position..];
        if rest.starts_with(delimiter) {
            return position + delimiter.len();
        }
        // In an ordinary string a backslash may itself be escaped; in a block string it is plain text.
        position += if rest.starts_with(escape) {
            escape.len()
        } else if delimiter.len() == 1 && rest[0] == b'\\' {
            2
        } else {
            1
        };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Arc<ExecutableDocument>, DocumentError> {
        Documents::new().parse(text)
    }

    #[test]
    fn document_at_the_nesting_limit_is_parsed_and_one_beyond_is_refused() {
        let nested = |depth: usize| format!("{}a{}", "{a".repeat(depth - 1) + "{", "}".repeat(depth));
        assert!(!matches!(parse(&nested(DOCUMENT_NESTING_MAX)), Err(DocumentError::TooDeep)));
        assert!(matches!(parse(&nested(DOCUMENT_NESTING_MAX + 1)), Err(DocumentError::TooDeep)));
    }

    #[test]
    fn nested_lists_and_objects_are_bounded_like_selections() {
        for (open, close) in [("[", "]"), ("{a:", "}")] {
            let value = open.repeat(100_000) + "1" + &close.repeat(100_000);
            assert!(matches!(parse(&format!("{{a(b:{value})}}")), Err(DocumentError::TooDeep)));
            assert!(matches!(parse(&format!("{{a(b:{}", open.repeat(100_000))), Err(DocumentError::TooDeep)));
        }
        let variable_type = "[".repeat(100_000);
        assert!(matches!(parse(&format!("query($a: {variable_type}")), Err(DocumentError::TooDeep)));
    }

    #[test]
    fn document_with_too_many_tokens_is_refused_before_it_is_parsed() {
        let long = format!("{{{}}}", "a ".repeat(DOCUMENT_TOKENS_MAX));
        assert!(matches!(parse(&long), Err(DocumentError::TooLong)));
        assert!(parse(&format!("{{{}}}", "a ".repeat(DOCUMENT_TOKENS_MAX - 2))).is_ok());
    }

    #[test]
    fn brackets_in_strings_and_comments_count_for_nothing() {
        let brackets = "{[(".repeat(1_000);
        assert!(parse(&format!("{{ a(b: \"{brackets}\") }} # {brackets}")).is_ok());
        assert!(parse(&format!(r#"{{ a(b: """ {brackets} \""" " {brackets} """) }}"#)).is_ok());
        assert!(parse(&format!(r#"{{ a(b: "\\\" {brackets}") }}"#)).is_ok());
        assert!(parse(r#"{ a(b: "\\") { c(d: "") { e } } }"#).is_ok());
    }

    #[test]
    fn unclosed_string_is_a_syntax_error() {
        for text in ["{ a(b: \"", "{ a(b: \"\"\"", "{ a(b: \"\\", "\"", "{ é }"] {
            assert!(matches!(parse(text), Err(DocumentError::Syntax(_))), "{text}");
        }
    }

    #[test]
    fn same_text_is_parsed_once() {
        let documents = Documents::new();
        let (first, second) = (documents.parse("{ a }").unwrap(), documents.parse("{ a }").unwrap());
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[test]
    fn document_cache_stays_within_its_bytes() {
        let documents = Documents::new();
        for number in 0..2_000 {
            documents.parse(&format!("{{ a{number} # {} \n }}", "x".repeat(1_000))).unwrap();
        }
        assert!(documents.cache.weight() <= CACHE_BYTES_MAX);
    }

    #[test]
    fn operation_is_chosen_by_name_or_by_being_the_only_one() {
        let document = parse("query A { a } mutation B { b }").unwrap();
        assert!(select_operation(&document, Some("B")).is_ok());
        assert_eq!(
            select_operation(&document, Some("C")).unwrap_err(),
            OperationError::Unknown("C".to_owned())
        );
        assert_eq!(select_operation(&document, None).unwrap_err(), OperationError::Ambiguous);

        let anonymous = parse("{ a }").unwrap();
        assert!(select_operation(&anonymous, None).is_ok());
        assert!(select_operation(&anonymous, Some("A")).is_err());
    }
}
