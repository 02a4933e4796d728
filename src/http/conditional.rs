//! `GET` with conditions: an answer that is still the same is told by 304, where possible without executing anything.

use std::sync::Arc;

use async_graphql::Response as Execution;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, ETAG, VARY};
use axum::http::{HeaderValue, Request as HttpRequest, Response, StatusCode};

use super::callers::Bill;
use super::etag::{EntityTag, Fingerprint, ReadTrace, named_by};
use super::graphql_http::{Checked, GraphqlEndpoint, Received, Sent};
use super::graphql_request::{Asked, POSITION};
use super::graphql_response::{ExecutedResponse, Refusal};
use super::media_type::ResponseType;

/// Whoever keeps an answer keeps it for one client, and asks each time whether it still is the same.
const KEPT: HeaderValue = HeaderValue::from_static("private, no-cache");
/// The headers of a request that make another answer.
const VARIES_BY: HeaderValue = HeaderValue::from_static("accept, authorization, onehop-position");

/// What came of a request that only reads.
enum Answer {
    Same(EntityTag),
    Executed { execution: Box<Execution>, tag: Tag },
}

/// What an answer is tagged with.
enum Tag {
    /// It is not to be kept.
    None,
    Reads(EntityTag),
    Bytes {
        request: Fingerprint,
        named: Vec<EntityTag>,
    },
}

impl GraphqlEndpoint {
    /// Answers one `GET` or `HEAD`.
    pub(super) async fn handle_read(
        &self,
        request: HttpRequest<Body>,
        media_type: ResponseType,
        bill: &Bill,
    ) -> Response<Body> {
        match self.in_time(self.answer_read(request, media_type, bill)).await {
            Ok(Answer::Same(tag)) => not_modified(&tag),
            Ok(Answer::Executed { execution, tag }) => match tag {
                Tag::None => self.answer_with(Ok(Sent::One(Ok(*execution))), media_type),
                Tag::Reads(tag) => {
                    tagged(ExecutedResponse::of(*execution, media_type).into_response(media_type), &tag)
                }
                Tag::Bytes { request, named } => by_bytes(*execution, media_type, request, &named),
            },
            Err(refusal) => self.answer_with(Err(refusal), media_type),
        }
    }

    async fn answer_read(
        &self,
        request: HttpRequest<Body>,
        media_type: ResponseType,
        bill: &Bill,
    ) -> Result<Answer, Refusal> {
        let named = named_by(request.headers());
        let Received { asked, bearer, .. } = self.receive(request).await?;
        let request = match asked {
            Asked::One(request) => *request,
            // No URL holds one.
            Asked::Batch(_) => return Err(Refusal::BatchOfStreams),
        };
        let bearer = bearer.as_deref();
        let checked = self.check_for_one_answer(request, true)?;
        // What was waited for is part of the answer.
        if checked.request.extensions.contains_key(POSITION) {
            let execution = Box::new(self.execute(checked, bearer, bill).await?);
            return Ok(Answer::Executed { execution, tag: Tag::None });
        }
        let fingerprint = Fingerprint::of(&checked.request, bearer, media_type);
        if let Some(tag) = named.iter().find(|tag| self.is_current(tag, fingerprint)) {
            if let Some(bearer) = bearer {
                self.service().authenticate(bearer).await?;
            }
            return Ok(Answer::Same(tag.clone()));
        }
        let (execution, reads) = self.execute_traced(checked, fingerprint, bearer, bill).await?;
        let tag = match reads {
            _ if !execution.errors.is_empty() => Tag::None,
            Some(reads) => Tag::Reads(reads),
            None => Tag::Bytes { request: fingerprint, named },
        };
        Ok(Answer::Executed { execution: Box::new(execution), tag })
    }

    /// Whether an answer with this tag is that of this request, and nothing was written since that it depends on.
    fn is_current(&self, tag: &EntityTag, fingerprint: Fingerprint) -> bool {
        let EntityTag::Reads { process, request, write, marks } = tag else { return false };
        *process == self.process() && *request == fingerprint && self.is_unwritten_since(marks, *write)
    }

    fn is_unwritten_since(&self, marks: &[u32], write: u64) -> bool {
        marks.iter().all(|mark| self.service().is_unwritten_since(*mark, write))
    }

    /// Executes, and says what the answer depends on; `None` where that is not known or has changed meanwhile.
    async fn execute_traced(
        &self,
        mut checked: Checked,
        request: Fingerprint,
        bearer: Option<&str>,
        bill: &Bill,
    ) -> Result<(Execution, Option<EntityTag>), Refusal> {
        let trace = Arc::new(ReadTrace::default());
        let write = self.service().last_write();
        checked.request.data.insert(Arc::clone(&trace));
        let execution = self.execute(checked, bearer, bill).await?;
        let (Some(write), Some(marks)) = (write, trace.take()) else { return Ok((execution, None)) };
        let tag = self.is_unwritten_since(&marks, write).then(|| EntityTag::Reads {
            process: self.process(),
            request,
            write,
            marks,
        });
        Ok((execution, tag))
    }
}

/// The answer with a tag for its bytes, or nothing but the tag where the client has them.
fn by_bytes(
    execution: Execution,
    media_type: ResponseType,
    request: Fingerprint,
    named: &[EntityTag],
) -> Response<Body> {
    let encoded = ExecutedResponse::of(execution, media_type);
    let tag = EntityTag::of_bytes(request, &encoded.body);
    if named.contains(&tag) { not_modified(&tag) } else { tagged(encoded.into_response(media_type), &tag) }
}

fn not_modified(tag: &EntityTag) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    tagged(response, tag)
}

fn tagged(mut response: Response<Body>, tag: &EntityTag) -> Response<Body> {
    let headers = response.headers_mut();
    headers.insert(ETAG, tag.header_value());
    headers.insert(CACHE_CONTROL, KEPT);
    headers.append(VARY, VARIES_BY);
    response
}
