//! Responses of the GraphQL endpoint: status, headers and body under either media type, written within the response
//! budget.
//! Knows async-graphql's response and the error codes clients rely on, nothing of the domain.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use async_graphql::parser::types::OperationType;
use async_graphql::{ErrorExtensionValues, Response as Execution, ServerError, Value};
use axum::{
    body::Body,
    http::{
        HeaderMap, HeaderValue, Response, StatusCode,
        header::{
            ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER,
            SEC_WEBSOCKET_VERSION, WWW_AUTHENTICATE,
        },
    },
};
use bytes::Bytes;
use serde::Serialize;
use uuid::Uuid;

use super::{
    document::{DocumentError, OperationError},
    limit_exceeded::LimitExceeded,
    media_type::ResponseType,
    pipeline::{
        admit::{Overloaded, RETRY_AFTER as OVERLOADED_RETRY_AFTER},
        parse::{MalformedRequest, POSITION, POSITION_HEADER},
        rate_limit::whole_seconds,
        resolve::{NoDocument, PersistedError},
    },
    response_budget::{RETRY_AFTER as SHED_RETRY_AFTER, ResponseBudget, ResponseBuffer, ResponseRefused},
    service::{InvalidPosition, RequestRejection},
};

/// What a response usually takes, in bytes; the buffer grows when it takes more.
const RESPONSE_BYTES_EXPECTED: usize = 1024;

/// When to try again while there is no room for another open connection.
const CONNECTIONS_FULL_RETRY_AFTER: Duration = Duration::from_secs(5);

/// When to try again, in milliseconds, in the extensions of an error.
const RETRY_AFTER_MS: &str = "retryAfterMs";

/// Errors of a request in its response, at most. A document may have thousands, each as long as a name in it.
const REQUEST_ERRORS_MAX: usize = 50;

/// Why a request was answered without being executed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("The client accepts neither application/graphql-response+json nor application/json.")]
    NotAcceptable,
    #[error(
        "The request may come from a page of another site: send it with `Content-Type: application/json`, or with \
         the header `apollo-require-preflight: true`."
    )]
    Forged,
    #[error("The body of a POST must be application/json in UTF-8, as its Content-Type says.")]
    UnsupportedMediaType,
    #[error("The body may be coded with gzip, as its Content-Encoding says, and with nothing else.")]
    UnsupportedCoding,
    #[error("The method must be GET or POST.")]
    MethodNotAllowed,
    #[error("A mutation must be sent by POST.")]
    MutationOverGet,
    #[error("A subscription needs a WebSocket, or `Accept: text/event-stream`.")]
    Subscription,
    #[error(transparent)]
    Malformed(#[from] MalformedRequest),
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error(transparent)]
    Persisted(PersistedError),
    #[error(transparent)]
    Operation(#[from] OperationError),
    #[error(transparent)]
    OverLimit(#[from] LimitExceeded),
    /// What the schema says of variables, or of what is asked. Its code is its own, if it has one.
    #[error("{0}")]
    Schema(ServerError),
    #[error(transparent)]
    Overloaded(#[from] Overloaded),
    /// There is no room for the response.
    #[error(transparent)]
    Response(#[from] ResponseRefused),
    #[error(transparent)]
    Rejected(#[from] RequestRejection),
    #[error("A page of this origin may not open a WebSocket here.")]
    ForeignOrigin,
    #[error("The session endpoint is for pages of this server: other clients use the mutation renewSession.")]
    ForeignSession,
    /// The position that a request waits for.
    #[error("extensions.position {0}.")]
    Position(#[from] InvalidPosition),
    #[error("This server has as many open connections as it can serve: try again later.")]
    ConnectionsFull,
    /// So has the network of the client.
    #[error(transparent)]
    NetworkFull(LimitExceeded),
    #[error("This is no WebSocket handshake: {0}.")]
    Handshake(&'static str),
    #[error("The version of a WebSocket must be 13.")]
    WebSocketVersion,
    #[error("The request took longer than {0:?}.")]
    TimedOut(Duration),
}

impl From<NoDocument> for Refusal {
    fn from(error: NoDocument) -> Self {
        match error {
            NoDocument::Persisted(error) => Self::Persisted(error),
            NoDocument::Document(error) => Self::Document(error),
        }
    }
}

/// Whether the status depends on the media type.
enum Kind {
    /// The client sent no well-formed request, or may not send it: the status is the same for both types.
    Http(StatusCode),
    /// A well-formed request that cannot be executed: 200 for clients of before 2025.
    RequestError,
}

impl Refusal {
    /// The HTTP response of the refusal.
    pub fn into_response(self, media_type: ResponseType) -> Response<Body> {
        let (kind, _) = self.classify();
        let status = match (kind, media_type) {
            (Kind::Http(status), _) => status,
            (Kind::RequestError, ResponseType::GraphqlResponse) => StatusCode::BAD_REQUEST,
            (Kind::RequestError, ResponseType::Json) => StatusCode::OK,
        };
        let allowed = match self {
            Self::MethodNotAllowed => Some("GET, HEAD, POST"),
            Self::MutationOverGet => Some("POST"),
            _ => None,
        };
        let is_other_version = matches!(self, Self::WebSocketVersion);
        let is_coded = matches!(self, Self::UnsupportedCoding);
        let challenged = matches!(self, Self::Rejected(RequestRejection::InvalidToken));
        let retry_after = self.retry_after();
        // What is left of such a body is not waited for.
        let is_last = matches!(self, Self::Malformed(MalformedRequest::BodyTooSlow(_)));

        let mut response = respond(status, media_type, self.into_body());
        let headers = response.headers_mut();
        if let Some(methods) = allowed {
            headers.insert(ALLOW, HeaderValue::from_static(methods));
        }
        if is_other_version {
            headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        }
        if is_coded {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if challenged {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer error=\"invalid_token\""));
        }
        if is_last {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        tell_retry_after(&mut response, retry_after);
        response
    }

    /// When the same request may be taken.
    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Rejected(RequestRejection::Unavailable { retry_after }) => *retry_after,
            Self::Rejected(RequestRejection::OverBudget { retry_after, .. }) => Some(*retry_after),
            Self::Overloaded(Overloaded) => Some(OVERLOADED_RETRY_AFTER),
            Self::Response(ResponseRefused::Overloaded) => Some(SHED_RETRY_AFTER),
            Self::ConnectionsFull | Self::NetworkFull(_) => Some(CONNECTIONS_FULL_RETRY_AFTER),
            _ => None,
        }
    }

    /// Whether the request was well-formed and its caller known, so that what is wrong with it is a result like others.
    pub(super) fn is_request_error(&self) -> bool {
        matches!(self.classify().0, Kind::RequestError)
    }

    /// The refusal as a result, for transports on which a request has no status.
    pub(super) fn into_encoded(self) -> Encoded {
        let code = self.code();
        Encoded::refused(self.into_error(code))
    }

    /// The body of that response.
    pub fn into_body(self) -> Vec<u8> {
        let code = self.code();
        let (errors, extensions) = ([self.into_error(code)], not_charged());
        encode(&ResponseBody { data: None, errors: &errors, extensions: Some(&extensions) })
    }

    /// The code that clients get.
    pub fn code(&self) -> &'static str {
        self.classify().1
    }

    fn classify(&self) -> (Kind, &'static str) {
        use StatusCode as Status;
        match self {
            Self::NotAcceptable => (Kind::Http(Status::NOT_ACCEPTABLE), "BAD_USER_INPUT"),
            Self::UnsupportedMediaType | Self::UnsupportedCoding => {
                (Kind::Http(Status::UNSUPPORTED_MEDIA_TYPE), "BAD_USER_INPUT")
            }
            Self::MethodNotAllowed | Self::MutationOverGet => {
                (Kind::Http(Status::METHOD_NOT_ALLOWED), "BAD_USER_INPUT")
            }
            Self::Forged | Self::ForeignOrigin | Self::ForeignSession => {
                (Kind::Http(Status::FORBIDDEN), "FORBIDDEN")
            }
            Self::Handshake(_) => (Kind::Http(Status::BAD_REQUEST), "BAD_USER_INPUT"),
            Self::WebSocketVersion => (Kind::Http(Status::UPGRADE_REQUIRED), "BAD_USER_INPUT"),
            Self::NetworkFull(_) => (Kind::Http(Status::TOO_MANY_REQUESTS), LimitExceeded::CODE),
            Self::ConnectionsFull => (Kind::Http(Status::SERVICE_UNAVAILABLE), LimitExceeded::CODE),
            Self::Malformed(MalformedRequest::BodyTooLarge(_)) => {
                (Kind::Http(Status::PAYLOAD_TOO_LARGE), LimitExceeded::CODE)
            }
            Self::Malformed(MalformedRequest::BodyTooSlow(_)) => {
                (Kind::Http(Status::REQUEST_TIMEOUT), LimitExceeded::CODE)
            }
            Self::Malformed(MalformedRequest::OverLimit(_)) => {
                (Kind::Http(Status::BAD_REQUEST), LimitExceeded::CODE)
            }
            Self::Malformed(_) => (Kind::Http(Status::BAD_REQUEST), "BAD_USER_INPUT"),
            Self::Persisted(error @ PersistedError::HashMismatch) => {
                (Kind::Http(Status::BAD_REQUEST), error.code())
            }
            Self::Persisted(error) => (Kind::RequestError, error.code()),
            Self::Document(DocumentError::OverLimit(_))
            | Self::OverLimit(_)
            | Self::Response(ResponseRefused::OverLimit(_)) => (Kind::RequestError, LimitExceeded::CODE),
            Self::Document(DocumentError::FragmentCycle(_) | DocumentError::Invalid(_)) => {
                (Kind::RequestError, "GRAPHQL_VALIDATION_FAILED")
            }
            Self::Subscription
            | Self::Position(_)
            | Self::Document(DocumentError::Syntax(_))
            | Self::Operation(_)
            | Self::Schema(_) => (Kind::RequestError, "BAD_USER_INPUT"),
            Self::Rejected(RequestRejection::InvalidToken) => {
                (Kind::Http(Status::UNAUTHORIZED), "UNAUTHENTICATED")
            }
            Self::Rejected(RequestRejection::OverBudget { .. }) => {
                (Kind::Http(Status::TOO_MANY_REQUESTS), LimitExceeded::CODE)
            }
            Self::Rejected(RequestRejection::Unavailable { .. })
            | Self::Overloaded(_)
            | Self::Response(ResponseRefused::Overloaded)
            | Self::TimedOut(_) => (Kind::Http(Status::SERVICE_UNAVAILABLE), "UNAVAILABLE"),
        }
    }

    fn into_error(self, code: &'static str) -> ServerError {
        let retry_after = self.retry_after();
        let is_position = matches!(self, Self::Position(_));
        let mut error = match self {
            Self::Schema(error) => error,
            Self::Document(DocumentError::Syntax(error) | DocumentError::Invalid(error)) => *error,
            Self::OverLimit(exceeded)
            | Self::Document(DocumentError::OverLimit(exceeded))
            | Self::Malformed(
                MalformedRequest::OverLimit(exceeded)
                | MalformedRequest::BodyTooLarge(exceeded)
                | MalformedRequest::BodyTooSlow(exceeded),
            ) => return exceeded.into(),
            Self::Rejected(RequestRejection::OverBudget { exceeded, .. }) | Self::NetworkFull(exceeded) => {
                exceeded.into()
            }
            Self::Response(refused) => return refused.into(),
            other => ServerError::new(other.to_string(), None),
        };
        let extensions = error.extensions.get_or_insert_default();
        if extensions.get("code").is_none() {
            extensions.set("code", code);
        }
        if let Some(delay) = retry_after {
            extensions.set(RETRY_AFTER_MS, u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        }
        if is_position {
            extensions.set("field", "extensions.position");
        }
        error
    }
}

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
    /// Writes a response within its budget; one that does not fit becomes an error of the request.
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

    pub(super) fn into_response(self, media_type: ResponseType) -> Response<Body> {
        let status = match (media_type, self.request_error) {
            (ResponseType::GraphqlResponse, Some(error)) => error.status,
            _ => StatusCode::OK,
        };
        let mut response = respond(status, media_type, self.body);
        response.headers_mut().extend(self.headers);
        tell_retry_after(&mut response, self.retry_after);
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

fn tell_retry_after(response: &mut Response<Body>, delay: Option<Duration>) {
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
        let mut execution = Execution::from_errors(vec![error]);
        execution.extensions = not_charged();
        Self::refusal(execution)
    }

    /// What was not executed, whatever its errors are about.
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
fn is_request_error(execution: &Execution) -> bool {
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

/// Gives a code to errors of a request that have none.
fn name_codes(execution: &mut Execution) {
    execution.errors.truncate(REQUEST_ERRORS_MAX);
    for error in &mut execution.errors {
        let extensions = error.extensions.get_or_insert_with(ErrorExtensionValues::default);
        if extensions.get("code").is_none() {
            extensions.set("code", "BAD_USER_INPUT");
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

/// Clients find the request charge in every response. What was not executed read and wrote nothing.
fn not_charged() -> BTreeMap<String, Value> {
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

#[derive(Serialize)]
struct ResponseBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [ServerError],
    #[serde(skip_serializing_if = "Option::is_none")]
    extensions: Option<&'a BTreeMap<String, Value>>,
}

/// The status of a request error that the executor raised: a fault of the server is not the client's.
fn request_error_status(errors: &[ServerError]) -> StatusCode {
    let code = errors.iter().find_map(|error| match error.extensions.as_ref()?.get("code")? {
        Value::String(code) => Some(Cow::Borrowed(code.as_str())),
        Value::Enum(code) => Some(Cow::Borrowed(code.as_str())),
        _ => None,
    });
    match code.as_deref() {
        Some("UNAVAILABLE") => StatusCode::SERVICE_UNAVAILABLE,
        Some("INTERNAL") => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    }
}

fn encode(body: &ResponseBody<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(RESPONSE_BYTES_EXPECTED);
    serde_json::to_writer(&mut bytes, body)
        .expect("a GraphQL response has string keys only, and a vector takes every write");
    bytes
}

/// Unless it says otherwise, no response is stored: it may hold what only its viewer may read, and its read models move on.
fn respond(status: StatusCode, media_type: ResponseType, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, media_type.header_value());
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
