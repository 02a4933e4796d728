//! Documents: bounded before they are parsed, with the operations that they hold. Knows operations and their
//! kinds, no schema.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_graphql::parser::parse_query;
use async_graphql::parser::types::{ExecutableDocument, OperationDefinition};
use async_graphql::{Name, ServerError};

use super::{
    compiled_operations::CompiledOperations,
    document_limits::DocumentLimits,
    document_size::{DocumentSize, SizeError},
    document_text::{NormalText, move_to_original},
    limit_exceeded::LimitExceeded,
    live_directive,
    syntax_error::syntax_error,
    typename,
};

/// Bytes that a token takes at most in a parsed document, as the live bytes of hostile documents have it: a
/// field with its name, in a list that grew by doubling.
const TOKEN_BYTES: usize = 400;

/// Why a document was not taken.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DocumentError {
    #[error("{0}")]
    Syntax(Box<ServerError>),
    #[error(transparent)]
    OverLimit(#[from] LimitExceeded),
    /// Errors under every schema.
    #[error("{0}")]
    Invalid(Box<ServerError>),
    #[error("The fragment \"{0}\" spreads itself.")]
    FragmentCycle(Name),
}

impl From<SizeError> for DocumentError {
    fn from(error: SizeError) -> Self {
        match error {
            SizeError::OverLimit(exceeded) => Self::OverLimit(exceeded),
            SizeError::FragmentCycle(name) => Self::FragmentCycle(name),
        }
    }
}

impl DocumentError {
    /// The error, whose positions in the normal form of a text are moved to the text itself.
    pub(crate) fn in_original(mut self, original: &str) -> Self {
        if let Self::Syntax(error) | Self::Invalid(error) = &mut self {
            move_to_original(error, original);
        }
        self
    }
}

/// A parsed document within the limits.
#[derive(Debug)]
pub struct Document {
    /// The normal form of its text, from which it was parsed: positions are positions there.
    pub text: Box<str>,
    /// Tokens of the text.
    pub tokens: usize,
    pub definitions: ExecutableDocument,
    pub size: DocumentSize,
    /// The places of the operations that have the directive `@live`, which their definitions have lost.
    live: Vec<usize>,
    /// Whether it was found to fit the schema with any variables. Other documents are validated again each
    /// time.
    is_valid: AtomicBool,
    /// Whether variables within lists and input objects fit their positions, once that was looked at.
    nested_variables_fit: OnceLock<bool>,
    compiled: CompiledOperations,
    compiled_bytes: AtomicUsize,
    /// Whether bytes were added that the document cache has not weighed.
    has_grown: AtomicBool,
}

impl Document {
    /// Parses a text.
    ///
    /// # Errors
    /// It is beyond a limit, or no document of any schema.
    pub fn parse(text: &str, limits: &DocumentLimits) -> Result<Self, DocumentError> {
        Self::of_normal(limits.normalize(text)?, limits).map_err(|error| error.in_original(text))
    }

    /// Parses a normal form.
    ///
    /// # Errors
    /// It is beyond a limit, or no document of any schema. Positions are positions in the normal form.
    pub fn of_normal(normal: NormalText, limits: &DocumentLimits) -> Result<Self, DocumentError> {
        let text = normal.as_str();
        let mut definitions =
            parse_query(text).map_err(|error| DocumentError::Syntax(Box::new(syntax_error(&error))))?;
        let size = limits.measure(&definitions, text.len())?;
        typename::normalize(&mut definitions).map_err(|error| DocumentError::Invalid(Box::new(error)))?;
        let live = live_directive::take(&mut definitions);
        let live = live.map_err(|error| DocumentError::Invalid(Box::new(error)))?;
        let compiled = CompiledOperations::new(definitions.operations.iter().count());
        Ok(Self {
            definitions,
            size,
            live,
            is_valid: AtomicBool::new(false),
            nested_variables_fit: OnceLock::new(),
            compiled,
            compiled_bytes: AtomicUsize::new(0),
            has_grown: AtomicBool::new(false),
            tokens: normal.tokens(),
            text: normal.into_text(),
        })
    }

    /// Bytes of memory that this document takes: an estimate for its text and its parsed form, and the
    /// service's statement about the compiled operations.
    #[must_use]
    pub fn bytes(&self) -> usize {
        // The text stays beside the names that were parsed from it.
        let parsed = size_of::<Self>() + 2 * self.text.len() + self.tokens * TOKEN_BYTES;
        parsed.saturating_add(self.compiled_bytes.load(Ordering::Relaxed))
    }

    /// Counts the bytes of a compiled operation, beside the earlier ones.
    pub fn add_compiled_bytes(&self, bytes: usize) {
        self.compiled_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.has_grown.store(true, Ordering::Relaxed);
    }

    /// Whether bytes were added since this was last asked.
    pub(crate) fn take_growth(&self) -> bool {
        self.has_grown.load(Ordering::Relaxed) && self.has_grown.swap(false, Ordering::Relaxed)
    }

    /// The service's compiled form of an operation of this document. The first call compiles; the result is
    /// kept for as long as the document. `None` for an operation of another document.
    pub fn compiled<T: Send + Sync + 'static>(
        &self,
        operation: &OperationDefinition,
        compile: impl FnOnce() -> T,
    ) -> Option<&T> {
        self.compiled.get(self.place_of(operation)?, compile)
    }

    /// The place of an operation of this document among the others.
    fn place_of(&self, operation: &OperationDefinition) -> Option<usize> {
        let mut operations = self.definitions.operations.iter();
        operations.position(|(_, found)| std::ptr::eq(&raw const found.node, operation))
    }

    /// Whether an operation of this document is a live query: the client wants each new answer.
    #[must_use]
    pub fn is_live(&self, operation: &OperationDefinition) -> bool {
        !self.live.is_empty() && self.place_of(operation).is_some_and(|place| self.live.contains(&place))
    }

    /// The operation that a request with this `operationName` executes.
    ///
    /// # Errors
    /// No operation has this name, or there are several and no name is given.
    pub fn operation(&self, name: Option<&str>) -> Result<&OperationDefinition, OperationError> {
        select_operation(&self.definitions, name)
    }

    /// Whether it is known to fit the schema.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.is_valid.load(Ordering::Relaxed)
    }

    /// Remembers that it fits the schema. Of one with variables within lists or objects that is only known
    /// where their declared types fit their positions: otherwise validation decides by their values.
    pub fn set_valid(&self) {
        if !self.size.nests_variables || self.nested_variables_fit.get() == Some(&true) {
            self.is_valid.store(true, Ordering::Relaxed);
        }
    }

    /// Finds out whether variables within lists and objects fit their positions, if there are any and it is
    /// not known.
    pub(crate) fn look_at_nested_variables(&self, fit: impl FnOnce(&ExecutableDocument) -> bool) {
        if self.size.nests_variables {
            self.nested_variables_fit.get_or_init(|| fit(&self.definitions));
        }
    }
}

/// Why there is no operation to execute.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperationError {
    #[error("The document has no operation named \"{0}\".")]
    Unknown(String),
    #[error("The document has several operations: `operationName` must say which to execute.")]
    Ambiguous,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Document, DocumentError> {
        Document::parse(text, &DocumentLimits::default())
    }

    #[test]
    fn unclosed_string_is_a_syntax_error() {
        for text in ["{ a(b: \"", "{ a(b: \"\"\"", "{ a(b: \"\\", "\"", "{ é }"] {
            assert!(matches!(parse(text), Err(DocumentError::Syntax(_))), "{text}");
        }
    }

    #[test]
    fn syntax_error_says_where_and_repeats_nothing_of_the_document() {
        let Err(DocumentError::Syntax(error)) = parse("{ a(secret: \"word }") else {
            panic!("it was parsed")
        };
        assert_eq!(error.message, "Syntax error: expected a value.");
        assert_eq!((error.locations[0].line, error.locations[0].column), (1, 13));
    }

    #[test]
    fn operation_is_chosen_by_name_or_by_being_the_only_one() {
        let document = parse("query A { a } mutation B { b }").unwrap();
        let document = &document.definitions;
        assert!(select_operation(document, Some("B")).is_ok());
        assert_eq!(
            select_operation(document, Some("C")).unwrap_err(),
            OperationError::Unknown("C".to_owned())
        );
        assert_eq!(select_operation(document, None).unwrap_err(), OperationError::Ambiguous);

        let anonymous = parse("{ a }").unwrap();
        assert!(select_operation(&anonymous.definitions, None).is_ok());
        assert!(select_operation(&anonymous.definitions, Some("A")).is_err());
    }
}
