//! Render: the status, media type and compression of a response. Knows nothing of its content.
//!
//! Only responses to queries are compressed. A mutation's response may hold an access token, and the length
//! of compressed bytes reveals their content (CRIME, BREACH).

use async_graphql::parser::types::OperationType;
use axum::body::Body;
use axum::http::header::{CONTENT_ENCODING, VARY};
use axum::http::{HeaderValue, Response};

use onehop_runtime::blocking;

use crate::content_coding::{Coding, gzip};
use crate::endpoint::GraphqlEndpoint;
use crate::refusal::Refusal;
use crate::representation::Representation;
use crate::response::ExecutedResponse;

/// Longer answers are compressed beside the threads that serve others: this many bytes take about a
/// millisecond.
const AT_ONCE_BYTES_MAX: usize = 256 * 1024;

impl GraphqlEndpoint {
    /// The HTTP response to an executed or a refused request.
    pub(crate) async fn render(
        &self,
        executed: Result<ExecutedResponse, Refusal>,
        representation: Representation,
    ) -> Response<Body> {
        match executed {
            Ok(executed) if executed.kind == OperationType::Query => {
                let mut response = self
                    .coded(executed, representation.coding)
                    .await
                    .into_response(representation.media_type);
                if self.compress_bytes_min() > 0 {
                    response.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
                }
                response
            }
            Ok(executed) => executed.into_response(representation.media_type),
            Err(refusal) => refusal.respond(representation.media_type),
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
            match blocking::run(move || gzip(&body)).await {
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
