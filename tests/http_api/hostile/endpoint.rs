//! The endpoint as the program composes it, without a socket and over an empty blog.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use onehop::graphql::sdl;
use onehop_graphql_server::endpoint::{GraphqlEndpoint, RequestLimits};
use serde_json::Value;

use crate::support::blog;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
    pub bytes: usize,
}

pub async fn endpoint() -> GraphqlEndpoint {
    let executor = blog::empty().await.executor;
    GraphqlEndpoint::new(Arc::new(executor), &sdl(), RequestLimits::default()).expect("an endpoint")
}

/// A POST of a body.
pub fn post(body: String) -> Request<Body> {
    Request::post("/graphql")
        .header("content-type", "application/json")
        .header("accept", "application/graphql-response+json")
        .body(Body::from(body))
        .expect("a request")
}

pub async fn answer(response: Response<Body>) -> Answer {
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
    Answer { status, body: serde_json::from_slice(&body).expect("JSON"), bytes: body.len() }
}

impl Answer {
    /// Whether nothing was executed.
    pub fn is_refused(&self) -> bool {
        self.body.get("data").is_none()
    }
}
