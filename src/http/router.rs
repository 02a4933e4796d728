//! Which path is answered by whom, and what holds for all of them: no panic ends a connection without an
//! answer, and no other origin reads an answer unless the configuration names it.

use std::{any::Any, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{
        HeaderMap, HeaderValue, Method, Request, Response, Uri,
        header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
    },
    routing::{any, get},
};
use tower_http::{
    catch_panic::CatchPanicLayer,
    cors::{AllowOrigin, CorsLayer},
};

use super::{
    graphql_http::GraphqlEndpoint,
    graphql_response::panicked,
    health::{Readiness, healthz, readyz},
    static_files::StaticFiles,
};

/// How long a browser may remember what a preflight allowed.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_secs(600);

/// What the router needs from the composition root.
pub struct HttpParts {
    pub graphql: Arc<GraphqlEndpoint>,
    pub readiness: Arc<dyn Readiness>,
    pub static_files: StaticFiles,
    /// Origins other than the server's own whose pages may call the API, exactly as browsers send them.
    pub allowed_origins: Vec<HeaderValue>,
}

/// All routes of the process.
pub fn router(parts: HttpParts) -> Router {
    let HttpParts { graphql, readiness, static_files, allowed_origins } = parts;
    let graphql = any(move |request: Request<Body>| {
        let graphql = Arc::clone(&graphql);
        async move { graphql.handle(request).await }
    });
    let router = Router::new()
        .route("/graphql", with_origins(graphql, allowed_origins))
        .route("/healthz", get(healthz))
        .route("/readyz", get(move || readyz(Arc::clone(&readiness))));
    router
        .fallback(move |method: Method, uri: Uri, headers: HeaderMap| async move {
            static_files.respond(&method, uri.path(), &headers)
        })
        .layer(CatchPanicLayer::custom(answer_panic))
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
            .allow_headers([ACCEPT, AUTHORIZATION, CONTENT_TYPE])
            .max_age(PREFLIGHT_MAX_AGE),
    )
}

/// The panic itself is logged by the panic hook, which knows where it happened.
fn answer_panic(_panic: Box<dyn Any + Send>) -> Response<Body> {
    panicked()
}
