//! The handlers of paths, and the origins whose pages may read the answers of the API: no other origin,
//! unless the configuration names it. The rules for every request are in [`middleware`](super::middleware).

use std::{fmt, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, Response,
        header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, ETAG, IF_NONE_MATCH, RETRY_AFTER},
    },
    middleware::{Next, from_fn},
    routing::{any, get},
};
use tower_http::cors::{AllowOrigin, CorsLayer};
use uuid::Uuid;

use super::{
    endpoint::GraphqlEndpoint,
    health::{AlwaysReady, Readiness, healthz, readyz},
    host_allowlist::HostAllowlist,
    live::{LiveEndpoint, LiveLimits, LiveLoad, is_websocket},
    media_type::{Accept, Delivery},
    middleware::{ErrorIds, Middleware, not_our_name},
    observer::{HttpObserver, METRICS_ROUTE, MetricsSource, ObserverHandle, metrics},
    pipeline::rate_limit::RATE_LIMIT_HEADERS,
    position::POSITION_HEADER,
    request_id::{REQUEST_ID, RequestIds},
    security_headers::SecurityHeaders,
};
use onehop_runtime::tasks::Tasks;

/// The time for which a browser may remember the result of a preflight.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_secs(600);

/// Headers that pages of other origins may send after a preflight.
const ALLOWED_HEADERS: [HeaderName; 9] = [
    ACCEPT,
    IF_NONE_MATCH,
    POSITION_HEADER,
    REQUEST_ID,
    AUTHORIZATION,
    CONTENT_TYPE,
    HeaderName::from_static("apollo-require-preflight"),
    HeaderName::from_static("graphql-require-preflight"),
    HeaderName::from_static("x-apollo-operation-name"),
];

/// The router's parts from the composition root.
pub struct HttpParts {
    pub graphql: Arc<GraphqlEndpoint>,
    pub live: LiveLimits,
    /// Counts the connections that stay open.
    pub live_load: Arc<LiveLoad>,
    /// Connections that stay open are tasks of the process.
    pub tasks: Tasks,
    pub readiness: Arc<dyn Readiness>,
    /// Further routes under the same limits and headers: pages, say. Its fallback answers all other paths.
    pub routes: Router,
    /// The paths of `routes` that have a label of their own in metrics and traces; all others share one.
    pub labelled_paths: &'static [&'static str],
    pub exposure: Exposure,
    pub error_ids: ErrorIds,
    /// Observes every response.
    pub observer: Option<Arc<dyn HttpObserver>>,
    /// The source of `/metrics`; `None` where there is no such route.
    pub metrics: Option<Arc<dyn MetricsSource>>,
}

impl HttpParts {
    /// A GraphQL endpoint alone, with default limits, for any host name.
    #[must_use]
    pub fn new(graphql: Arc<GraphqlEndpoint>, tasks: Tasks) -> Self {
        Self {
            graphql,
            live: LiveLimits::default(),
            live_load: Arc::default(),
            tasks,
            readiness: Arc::new(AlwaysReady),
            routes: Router::new(),
            labelled_paths: &[],
            exposure: Exposure::default(),
            error_ids: Arc::new(Uuid::now_v7),
            observer: None,
            metrics: None,
        }
    }
}

/// The clients that may reach the server, and its names.
#[derive(Debug, Clone)]
pub struct Exposure {
    /// Origins other than the server's own whose pages may call the API, exactly as browsers send them.
    pub allowed_origins: Vec<HeaderValue>,
    pub hosts: HostAllowlist,
    /// For how long browsers shall come back over HTTPS only; 0 leaves that to the proxy that serves HTTPS.
    pub hsts_seconds: u32,
}

impl Default for Exposure {
    fn default() -> Self {
        Self { allowed_origins: Vec::new(), hosts: HostAllowlist::Any, hsts_seconds: 0 }
    }
}

/// All routes of the process. Under a name that is not the server's, health checks answer their status alone.
pub fn router(parts: HttpParts) -> Router {
    let HttpParts {
        graphql,
        live,
        live_load,
        tasks,
        readiness,
        routes,
        labelled_paths,
        exposure,
        error_ids,
        observer,
        metrics,
    } = parts;
    let Exposure { allowed_origins, hosts, hsts_seconds } = exposure;
    let live = Arc::new(LiveEndpoint::new(Arc::clone(&graphql), live, live_load, tasks));
    let graphql = any(answer).with_state(GraphqlState { graphql, live });
    let routes = routes
        .route("/graphql", with_origins(graphql, allowed_origins))
        .route("/healthz", get(healthz))
        .route("/readyz", get(move || readyz(Arc::clone(&readiness))))
        .merge(metrics.map(metrics_router).unwrap_or_default());
    let middleware = Middleware {
        hosts,
        labelled_paths,
        security_headers: SecurityHeaders::new(hsts_seconds),
        request_ids: RequestIds::new(error_ids()),
        error_ids,
        observer: ObserverHandle(observer),
    };
    middleware.layer(routes)
}

/// `/metrics` beside the other routes.
fn metrics_router(source: Arc<dyn MetricsSource>) -> Router {
    Router::new().route(METRICS_ROUTE, get(move |headers: HeaderMap| metrics(Arc::clone(&source), headers)))
}

/// `/metrics` alone, for a listener of its own, which answers to these names and to IP addresses.
pub fn metrics_alone(source: Arc<dyn MetricsSource>, hosts: HostAllowlist) -> Router {
    let check = move |request: Request, next: Next| {
        let is_ours = hosts.take_name_or_address(request.uri(), request.headers());
        async move { if is_ours { next.run(request).await } else { not_our_name() } }
    };
    metrics_router(source).layer(from_fn(check))
}

/// The state behind `/graphql`.
#[derive(Clone)]
struct GraphqlState {
    graphql: Arc<GraphqlEndpoint>,
    live: Arc<LiveEndpoint>,
}

/// Answers a GraphQL request over the transport that it asks for.
async fn answer(State(state): State<GraphqlState>, accept: Accept, request: Request) -> Response<Body> {
    let GraphqlState { graphql, live } = state;
    if is_websocket(request.headers()) {
        return live.websocket(request).await;
    }
    match accept.delivery() {
        Some(Delivery::EventStream) => live.event_stream(request, None).await,
        Some(Delivery::Either(media_type)) => live.event_stream(request, Some(media_type)).await,
        Some(Delivery::Single(media_type)) => graphql.respond(request, Some(media_type)).await,
        None => graphql.respond(request, None).await,
    }
}

/// Without origins there is no CORS at all, and a preflight is refused like any method but GET and POST.
fn with_origins(
    route: axum::routing::MethodRouter,
    allowed_origins: Vec<HeaderValue>,
) -> axum::routing::MethodRouter {
    if allowed_origins.is_empty() {
        return route;
    }
    route.layer(
        CorsLayer::new()
            .allow_origin(AllowOrigin::list(allowed_origins))
            .allow_methods([Method::GET, Method::POST])
            .allow_headers(ALLOWED_HEADERS)
            .expose_headers(
                RATE_LIMIT_HEADERS
                    .into_iter()
                    .chain([ETAG, POSITION_HEADER, REQUEST_ID, RETRY_AFTER])
                    .collect::<Vec<_>>(),
            )
            .max_age(PREFLIGHT_MAX_AGE),
    )
}

impl fmt::Debug for HttpParts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpParts").field("exposure", &self.exposure).finish_non_exhaustive()
    }
}
