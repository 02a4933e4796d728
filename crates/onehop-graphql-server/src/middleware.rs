//! Middleware of all routes: the host allowlist (DNS rebinding), panics as responses, security headers, and
//! observation. One layer does all of it, since each layer costs a request some memory and moves.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Response, StatusCode, header::CACHE_CONTROL};
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use futures::FutureExt;
use tracing::{Instrument, Span};
use uuid::Uuid;

use super::host_allowlist::HostAllowlist;
use super::observer::{METRICS_ROUTE, ObserverHandle, is_health, route_of};
use super::refusal::Refusal;
use super::request_id::{REQUEST_ID, RequestIds};
use super::response::panicked;
use super::security_headers::SecurityHeaders;
use super::server::OnReserve;
use onehop_runtime::tasks::panic_message;

/// Makes error ids: the log has the details of a masked error under its id.
pub type ErrorIds = Arc<dyn Fn() -> Uuid + Send + Sync>;

/// The middleware that every request passes.
pub(super) struct Middleware {
    pub(super) hosts: HostAllowlist,
    pub(super) labelled_paths: &'static [&'static str],
    pub(super) security_headers: SecurityHeaders,
    pub(super) error_ids: ErrorIds,
    pub(super) request_ids: RequestIds,
    pub(super) observer: ObserverHandle,
}

impl Middleware {
    /// The same routes behind this middleware.
    pub(super) fn layer(self, routes: Router) -> Router {
        let middleware = Arc::new(self);
        routes.layer(from_fn(move |request, next| Arc::clone(&middleware).pass(request, next)))
    }

    async fn pass(self: Arc<Self>, mut request: Request, next: Next) -> Response<Body> {
        let route = route_of(request.uri().path(), self.labelled_paths);
        let request_id = self.request_ids.of(request.headers());
        let watching = self.observer.begin(route, &mut request);
        let log_span = watching.as_ref().map_or_else(Span::none, |timer| timer.log_span(&request_id));
        let is_ours = match route {
            METRICS_ROUTE => self.hosts.take_name_or_address(request.uri(), request.headers()),
            _ => self.hosts.take(request.uri(), request.headers()),
        };
        // So that the process can be watched however many connections there are.
        let has_room = is_health(route) || request.extensions().get::<OnReserve>().is_none();
        let response = if !has_room {
            Refusal::ConnectionsFull.into_response()
        } else if is_ours || is_health(route) {
            let answered =
                AssertUnwindSafe(next.run(request).instrument(log_span.clone())).catch_unwind().await;
            answered.unwrap_or_else(|panic| log_span.in_scope(|| self.answer_panic(&*panic)))
        } else {
            not_our_name()
        };
        // Probes ask under the address of the container. Another name learns the status and no reasons.
        let response = if is_ours { response } else { without_reasons(response) };
        let mut response = self.security_headers.add(response);
        response.headers_mut().insert(REQUEST_ID, request_id);
        log_span.in_scope(|| self.observer.end(watching, &response));
        response
    }

    /// The panic hook has logged where it happened; this line has the error id of the response.
    fn answer_panic(&self, panic: &(dyn Any + Send)) -> Response<Body> {
        let error_id = (self.error_ids)();
        tracing::error!(%error_id, message = panic_message(panic), "a request failed by a panic");
        panicked(error_id)
    }
}

/// The status of a health check alone.
fn without_reasons(response: Response<Body>) -> Response<Body> {
    if response.status() == StatusCode::MISDIRECTED_REQUEST {
        return response;
    }
    (response.status(), [(CACHE_CONTROL, HeaderValue::from_static("no-store"))]).into_response()
}

pub(super) fn not_our_name() -> Response<Body> {
    let text =
        "The server does not answer to the name in the Host header: --allow-host allows another one.\n";
    (StatusCode::MISDIRECTED_REQUEST, text).into_response()
}
