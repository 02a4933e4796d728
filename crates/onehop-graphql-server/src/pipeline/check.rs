//! Check: everything that can be known of a request before its caller: which operation runs, whether its variables fit, and how
//! complex it is.

use std::sync::Arc;

use async_graphql::parser::types::OperationType;

use super::context::RequestContext;
use super::parse::RequestParameters;
use super::receive::ReceivedRequest;
use super::resolve::ResolvedDocument;
use crate::endpoint::GraphqlEndpoint;
use crate::refusal::Refusal;

impl GraphqlEndpoint {
    /// As [`check`](Self::check), for a request with a single answer: no subscription.
    ///
    /// # Errors
    /// As there, or it is a subscription.
    pub(crate) fn check_single(&self, received: ReceivedRequest) -> Result<RequestContext, Refusal> {
        let context = self.check(received)?;
        if context.kind() == OperationType::Subscription { Err(Refusal::Subscription) } else { Ok(context) }
    }

    /// Resolves the document of a received request, and checks the request but for validation of its selections.
    ///
    /// # Errors
    /// There is no such document or operation, a limit is exceeded, a variable does not fit, or a mutation came by GET.
    pub(crate) fn check(&self, received: ReceivedRequest) -> Result<RequestContext, Refusal> {
        let ReceivedRequest { client, headers, parameters, is_read_only, bearer, quota } = received;
        let RequestParameters { mut request, reference } = parameters;
        let ResolvedDocument { text, document, registers } =
            self.persisted().resolve(reference, self.documents())?;
        request.query = text;
        let mut context = RequestContext::new(client, headers, Arc::clone(&document), request, quota)?;
        context.bearer = bearer;
        let operation = context.operation();
        if is_read_only && operation.ty == OperationType::Mutation {
            return Err(Refusal::MutationOverGet);
        }
        let variables = &context.request.variables;
        self.schema().check_variables(&operation.variable_definitions, variables).map_err(Refusal::Schema)?;
        document.look_at_nested_variables(|definitions| self.schema().nested_variables_fit(definitions));
        let complexity =
            self.service().complexity(&document, operation, variables).map_err(Refusal::Schema)?;
        context.complexity = complexity;
        if let Some(hash) = registers {
            self.persisted().register(hash, &context.request.query);
        }
        Ok(context)
    }
}
