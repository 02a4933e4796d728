//! The program's HTTP interface beside GraphQL: the pages of the web build with their texts and metadata,
//! and the session endpoint of these pages. GraphQL, limits and middleware are
//! `onehop-graphql-server`'s.

mod page_contents;
pub mod page_html;
mod page_reads;
pub mod pages;
pub mod session_cookie;
pub mod session_endpoint;
pub mod static_files;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::routing::post;
use onehop_graphql_server::endpoint::GraphqlEndpoint;

use self::page_reads::EndpointReads;
use self::pages::Pages;
use self::session_cookie::session_path;
use self::session_endpoint::{SessionEndpoint, SessionService};
use self::static_files::StaticFiles;
use crate::accounts::account_id::AccountKind;

/// The routes of pages: all paths that nothing else has, and `/session` where there are sessions.
pub fn page_routes(
    pages: Pages,
    sessions: Option<Arc<dyn SessionService>>,
    graphql: &Arc<GraphqlEndpoint>,
) -> Router {
    let (pages, reads) = (Arc::new(pages), EndpointReads(Arc::clone(graphql)));
    let sessions = sessions.map(|sessions| session_router(&sessions, graphql));
    sessions.unwrap_or_default().fallback(move |request: Request| {
        let (pages, reads) = (Arc::clone(&pages), reads.clone());
        async move { pages.respond(&request.into_parts().0, &reads).await }
    })
}

/// The routes of the playground and its files alone. The root leads there.
pub fn playground_routes(files: StaticFiles) -> Router {
    Router::new()
        .fallback(move |request: Request| async move { pages::playground(files, &request.into_parts().0) })
}

/// `/session` alone, with a path for each kind of account. No other origin may read its answers, even an
/// origin that may call the API.
fn session_router(sessions: &Arc<dyn SessionService>, graphql: &Arc<GraphqlEndpoint>) -> Router {
    AccountKind::ALL.into_iter().fold(Router::new(), |router, kind| {
        let endpoint = Arc::new(SessionEndpoint::new(kind, Arc::clone(sessions), Arc::clone(graphql)));
        let other = Arc::clone(&endpoint);
        let renew = post(move |request: Request| async move { endpoint.handle(request).await });
        let both = renew.delete(move |request: Request| async move { other.handle(request).await });
        router.route(&session_path(kind), both)
    })
}
