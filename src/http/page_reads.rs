//! Lets pages read: by queries to the endpoint itself, within the quota of the client, and only where nothing
//! waits for its turn. A refused read leaves the page without its text.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::{Body, to_bytes};
use axum::http::header::{ACCEPT, CONTENT_TYPE, FORWARDED};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use serde_json::json;

use super::page_contents::{PageQueries, PageQuery, PageReads};
use onehop_graphql_server::endpoint::GraphqlEndpoint;
use onehop_graphql_server::quota::QuotaAccount as _;

/// The headers by which a client is known.
const CLIENT_HEADERS: [HeaderName; 2] = [HeaderName::from_static("x-forwarded-for"), FORWARDED];
/// The longest response that a page takes, in bytes. A post of the greatest length has 400 kB.
const RESPONSE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The endpoint whose queries pages send.
#[derive(Clone)]
pub(super) struct EndpointReads(pub(super) Arc<GraphqlEndpoint>);

/// The queries of one client.
struct ClientQueries {
    graphql: Arc<GraphqlEndpoint>,
    headers: HeaderMap,
    extensions: Extensions,
}

impl PageReads for EndpointReads {
    fn admit(&self, headers: &HeaderMap, extensions: &Extensions) -> Option<Box<dyn PageQueries>> {
        let Self(graphql) = self;
        // A browser that navigates to a page sends no token.
        let mut client = HeaderMap::new();
        for name in CLIENT_HEADERS {
            for value in headers.get_all(&name) {
                client.append(name.clone(), value.clone());
            }
        }
        graphql.request_quota(&client, extensions).open(None).ok()?;
        // A page does not wait for a turn.
        drop(graphql.concurrency_limit().admit_at_once()?);
        let queries =
            ClientQueries { graphql: Arc::clone(graphql), headers: client, extensions: extensions.clone() };
        Some(Box::new(queries))
    }
}

#[async_trait]
impl PageQueries for ClientQueries {
    async fn ask(&self, PageQuery { document, variables }: &PageQuery) -> Option<String> {
        let body = json!({ "query": document, "variables": variables, "extensions": { "operations": true } });
        let mut request = Request::new(Body::from(body.to_string()));
        *request.method_mut() = Method::POST;
        *request.headers_mut() = self.headers.clone();
        *request.extensions_mut() = self.extensions.clone();
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/graphql-response+json"));
        let response = self.graphql.handle(request).await;
        if response.status() != StatusCode::OK {
            return None;
        }
        let body = to_bytes(response.into_body(), RESPONSE_BYTES_MAX).await.ok()?;
        String::from_utf8(body.to_vec()).ok()
    }
}
