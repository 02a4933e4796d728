//! Whether the process lives and whether it is ready for traffic. Knows no store: it asks [`Readiness`].

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::{
    Json,
    http::{HeaderValue, StatusCode, header::CACHE_CONTROL},
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// How long the parts may take to say whether they are ready.
pub const READINESS_TIMEOUT: Duration = Duration::from_secs(5);

/// Says what keeps the process from serving.
#[async_trait]
pub trait Readiness: Send + Sync + 'static {
    /// The parts that are not ready; none when the process is.
    async fn unready_parts(&self) -> Vec<UnreadyPart>;
}

/// A part that is not ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadyPart {
    /// What it is, for example `store`.
    pub part: String,
    /// Why, without anything secret: whoever reaches the port reads it.
    pub reason: String,
}

/// `/healthz`: 200 for as long as the process can answer.
pub async fn healthz() -> Response {
    respond(StatusCode::OK, &Health { status: "alive", reasons: Vec::new() })
}

/// `/readyz`: 200 when everything is ready, 503 with the reasons when not.
pub async fn readyz(readiness: Arc<dyn Readiness>) -> Response {
    let reasons =
        tokio::time::timeout(READINESS_TIMEOUT, readiness.unready_parts()).await.unwrap_or_else(|_| {
            let reason = format!("no answer within {READINESS_TIMEOUT:?}");
            vec![UnreadyPart { part: "readiness".to_owned(), reason }]
        });
    if reasons.is_empty() {
        respond(StatusCode::OK, &Health { status: "ready", reasons })
    } else {
        respond(StatusCode::SERVICE_UNAVAILABLE, &Health { status: "unready", reasons })
    }
}

#[derive(Serialize)]
struct Health {
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<UnreadyPart>,
}

fn respond(status: StatusCode, health: &Health) -> Response {
    (status, [(CACHE_CONTROL, HeaderValue::from_static("no-store"))], Json(health)).into_response()
}
