//! Whoever counts what the HTTP side does, and tells it to those who ask.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_graphql::Response as Execution;
use async_graphql::parser::types::OperationType;
use async_trait::async_trait;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::callers::charge_of;

/// The text format of OpenMetrics.
const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// Hears of requests and executions.
pub trait HttpObserver: Send + Sync + 'static {
    /// A request has its answer; the body may still be on its way.
    fn answered(&self, method: &'static str, route: &'static str, status: u16, duration: Duration);

    /// A query or a mutation was executed.
    fn executed(&self, executed: &Executed<'_>);
}

/// What is told of an execution.
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
}

/// Tells the metrics of the process.
#[async_trait]
pub trait MetricsSource: Send + Sync + 'static {
    /// All metrics in the text format of OpenMetrics.
    async fn metrics(&self) -> String;
}

/// Who is told, if anybody is.
#[derive(Clone, Default)]
pub(super) struct Observation(pub(super) Option<Arc<dyn HttpObserver>>);

impl Observation {
    pub(super) fn executed(
        &self,
        kind: OperationType,
        operation_name: Option<&str>,
        start: Instant,
        execution: &Execution,
    ) {
        let Some(observer) = &self.0 else { return };
        observer.executed(&Executed {
            operation_type: match kind {
                OperationType::Query => "query",
                OperationType::Mutation => "mutation",
                OperationType::Subscription => "subscription",
            },
            operation_name,
            duration: start.elapsed(),
            request_charge: charge_of(execution),
            has_errors: !execution.errors.is_empty(),
        });
    }

    /// Passes a request on, and tells how long its answer took.
    pub(super) async fn watch(self, request: Request, next: Next) -> Response {
        let Some(observer) = self.0 else { return next.run(request).await };
        let (method, route) = (method_of(request.method()), route_of(request.uri().path()));
        let start = Instant::now();
        let response = next.run(request).await;
        observer.answered(method, route, response.status().as_u16(), start.elapsed());
        response
    }
}

/// `/metrics`.
pub(super) async fn metrics(source: Arc<dyn MetricsSource>) -> Response {
    let headers = [(CONTENT_TYPE, OPEN_METRICS), (CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (headers, source.metrics().await).into_response()
}

/// As the semantic conventions have it: what is no known method shares a name.
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

/// The routes there are; pages and files share one.
fn route_of(path: &str) -> &'static str {
    match path {
        "/graphql" => "/graphql",
        "/healthz" => "/healthz",
        "/readyz" => "/readyz",
        "/metrics" => "/metrics",
        _ => "/*",
    }
}
