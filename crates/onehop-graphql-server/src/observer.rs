//! Observability port: spans and metrics of requests and executions, and `/metrics`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_graphql::parser::types::OperationType;
use async_graphql::{ServerError, Value};
use async_trait::async_trait;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::response::{IntoResponse, Response};

use tracing::field::Empty;
use tracing::{Span, error_span};

use super::metrics_format::negotiated;
use super::pipeline::context::RequestContext;
use super::quota::charge_of;
use super::refusal::RefusalReason;
use onehop_runtime::trace_context::SpanContext;

/// Where the metrics are.
pub(super) const METRICS_ROUTE: &str = "/metrics";

/// The kinds of operations, as labels.
pub const OPERATION_TYPES: [&str; 3] = ["query", "mutation", "subscription"];

/// The trace that a request is part of.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Observes requests and executions.
pub trait HttpObserver: Send + Sync + 'static {
    /// A request begins: its span, if it is to be traced.
    fn request_span(&self, route: &'static str, traceparent: Option<&str>) -> Option<RequestSpan>;

    /// A traced part of the work begins: its span.
    fn child_span(&self, parent: SpanContext) -> Option<SpanContext>;

    /// A request has its answer; the body may still be on its way.
    fn answered(&self, answered: &Answered);

    /// A query or a mutation was executed.
    fn executed(&self, executed: &Executed<'_>);
}

/// The span of a request.
#[derive(Debug, Clone, Copy)]
pub struct RequestSpan {
    pub span: SpanContext,
    /// The caller's own span.
    pub remote_parent: Option<u64>,
}

/// A request with its response, for observers.
#[derive(Debug, Clone, Copy)]
pub struct Answered {
    pub method: &'static str,
    pub route: &'static str,
    pub status: u16,
    pub duration: Duration,
    pub span: Option<RequestSpan>,
    /// The reason of a refusal for a quota or for want of room, such as `overloaded`.
    pub refusal: Option<&'static str>,
}

/// An execution, for observers.
#[derive(Debug, Clone, Copy)]
pub struct Executed<'a> {
    pub operation_type: &'static str,
    /// As the client wrote it.
    pub operation_name: Option<&'a str>,
    /// Since its turn came.
    pub duration: Duration,
    /// In request units.
    pub request_charge: f64,
    pub has_errors: bool,
    /// The code of the gravest error: a fault of the server's, or else the first.
    pub error_code: Option<&'a str>,
    pub span: Option<SpanContext>,
    /// The span of the request.
    pub parent: Option<SpanContext>,
}

/// The metrics of the process.
#[async_trait]
pub trait MetricsSource: Send + Sync + 'static {
    /// All metrics in the text format of OpenMetrics.
    async fn metrics(&self) -> String;
}

/// The observer, if there is one.
#[derive(Clone, Default)]
pub(super) struct ObserverHandle(pub(super) Option<Arc<dyn HttpObserver>>);

/// An execution that goes on.
pub(super) struct ExecutionTimer {
    start: Instant,
    parent: Option<SpanContext>,
    pub(super) span: Option<SpanContext>,
}

impl ObserverHandle {
    /// An execution begins, under the span of its request.
    pub(super) fn executing(&self, parent: Option<SpanContext>) -> ExecutionTimer {
        let span = self.0.as_ref().zip(parent).and_then(|(observer, parent)| observer.child_span(parent));
        ExecutionTimer { start: Instant::now(), parent, span }
    }

    pub(super) fn executed(
        &self,
        context: &RequestContext,
        executing: &ExecutionTimer,
        errors: &[ServerError],
        extensions: &BTreeMap<String, Value>,
    ) {
        let Some(observer) = &self.0 else { return };
        let ExecutionTimer { start, parent, span } = *executing;
        observer.executed(&Executed {
            operation_type: match context.kind() {
                OperationType::Query => OPERATION_TYPES[0],
                OperationType::Mutation => OPERATION_TYPES[1],
                OperationType::Subscription => OPERATION_TYPES[2],
            },
            operation_name: context.operation_name(),
            duration: start.elapsed(),
            request_charge: charge_of(extensions),
            has_errors: !errors.is_empty(),
            error_code: gravest_code(errors),
            span,
            parent,
        });
    }

    /// A request begins.
    pub(super) fn begin(&self, route: &'static str, request: &mut Request) -> Option<RequestTimer> {
        let observer = self.0.as_ref()?;
        let (method, start) = (method_of(request.method()), Instant::now());
        let traceparent = request.headers().get(TRACEPARENT).and_then(|value| value.to_str().ok());
        let span = observer.request_span(route, traceparent);
        if let Some(RequestSpan { span, .. }) = span {
            request.extensions_mut().insert(span);
        }
        Some(RequestTimer { method, route, start, span })
    }

    /// That request has its answer.
    pub(super) fn end(&self, answering: Option<RequestTimer>, response: &Response) {
        let (Some(observer), Some(answering)) = (&self.0, answering) else { return };
        let RequestTimer { method, route, start, span } = answering;
        let (status, duration) = (response.status().as_u16(), start.elapsed());
        let refusal = response.extensions().get::<RefusalReason>().map(|RefusalReason(reason)| *reason);
        observer.answered(&Answered { method, route, status, duration, span, refusal });
    }
}

/// A request that is being answered.
pub(super) struct RequestTimer {
    method: &'static str,
    route: &'static str,
    start: Instant,
    span: Option<RequestSpan>,
}

impl RequestTimer {
    /// The span of the log: every line within the request names its id, and its trace if it has one. The
    /// operation is recorded once it is known.
    pub(super) fn log_span(&self, request_id: &HeaderValue) -> Span {
        let request_id = request_id.to_str().unwrap_or_default();
        // At the highest level, so that no filter of lines takes it away.
        match self.span {
            None if is_health(self.route) || self.route == METRICS_ROUTE => Span::none(),
            None => error_span!("request", request_id, operation = Empty, request_charge = Empty),
            Some(RequestSpan { span: SpanContext { trace_id, span_id }, .. }) => error_span!(
                "request",
                trace_id = %format_args!("{trace_id:032x}"),
                span_id = %format_args!("{span_id:016x}"),
                request_id,
                operation = Empty,
                request_charge = Empty,
            ),
        }
    }
}

/// The codes of faults, the gravest first: they matter more than errors of the client's own.
const GRAVE_CODES: [&str; 2] = ["INTERNAL", "UNAVAILABLE"];

fn gravest_code(errors: &[ServerError]) -> Option<&str> {
    let codes = || errors.iter().filter_map(code_of);
    GRAVE_CODES.into_iter().find(|grave| codes().any(|code| code == *grave)).or_else(|| codes().next())
}

/// One of the codes that clients get.
fn code_of(error: &ServerError) -> Option<&str> {
    match error.extensions.as_ref()?.get("code") {
        Some(Value::String(code)) => Some(code),
        _ => None,
    }
}

/// `/metrics`, in the format that a client accepts.
pub(super) async fn metrics(source: Arc<dyn MetricsSource>, headers: HeaderMap) -> Response {
    let (content_type, text) = negotiated(&headers, source.metrics().await);
    let headers = [(CONTENT_TYPE, content_type), (CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (headers, text).into_response()
}

/// As in the semantic conventions: unknown methods share a name.
fn method_of(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "OPTIONS" => "OPTIONS",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        _ => "_OTHER",
    }
}

/// The route of a path: one of the server's own, one of the labelled ones, or the route shared by all others.
pub(super) fn route_of(path: &str, labelled: &[&'static str]) -> &'static str {
    match path {
        "/graphql" => "/graphql",
        "/healthz" => "/healthz",
        "/readyz" => "/readyz",
        METRICS_ROUTE => METRICS_ROUTE,
        _ => labelled.iter().find(|route| **route == path).copied().unwrap_or("/*"),
    }
}

/// Whether a route is a health check.
pub(super) fn is_health(route: &str) -> bool {
    matches!(route, "/healthz" | "/readyz")
}
