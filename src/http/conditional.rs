//! `GET` with conditions: an answer that is still the same is told by 304, where possible without executing anything.

use std::sync::Arc;

use async_graphql::parser::types::OperationType;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, ETAG, VARY};
use axum::http::{HeaderValue, Request as HttpRequest, Response, StatusCode};

use super::answer::{Form, refused};
use super::callers::Bill;
use super::etag::{EntityTag, Fingerprint, ReadTrace, named_by};
use super::graphql_http::{Checked, GraphqlEndpoint, Received, Sent};
use super::graphql_request::{Asked, POSITION};
use super::graphql_response::{ExecutedResponse, Refusal};

/// Whoever keeps an answer keeps it for one client, and asks each time whether it still is the same.
const KEPT: HeaderValue = HeaderValue::from_static("private, no-cache");
/// The headers of a request that make another answer.
const VARIES_BY: HeaderValue =
    HeaderValue::from_static("accept, accept-encoding, authorization, onehop-position");

/// What came of a request that only reads.
enum Answer {
    Same(EntityTag),
    /// Without a tag it is not to be kept.
    Executed {
        executed: ExecutedResponse,
        tag: Option<Tag>,
    },
}

/// What an answer is tagged with.
enum Tag {
    Reads(EntityTag),
    Bytes { request: Fingerprint, named: Vec<EntityTag> },
}

impl GraphqlEndpoint {
    /// Answers one `GET` or `HEAD`.
    pub(super) async fn handle_read(
        &self,
        request: HttpRequest<Body>,
        form: Form,
        bill: &Bill,
    ) -> Response<Body> {
        match self.in_time(self.answer_read(request, form, bill)).await {
            Ok(Answer::Same(tag)) => not_modified(&tag),
            Ok(Answer::Executed { executed, tag: None }) => {
                self.answer_with(Ok(Sent::One(OperationType::Query, Ok(executed))), form).await
            }
            Ok(Answer::Executed { executed, tag: Some(tag) }) => {
                let (tag, named) = match tag {
                    Tag::Reads(tag) => (tag, Vec::new()),
                    Tag::Bytes { request, named } => (EntityTag::of_bytes(request, &executed.body), named),
                };
                if named.contains(&tag) {
                    return not_modified(&tag);
                }
                tagged(self.coded(executed, form.coding).await.into_response(form.media_type), &tag)
            }
            Err(refusal) => refused(refusal, form.media_type),
        }
    }

    async fn answer_read(
        &self,
        request: HttpRequest<Body>,
        form: Form,
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
            let executed = self.execute(checked, bearer, bill).await?;
            return Ok(Answer::Executed { executed, tag: None });
        }
        let fingerprint = Fingerprint::of(&checked.request, bearer, form);
        if let Some(tag) = named.iter().find(|tag| self.is_current(tag, fingerprint)) {
            if let Some(bearer) = bearer {
                self.service().authenticate(bearer).await?;
            }
            return Ok(Answer::Same(tag.clone()));
        }
        let (executed, reads) = self.execute_traced(checked, fingerprint, bearer, bill).await?;
        let tag = match reads {
            _ if executed.has_errors => None,
            Some(reads) => Some(Tag::Reads(reads)),
            None => Some(Tag::Bytes { request: fingerprint, named }),
        };
        Ok(Answer::Executed { executed, tag })
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
    ) -> Result<(ExecutedResponse, Option<EntityTag>), Refusal> {
        let trace = Arc::new(ReadTrace::default());
        let write = self.service().last_write();
        checked.request.data.insert(Arc::clone(&trace));
        let executed = self.execute(checked, bearer, bill).await?;
        let (Some(write), Some(marks)) = (write, trace.take()) else { return Ok((executed, None)) };
        let tag = self.is_unwritten_since(&marks, write).then(|| EntityTag::Reads {
            process: self.process(),
            request,
            write,
            marks,
        });
        Ok((executed, tag))
    }
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
