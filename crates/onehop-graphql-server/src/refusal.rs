//! Refusals: the reasons for which a request is answered without being executed, with the status and the code
//! of each.

use std::time::Duration;

use async_graphql::ServerError;
use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, ALLOW, CONNECTION, SEC_WEBSOCKET_VERSION, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;

use super::caller::RequestRejection;
use super::document::{DocumentError, OperationError};
use super::limit_exceeded::LimitExceeded;
use super::media_type::ResponseType;
use super::pipeline::admit::{Overloaded, RETRY_AFTER as OVERLOADED_RETRY_AFTER};
use super::pipeline::parse::MalformedRequest;
use super::pipeline::resolve::PersistedError;
use super::position::InvalidPosition;
use super::response::{
    Encoded, INVALID_TOKEN_CHALLENGE, RETRY_AFTER_MS, ResponseBody, encode, not_charged, respond,
    set_retry_after,
};
use super::response_limits::{RETRY_AFTER as SHED_RETRY_AFTER, ResponseRefused};

/// When to try again while there is no room for another open connection.
const CONNECTIONS_FULL_RETRY_AFTER: Duration = Duration::from_secs(5);

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
    /// The request does not fit the schema, by its variables or its selection; at least one error. Their
    /// codes are their own, if they have any.
    #[error("The request does not fit the schema.")]
    Invalid(Vec<ServerError>),
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
    /// There is no room for the body of the request.
    #[error(transparent)]
    BodiesFull(LimitExceeded),
    #[error("This is no WebSocket handshake: {0}.")]
    Handshake(&'static str),
    #[error("The version of a WebSocket must be 13.")]
    WebSocketVersion,
    #[error("The request took longer than {0:?}.")]
    TimedOut(Duration),
}

/// In the extensions of a response: why the request was refused, where the log has a summary of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RefusalReason(pub(super) &'static str);

/// Whether the status depends on the media type.
enum Kind {
    /// The client sent no well-formed request, or may not send it: the status is the same for both types.
    Http(StatusCode),
    /// A well-formed request that cannot be executed: 200 for clients of before 2025.
    RequestError,
}

impl Refusal {
    /// The HTTP response in the media type that was negotiated.
    pub fn respond(self, media_type: ResponseType) -> Response<Body> {
        // Its text may repeat the request.
        tracing::debug!(code = self.code(), "request refused");
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
        let (retry_after, reason) = (self.retry_after(), self.summary_reason());
        // The rest of such a body is not waited for.
        let is_last = matches!(
            self,
            Self::Malformed(MalformedRequest::BodyTooSlow(_) | MalformedRequest::BodyBroken)
                | Self::BodiesFull(_)
        );

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
            headers.insert(WWW_AUTHENTICATE, INVALID_TOKEN_CHALLENGE);
        }
        if is_last {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        set_retry_after(&mut response, retry_after);
        if let Some(reason) = reason {
            response.extensions_mut().insert(RefusalReason(reason));
        }
        response
    }

    /// The reason of a refusal for a quota or for want of room, of which the log has a summary.
    fn summary_reason(&self) -> Option<&'static str> {
        Some(match self {
            Self::Rejected(RequestRejection::OverBudget { exceeded, .. })
            | Self::NetworkFull(exceeded)
            | Self::BodiesFull(exceeded)
            | Self::Malformed(MalformedRequest::BodyTooSlow(exceeded)) => exceeded.limit,
            Self::Rejected(RequestRejection::Unavailable { .. }) => "accounts-unavailable",
            Self::Overloaded(_) => "overloaded",
            Self::Response(ResponseRefused::Overloaded) => "responses-in-flight-bytes-max",
            Self::ConnectionsFull => "connections-max",
            Self::TimedOut(_) => "timed-out",
            _ => return None,
        })
    }

    /// When the same request may be taken.
    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Rejected(RequestRejection::Unavailable { retry_after }) => *retry_after,
            Self::Rejected(RequestRejection::OverBudget { retry_after, .. }) => Some(*retry_after),
            Self::Overloaded(Overloaded) | Self::BodiesFull(_) => Some(OVERLOADED_RETRY_AFTER),
            Self::Response(ResponseRefused::Overloaded) => Some(SHED_RETRY_AFTER),
            Self::ConnectionsFull | Self::NetworkFull(_) => Some(CONNECTIONS_FULL_RETRY_AFTER),
            _ => None,
        }
    }

    /// Whether the request was well-formed and its caller known, so that its error is a result like others.
    pub(super) fn is_request_error(&self) -> bool {
        matches!(self.classify().0, Kind::RequestError)
    }

    /// The refusal as a result, for transports on which a request has no status.
    pub(super) fn into_encoded(self) -> Encoded {
        Encoded::refused_for(self.into_errors())
    }

    /// The body of that response.
    pub fn into_body(self) -> Vec<u8> {
        let (errors, extensions) = (self.into_errors(), not_charged());
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
            Self::ConnectionsFull | Self::BodiesFull(_) => {
                (Kind::Http(Status::SERVICE_UNAVAILABLE), LimitExceeded::CODE)
            }
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
            Self::Document(DocumentError::Syntax(_)) => (Kind::RequestError, "GRAPHQL_PARSE_FAILED"),
            Self::Document(DocumentError::FragmentCycle(_) | DocumentError::Invalid(_))
            | Self::Invalid(_) => (Kind::RequestError, "GRAPHQL_VALIDATION_FAILED"),
            Self::Subscription | Self::Position(_) | Self::Operation(_) => {
                (Kind::RequestError, "BAD_USER_INPUT")
            }
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

    fn into_errors(self) -> Vec<ServerError> {
        let code = self.code();
        match self {
            Self::Invalid(mut errors) => {
                errors.iter_mut().for_each(|error| set_code(error, code));
                errors
            }
            refusal => vec![refusal.into_error(code)],
        }
    }

    fn into_error(self, code: &'static str) -> ServerError {
        let retry_after = self.retry_after();
        let is_position = matches!(self, Self::Position(_));
        let mut error = match self {
            Self::Document(DocumentError::Syntax(error) | DocumentError::Invalid(error)) => *error,
            Self::OverLimit(exceeded)
            | Self::Document(DocumentError::OverLimit(exceeded))
            | Self::Malformed(
                MalformedRequest::OverLimit(exceeded)
                | MalformedRequest::BodyTooLarge(exceeded)
                | MalformedRequest::BodyTooSlow(exceeded),
            ) => return exceeded.into(),
            Self::Rejected(RequestRejection::OverBudget { exceeded, .. })
            | Self::NetworkFull(exceeded)
            | Self::BodiesFull(exceeded) => exceeded.into(),
            Self::Response(refused) => return refused.into(),
            other => ServerError::new(other.to_string(), None),
        };
        set_code(&mut error, code);
        let extensions = error.extensions.get_or_insert_default();
        if let Some(delay) = retry_after {
            extensions.set(RETRY_AFTER_MS, u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        }
        if is_position {
            extensions.set("field", "extensions.position");
        }
        error
    }
}

/// Gives a code to an error without a code.
fn set_code(error: &mut ServerError, code: &'static str) {
    let extensions = error.extensions.get_or_insert_default();
    if extensions.get("code").is_none() {
        extensions.set("code", code);
    }
}

/// As `application/json`, where no media type is negotiated.
impl IntoResponse for Refusal {
    fn into_response(self) -> Response<Body> {
        self.respond(ResponseType::Json)
    }
}
