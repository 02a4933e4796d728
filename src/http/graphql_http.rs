//! `GET` and `POST /graphql` as the GraphQL over HTTP specification (draft of 2025) has it.
//!
//! A request passes content negotiation, its parameters, its document, its operation and its variables, in
//! that order, and only then reaches the service. What the fields mean is the service's affair. The media
//! types are in [`media_type`](super::media_type), the statuses in [`graphql_response`](super::graphql_response).

use std::{sync::Arc, time::Duration};

use async_graphql::{
    Request, Response as Execution,
    parser::types::{ExecutableDocument, OperationDefinition, OperationType},
};
use axum::{
    body::Body,
    http::{HeaderMap, Method, Request as HttpRequest, Response, header::AUTHORIZATION},
};

use super::{
    completion::OutputTypes,
    document::{Documents, select_operation},
    graphql_request::{from_body, from_uri, read_body},
    graphql_response::{Refusal, executed},
    graphql_service::{GraphqlService, RequestRejection},
    media_type::{ResponseType, is_json_request},
    variables::{InputTypes, SdlError},
};

/// The largest body in bytes. A post's content has at most 100,000 characters, which take at most 400,000
/// bytes, or 600,000 where a client escapes all of them.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// How long a request may take from its head to its answer.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// What one request may take.
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    pub body_bytes_max: usize,
    pub timeout: Duration,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self { body_bytes_max: BODY_BYTES_MAX, timeout: REQUEST_TIMEOUT }
    }
}

/// The GraphQL endpoint.
pub struct GraphqlEndpoint {
    service: Arc<dyn GraphqlService>,
    documents: Documents,
    input_types: InputTypes,
    output_types: OutputTypes,
    limits: RequestLimits,
}

impl GraphqlEndpoint {
    /// An endpoint for the schema of this SDL, executed by the service.
    pub fn new(service: Arc<dyn GraphqlService>, sdl: &str, limits: RequestLimits) -> Result<Self, SdlError> {
        Ok(Self {
            service,
            documents: Documents::new(),
            input_types: InputTypes::from_sdl(sdl)?,
            output_types: OutputTypes::from_sdl(sdl)?,
            limits,
        })
    }

    /// Answers one HTTP request.
    pub async fn handle(&self, request: HttpRequest<Body>) -> Response<Body> {
        let Some(media_type) = ResponseType::negotiate(request.headers()) else {
            return Refusal::NotAcceptable.into_response(ResponseType::Json);
        };
        let answer = tokio::time::timeout(self.limits.timeout, self.answer(request)).await;
        match answer.unwrap_or(Err(Refusal::TimedOut(self.limits.timeout))) {
            Ok(execution) => executed(execution, media_type),
            Err(refusal) => {
                // Its text may repeat the request.
                tracing::debug!(code = refusal.code(), "request refused");
                refusal.into_response(media_type)
            }
        }
    }

    async fn answer(&self, request: HttpRequest<Body>) -> Result<Execution, Refusal> {
        let (head, body) = request.into_parts();
        let is_read_only = match head.method {
            Method::GET | Method::HEAD => true,
            Method::POST => false,
            _ => return Err(Refusal::MethodNotAllowed),
        };
        let mut request = if is_read_only {
            from_uri(&head.uri)?
        } else if is_json_request(&head.headers) {
            from_body(&read_body(body, self.limits.body_bytes_max).await?)?
        } else {
            return Err(Refusal::UnsupportedMediaType);
        };
        let document = self.documents.parse(&request.query)?;
        let operation = select_operation(&document, request.operation_name.as_deref())?;
        self.check(operation, &request, is_read_only)?;
        let bearer = bearer_token(&head.headers)?;
        request.set_parsed_query(ExecutableDocument::clone(&document));
        let mut execution = self.service.execute(request, bearer).await?;
        if !execution.errors.is_empty() {
            self.output_types.complete(&document, operation, &mut execution);
        }
        Ok(execution)
    }

    /// Checks all that can be checked of an operation without validating its selections.
    fn check(
        &self,
        operation: &OperationDefinition,
        request: &Request,
        is_read_only: bool,
    ) -> Result<(), Refusal> {
        match operation.ty {
            OperationType::Query => {}
            OperationType::Mutation if is_read_only => return Err(Refusal::MutationOverGet),
            OperationType::Mutation => {}
            OperationType::Subscription => return Err(Refusal::Subscription),
        }
        self.input_types
            .check(&operation.variable_definitions, &request.variables)
            .map_err(Refusal::Variables)
    }
}

/// The token of the `Authorization` header. A header that holds no bearer token is refused like a forged
/// one: the client meant to be somebody.
fn bearer_token(headers: &HeaderMap) -> Result<Option<&str>, RequestRejection> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(RequestRejection::InvalidToken);
    }
    let (scheme, token) =
        value.to_str().ok().and_then(|value| value.split_once(' ')).ok_or(RequestRejection::InvalidToken)?;
    let token = token.trim();
    if scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() {
        Ok(Some(token))
    } else {
        Err(RequestRejection::InvalidToken)
    }
}
