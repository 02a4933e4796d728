//! Validate: whether a document fits the schema, with the variables of its request. A document that is known
//! to fit with any variables is not validated again.

use async_graphql::{ServerError, Value};

use super::context::RequestContext;
use super::prepare::{Preparation, PreparationWork};
use crate::document_limits::REQUEST_ERRORS_MAX;
use crate::document_text::move_to_original;
use crate::endpoint::GraphqlEndpoint;
use crate::refusal::Refusal;

impl GraphqlEndpoint {
    /// Validates the document of a request, unless it is known to fit.
    ///
    /// # Errors
    /// It does not fit, with the first [`REQUEST_ERRORS_MAX`] errors; or too many requests wait for their
    /// turn.
    pub(crate) async fn validate(
        &self,
        context: &mut RequestContext,
        preparation: &mut Preparation<'_>,
    ) -> Result<(), Refusal> {
        // A variable that may be null can stand where null may not.
        let has_null = context.variables().values().any(|value| *value == Value::Null);
        if context.document.is_valid() && !has_null {
            context.is_validated = true;
            return Ok(());
        }
        preparation.work(PreparationWork::validating(context.document.size.selections)).await?;
        let unknown = self.schema().unknown_names(&context.document.definitions, REQUEST_ERRORS_MAX);
        if unknown.len() >= REQUEST_ERRORS_MAX {
            return Err(context.invalid(unknown));
        }
        let name = context.request.operation_name.as_deref();
        let validated = self.service().validate(&context.document, name, context.variables());
        context.is_validated = validated.map_err(|errors| context.invalid(errors))?;
        Ok(())
    }
}

impl RequestContext {
    /// The refusal of a request for these errors, with the positions in the text that the client sent.
    pub(crate) fn invalid(&self, mut errors: Vec<ServerError>) -> Refusal {
        errors.truncate(REQUEST_ERRORS_MAX);
        errors.iter_mut().for_each(|error| move_to_original(error, &self.request.query));
        Refusal::Invalid(errors)
    }
}
