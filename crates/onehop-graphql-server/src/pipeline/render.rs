//! Render: the status, media type and compression of a response. Knows nothing of what it says.
//!
//! Only responses to queries are compressed. A mutation's response may hold an access token, and the length of compressed bytes
//! gives away what is in them (CRIME, BREACH).

use std::io::Write as _;

use async_graphql::parser::types::OperationType;
use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY};
use axum::http::{HeaderMap, HeaderValue, Response};
use flate2::{Compression, write::GzEncoder};

use crate::endpoint::GraphqlEndpoint;
use crate::media_type::ResponseType;
use crate::response::{ExecutedResponse, Refusal};

/// From how many bytes on the answers of queries are compressed.
pub const COMPRESS_BYTES_MIN: usize = 1024;

/// Longer answers are compressed beside the threads that serve others: this many bytes take about a millisecond.
const AT_ONCE_BYTES_MAX: usize = 256 * 1024;

/// The coding that a client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Identity,
    Gzip,
}

impl Coding {
    /// What is part of a request's fingerprint.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
        }
    }
}

/// How a client wants its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    pub(crate) media_type: ResponseType,
    pub(crate) coding: Coding,
}

impl GraphqlEndpoint {
    /// The form for a client with these headers, which takes this type.
    pub(crate) fn form(&self, media_type: ResponseType, headers: &HeaderMap) -> Form {
        let compresses = self.compress_bytes_min() > 0 && accepts(headers, Coding::Gzip.name());
        Form { media_type, coding: if compresses { Coding::Gzip } else { Coding::Identity } }
    }

    /// The HTTP response to what was executed, or to a request that was refused.
    pub(crate) async fn render(
        &self,
        executed: Result<ExecutedResponse, Refusal>,
        form: Form,
    ) -> Response<Body> {
        match executed {
            Ok(executed) if executed.kind == OperationType::Query => {
                let mut response = self.coded(executed, form.coding).await.into_response(form.media_type);
                if self.compress_bytes_min() > 0 {
                    response.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
                }
                response
            }
            Ok(executed) => executed.into_response(form.media_type),
            Err(refusal) => refused(refusal, form.media_type),
        }
    }

    /// The answer of a query in the coding that its client takes.
    pub(crate) async fn coded(&self, mut executed: ExecutedResponse, coding: Coding) -> ExecutedResponse {
        if coding == Coding::Identity || executed.body.len() < self.compress_bytes_min() {
            return executed;
        }
        let body = executed.body.clone();
        let compressed = if body.len() <= AT_ONCE_BYTES_MAX {
            gzip(&body)
        } else {
            match tokio::task::spawn_blocking(move || gzip(&body)).await {
                Ok(compressed) => compressed,
                // The process stops, and the response is sent without compression.
                Err(_) => return executed,
            }
        };
        executed.body = self.responses().hold(compressed);
        executed.headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
        executed
    }
}

/// The response to a request that was not executed.
pub(crate) fn refused(refusal: Refusal, media_type: ResponseType) -> Response<Body> {
    // Its text may repeat the request.
    tracing::debug!(code = refusal.code(), "request refused");
    refusal.into_response(media_type)
}

/// Whether a client takes a coding that it names; one with a weight of 0 is refused.
pub fn accepts(headers: &HeaderMap, coding: &str) -> bool {
    let listed = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    listed.flat_map(|list| list.split(',')).any(|accepted| {
        let (name, weight) = accepted.split_once(';').unwrap_or((accepted, ""));
        let weight = weight.trim().strip_prefix("q=").map_or(Ok(1.0), str::parse::<f32>);
        name.trim().eq_ignore_ascii_case(coding) && weight.is_ok_and(|weight| weight > 0.0)
    })
}

/// The fastest level: the next ones take more than twice as long for a fifth less.
fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), Compression::fast());
    let compressed = encoder.write_all(body).and_then(|()| encoder.finish());
    compressed.expect("a vector takes every write")
}
