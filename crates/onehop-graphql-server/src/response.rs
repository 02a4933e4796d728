//! Responses to executed requests: status, headers and body under either media type, written within the
//! response budget. Knows async-graphql's response and the error codes clients rely on, nothing of the
//! domain.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use async_graphql::parser::types::OperationType;
use async_graphql::{ErrorExtensionValues, Response as Execution, ServerError, Value};
use axum::{
    body::Body,
    http::{
        HeaderMap, HeaderValue, Response, StatusCode,
        header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
    },
};
use bytes::Bytes;
use serde::Serialize;
use uuid::Uuid;

use super::document_limits::REQUEST_ERRORS_MAX;
use super::media_type::ResponseType;
use super::pipeline::rate_limit::whole_seconds;
use super::position::{POSITION, POSITION_HEADER};
use super::response_budget::{ResponseBudget, ResponseBuffer};
use super::response_limits::ResponseRefused;
use super::written_response::WrittenResponse;

/// The usual size of a response, in bytes; the buffer grows for a larger response.
const RESPONSE_BYTES_EXPECTED: usize = 1024;

/// The usual number of headers in a response.
const RESPONSE_HEADERS_EXPECTED: usize = 14;

/// When to try again, in milliseconds, in the extensions of an error.
pub(super) const RETRY_AFTER_MS: &str = "retryAfterMs";

/// The challenge to a client whose access token is not accepted (RFC 6750, section 3).
pub(super) const INVALID_TOKEN_CHALLENGE: HeaderValue =
    HeaderValue::from_static("Bearer error=\"invalid_token\"");

/// The response of an execution, written and not yet put together.
pub(super) struct ExecutedResponse {
    pub(super) kind: OperationType,
    pub(super) headers: HeaderMap,
    retry_after: Option<Duration>,
    pub(super) body: Bytes,
    /// For a request that was not executed after all.
    request_error: Option<RequestError>,
    pub(super) has_errors: bool,
}

struct RequestError {
    status: StatusCode,
    /// The errors alone, as JSON.
    errors: Bytes,
}

impl ExecutedResponse {
    /// Writes a response within its budget; a response that does not fit becomes an error of the request.
    pub(super) fn of(mut execution: Execution, kind: OperationType, budget: &ResponseBudget) -> Self {
        let body = match body_of(&mut execution, budget) {
            Ok(body) => body,
            Err(refused) => {
                execution.errors = vec![refused.into()];
                execution.data = Value::Null;
                budget.memory().hold(encode_execution(&execution, None))
            }
        };
        let request_error = is_request_error(&execution).then(|| RequestError {
            status: request_error_status(&execution.errors),
            errors: errors_of(&execution),
        });
        let retry_after = retry_after_of(&execution.errors);
        let has_errors = !execution.errors.is_empty();
        let mut headers = execution.http_headers;
        if let Some(Value::String(position)) = execution.extensions.get(POSITION)
            && let Ok(position) = HeaderValue::from_str(position)
        {
            headers.insert(POSITION_HEADER, position);
        }
        Self { kind, headers, retry_after, body, request_error, has_errors }
    }

    /// Completes a response whose data is written already, within its budget.
    pub(super) fn of_written(written: WrittenResponse, budget: &ResponseBudget) -> Self {
        let WrittenResponse { data, extensions } = written;
        let mut body = data.into_body();
        if !extensions.is_empty() {
            body.extend_from_slice(b",\"extensions\":");
            let written = serde_json::to_writer(&mut body, &extensions);
            written.expect("extensions have string keys only, and a vector takes every write");
        }
        body.push(b'}');
        let buffer = ResponseBuffer::written(budget, body);
        if let Some(refused) = buffer.refused() {
            let mut execution = Execution::from_errors(vec![refused.into()]);
            execution.extensions = extensions;
            return Self::of(execution, OperationType::Query, budget);
        }
        Self {
            kind: OperationType::Query,
            headers: HeaderMap::new(),
            retry_after: None,
            body: buffer.into_bytes(),
            request_error: None,
            has_errors: false,
        }
    }

    pub(super) fn into_response(self, media_type: ResponseType) -> Response<Body> {
        let status = match (media_type, self.request_error.map(|error| error.status)) {
            (_, Some(StatusCode::UNAUTHORIZED)) => StatusCode::UNAUTHORIZED,
            (ResponseType::GraphqlResponse, Some(status)) => status,
            _ => StatusCode::OK,
        };
        let mut response = respond(status, media_type, self.body);
        response.headers_mut().extend(self.headers);
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, INVALID_TOKEN_CHALLENGE);
        }
        set_retry_after(&mut response, self.retry_after);
        response
    }

    /// The response for transports on which a request has no status.
    pub(super) fn into_encoded(self) -> Encoded {
        Encoded { response: self.body, request_errors: self.request_error.map(|error| error.errors) }
    }
}

/// When all fields that failed for now may be asked again: as errors say it, one for each field.
fn retry_after_of(errors: &[ServerError]) -> Option<Duration> {
    let told = errors.iter().filter_map(|error| match error.extensions.as_ref()?.get(RETRY_AFTER_MS)? {
        Value::Number(ms) => ms.as_u64().map(Duration::from_millis),
        _ => None,
    });
    told.max()
}

pub(super) fn set_retry_after(response: &mut Response<Body>, delay: Option<Duration>) {
    if let Some(delay) = delay {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(whole_seconds(delay)));
    }
}

/// A result as it is sent on transports on which a request has no status.
#[derive(Debug, Clone)]
pub(super) struct Encoded {
    /// The whole response.
    pub(super) response: Bytes,
    /// The errors alone, where the request was not executed.
    pub(super) request_errors: Option<Bytes>,
}

impl Encoded {
    /// A request that was not executed because of this.
    pub(super) fn refused(error: ServerError) -> Self {
        Self::refused_for(vec![error])
    }

    /// A request that was not executed because of these.
    pub(super) fn refused_for(errors: Vec<ServerError>) -> Self {
        let mut execution = Execution::from_errors(errors);
        execution.extensions = not_charged();
        Self::refusal(execution)
    }

    /// A request that was not executed, with any errors.
    pub(super) fn refusal(mut execution: Execution) -> Self {
        name_codes(&mut execution);
        let request_errors = Some(errors_of(&execution));
        Self { response: encode_execution(&execution, None).into(), request_errors }
    }
}

fn errors_of(execution: &Execution) -> Bytes {
    let errors = serde_json::to_vec(&execution.errors);
    errors.expect("errors have string keys only, and a vector takes every write").into()
}

/// Whether an execution never began.
///
/// async-graphql reports an error of the request (validation, a limit) as errors without a path beside null
/// data. An error of a field has a path, and its null data is a result: such a response keeps its `data`.
pub(super) fn is_request_error(execution: &Execution) -> bool {
    execution.data == Value::Null
        && !execution.errors.is_empty()
        && execution.errors.iter().all(|error| error.path.is_empty())
}

/// # Errors
/// The response does not fit into its budget.
fn body_of(execution: &mut Execution, budget: &ResponseBudget) -> Result<Bytes, ResponseRefused> {
    let is_request_error = is_request_error(execution);
    if is_request_error {
        name_codes(execution);
    }
    let execution = &*execution;
    let mut buffer = ResponseBuffer::new(budget, RESPONSE_BYTES_EXPECTED);
    let written =
        serde_json::to_writer(&mut buffer, &body(execution, (!is_request_error).then_some(&execution.data)));
    match buffer.refused() {
        Some(refused) => Err(refused),
        None => {
            written.expect("a GraphQL response has string keys only, and the buffer took every write");
            Ok(buffer.into_bytes())
        }
    }
}

/// Gives a code to errors of a request without a code: errors of a schema that validates during execution.
fn name_codes(execution: &mut Execution) {
    execution.errors.truncate(REQUEST_ERRORS_MAX);
    for error in &mut execution.errors {
        let extensions = error.extensions.get_or_insert_with(ErrorExtensionValues::default);
        if extensions.get("code").is_none() {
            extensions.set("code", "GRAPHQL_VALIDATION_FAILED");
        }
    }
}

fn encode_execution(execution: &Execution, data: Option<&Value>) -> Vec<u8> {
    encode(&body(execution, data))
}

fn body<'a>(execution: &'a Execution, data: Option<&'a Value>) -> ResponseBody<'a> {
    let extensions = (!execution.extensions.is_empty()).then_some(&execution.extensions);
    ResponseBody { data, errors: &execution.errors, extensions }
}

/// Clients find the request charge in every response. A request without an execution has read and written
/// nothing.
pub(super) fn not_charged() -> BTreeMap<String, Value> {
    BTreeMap::from([("requestCharge".to_owned(), Value::from(0.0))])
}

/// The answer to a request whose handler panicked: masked, for the log has the panic under this id.
pub fn panicked(error_id: Uuid) -> Response<Body> {
    let mut error = ServerError::new("Something went wrong on the server.", None);
    let extensions = error.extensions.get_or_insert_default();
    extensions.set("code", "INTERNAL");
    extensions.set("errorId", error_id.to_string());
    let body = encode(&ResponseBody { data: None, errors: &[error], extensions: None });
    respond(StatusCode::INTERNAL_SERVER_ERROR, ResponseType::Json, body)
}

/// The body of a response.
#[derive(Serialize)]
pub(super) struct ResponseBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<&'a Value>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) errors: &'a [ServerError],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extensions: Option<&'a BTreeMap<String, Value>>,
}

/// The status of a request error that the executor raised: a fault of the server is not the client's, and a
/// session that ends before the execution begins is refused as its access token is from then on.
fn request_error_status(errors: &[ServerError]) -> StatusCode {
    let code = errors.iter().find_map(|error| match error.extensions.as_ref()?.get("code")? {
        Value::String(code) => Some(Cow::Borrowed(code.as_str())),
        Value::Enum(code) => Some(Cow::Borrowed(code.as_str())),
        _ => None,
    });
    match code.as_deref() {
        Some("UNAVAILABLE") => StatusCode::SERVICE_UNAVAILABLE,
        Some("INTERNAL") => StatusCode::INTERNAL_SERVER_ERROR,
        Some("UNAUTHENTICATED") => StatusCode::UNAUTHORIZED,
        _ => StatusCode::BAD_REQUEST,
    }
}

pub(super) fn encode(body: &ResponseBody<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(RESPONSE_BYTES_EXPECTED);
    serde_json::to_writer(&mut bytes, body)
        .expect("a GraphQL response has string keys only, and a vector takes every write");
    bytes
}

/// Unless it says otherwise, no response is stored: it may hold data that only its viewer may read, and its
/// read models move on.
pub(super) fn respond(status: StatusCode, media_type: ResponseType, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    // One allocation for the headers of all layers.
    headers.reserve(RESPONSE_HEADERS_EXPECTED);
    headers.insert(CONTENT_TYPE, media_type.header_value());
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
