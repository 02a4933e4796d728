//! Whether the process lives and whether it is ready for traffic. Knows no store: it asks [`Readiness`].

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::{
    Json,
    http::{HeaderValue, StatusCode, header::CACHE_CONTROL},
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// Timeout of the parts' statements on their readiness.
pub const READINESS_TIMEOUT: Duration = Duration::from_secs(5);

/// Reports the reasons that keep the process from serving.
#[async_trait]
pub trait Readiness: Send + Sync + 'static {
    /// The unready parts, and the parts with limited service.
    async fn condition(&self) -> ReadinessReport;
}

/// The readiness of a process that has nothing to wait for.
#[derive(Debug, Clone, Copy, Default)]
pub struct AlwaysReady;

#[async_trait]
impl Readiness for AlwaysReady {
    async fn condition(&self) -> ReadinessReport {
        ReadinessReport::default()
    }
}

/// The readiness of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadinessReport {
    /// The reasons that keep the process from serving; empty when it is ready.
    pub unready: Vec<UnreadyPart>,
    /// The limits of a ready process: refused writes on a full disk, say. A load balancer that took the
    /// process out would lose the reads as well.
    pub limited: Vec<UnreadyPart>,
}

impl ReadinessReport {
    /// The condition of a process, or that it did not say within [`READINESS_TIMEOUT`].
    pub async fn of(readiness: &dyn Readiness) -> Self {
        tokio::time::timeout(READINESS_TIMEOUT, readiness.condition()).await.unwrap_or_else(|_| {
            let reason = format!("no answer within {READINESS_TIMEOUT:?}");
            let part = UnreadyPart { part: "readiness".to_owned(), reason };
            Self { unready: vec![part], limited: Vec::new() }
        })
    }
}

/// A part that is not ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadyPart {
    /// The name of the part, for example `store`.
    pub part: String,
    /// Why, without secrets: every client that reaches the port reads it.
    pub reason: String,
}

/// `/healthz`: 200 for as long as the process can answer.
pub async fn healthz() -> Response {
    respond(StatusCode::OK, &Health { status: "alive", reasons: Vec::new(), limited: Vec::new() })
}

/// `/readyz`: 200 when the process serves reads, with its limits; otherwise 503 with the reasons.
pub async fn readyz(readiness: Arc<dyn Readiness>) -> Response {
    let ReadinessReport { unready: reasons, limited } = ReadinessReport::of(&*readiness).await;
    if reasons.is_empty() {
        respond(StatusCode::OK, &Health { status: "ready", reasons, limited })
    } else {
        respond(StatusCode::SERVICE_UNAVAILABLE, &Health { status: "unready", reasons, limited })
    }
}

#[derive(Serialize)]
struct Health {
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<UnreadyPart>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    limited: Vec<UnreadyPart>,
}

fn respond(status: StatusCode, health: &Health) -> Response {
    (status, [(CACHE_CONTROL, HeaderValue::from_static("no-store"))], Json(health)).into_response()
}
