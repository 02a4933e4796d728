//! Validation alone, before a document is executed and for trusted documents at the start; skipped for
//! mutations that are known to be valid.

use std::sync::Arc;

use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextValidation};
use async_graphql::parser::types::ExecutableDocument;
use async_graphql::{CacheControl, Executor, Request, ServerError, ValidationResult, Value, Variables};
use async_trait::async_trait;
use futures::FutureExt;

use super::schema::{BlogSchema, SchemaOptions, builder, sdl};
use super::suggestions::FieldNames;
use super::webstore::decimal::Decimal;

/// Validates documents as the schema does before it executes them.
pub(super) struct Validator {
    schema: BlogSchema,
    /// For suggestions, where errors may name parts of the schema.
    names: Option<FieldNames>,
}

impl Validator {
    pub(super) fn new(options: SchemaOptions) -> Self {
        let names = options.suggestions.then(|| FieldNames::of_sdl(&sdl()));
        Self { schema: builder(options).extension(ValidatesOnly).finish(), names }
    }

    /// # Errors
    /// The errors of the document with these variables.
    pub(super) fn check(
        &self,
        document: &ExecutableDocument,
        operation_name: Option<&str>,
        variables: &Variables,
    ) -> Result<(), Vec<ServerError>> {
        let checked = validation_errors(&self.schema, document, operation_name, variables);
        checked.map_err(|mut errors| {
            if let Some(names) = &self.names {
                errors.iter_mut().for_each(|error| names.complete(error));
            }
            errors
        })
    }
}

/// Validates a document by a schema with [`ValidatesOnly`].
///
/// # Errors
/// The errors of the document with these variables.
pub(super) fn validation_errors(
    schema: &impl Executor,
    document: &ExecutableDocument,
    operation_name: Option<&str>,
    variables: &Variables,
) -> Result<(), Vec<ServerError>> {
    let mut request = Request::new("").variables(variables.clone());
    request.operation_name = operation_name.map(str::to_owned);
    request.set_parsed_query(document.clone());
    // Validation waits for nothing.
    let errors = schema.execute(request).now_or_never().map(|response| response.errors);
    errors.filter(|errors| !errors.is_empty()).map_or(Ok(()), Err)
}

/// Adds to an error about a decimal number in a document how a decimal number is written.
pub(super) fn explain_decimals(error: &mut ServerError) {
    if error.message.ends_with("expected type \"Decimal\"")
        && let Err(expected) = Decimal::check(&Value::Null)
    {
        error.message = format!("{}: {expected}", error.message);
    }
}

/// Ends every request with the errors of validation, which may be empty.
pub(super) struct ValidatesOnly;

impl ExtensionFactory for ValidatesOnly {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Self)
    }
}

#[async_trait]
impl Extension for ValidatesOnly {
    async fn validation(
        &self,
        ctx: &ExtensionContext<'_>,
        next: NextValidation<'_>,
    ) -> Result<ValidationResult, Vec<ServerError>> {
        Err(next.run(ctx).await.err().unwrap_or_default())
    }
}

/// Finds every document valid.
pub(super) struct SkipsValidation;

impl ExtensionFactory for SkipsValidation {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Self)
    }
}

#[async_trait]
impl Extension for SkipsValidation {
    /// Cache control, complexity and depth are counted elsewhere.
    async fn validation(
        &self,
        _ctx: &ExtensionContext<'_>,
        _next: NextValidation<'_>,
    ) -> Result<ValidationResult, Vec<ServerError>> {
        Ok(ValidationResult { cache_control: CacheControl::default(), complexity: 0, depth: 0 })
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;

    fn check(text: &str) -> Result<(), String> {
        let validator = Validator::new(SchemaOptions::default());
        let checked = validator.check(&parse_query(text).unwrap(), None, &Variables::default());
        checked.map_err(|errors| errors[0].message.clone())
    }

    #[test]
    fn a_valid_document_passes_without_execution() {
        for text in [
            "query($id: ID!, $first: Int!) { user(id: $id) { posts(first: $first) { nodes { title } } } }",
            "mutation($input: SignInInput!) { signIn(input: $input) { accessToken } }",
            "subscription { feedChanged { id } }",
            "query A { viewer { id } } query B { feed { nodes { id } } }",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_said() {
        for (text, told) in [
            ("{ viewer { name } }", "name"),
            ("{ user { id } }", "id"),
            ("{ feed(first: \"many\") { nodes { id } } }", "first"),
            ("query A { viewer { id } } query B { viewer { nothing } }", "nothing"),
        ] {
            let error = check(text).expect_err(text);
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
