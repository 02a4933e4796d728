//! Conditional requests: a `GET` whose answer has not changed is answered by 304, where possible without
//! executing anything.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, ETAG, VARY};
use axum::http::{HeaderValue, Request as HttpRequest, Response, StatusCode};

use onehop_runtime::planted;

use super::endpoint::GraphqlEndpoint;
use super::etag::{EntityTag, Fingerprint, ReadDependencies, ReadTrace, named_by};
use super::pipeline::await_position::WaitDeadline;
use super::pipeline::context::RequestContext;
use super::pipeline::rate_limit::RequestQuota;
use super::position::POSITION;
use super::refusal::Refusal;
use super::representation::Representation;
use super::response::ExecutedResponse;

/// A cache keeps an answer for one client, and revalidates it each time.
const KEPT: HeaderValue = HeaderValue::from_static("private, no-cache");
/// The headers of a request that make another answer.
const VARIES_BY: HeaderValue =
    HeaderValue::from_static("accept, accept-encoding, authorization, onehop-position");

/// The result of a request that only reads.
enum Answer {
    Same(EntityTag),
    /// Without a tag it is not to be kept.
    Executed {
        executed: Box<ExecutedResponse>,
        tag: Option<Tag>,
    },
}

/// The basis of an entity tag.
enum Tag {
    Dependencies(EntityTag),
    Bytes { request: Fingerprint, named: Vec<EntityTag> },
}

impl GraphqlEndpoint {
    /// Answers one `GET` or `HEAD`.
    pub(super) async fn handle_read(
        &self,
        request: HttpRequest<Body>,
        representation: Representation,
        quota: &Arc<RequestQuota>,
    ) -> Response<Body> {
        match self.in_time(self.answer_read(request, representation, quota)).await {
            Ok(Answer::Same(tag)) => not_modified(&tag),
            Ok(Answer::Executed { executed, tag: None }) => self.render(Ok(*executed), representation).await,
            Ok(Answer::Executed { executed, tag: Some(tag) }) => {
                let (tag, named) = match tag {
                    Tag::Dependencies(tag) => (tag, Vec::new()),
                    Tag::Bytes { request, named } => (self.tags().of_bytes(request, &executed.body), named),
                };
                if named.contains(&tag) {
                    return not_modified(&tag);
                }
                let coded = self.coded(*executed, representation.coding).await;
                tagged(coded.into_response(representation.media_type), &tag)
            }
            Err(refusal) => refusal.respond(representation.media_type),
        }
    }

    async fn answer_read(
        &self,
        request: HttpRequest<Body>,
        representation: Representation,
        quota: &Arc<RequestQuota>,
    ) -> Result<Answer, Refusal> {
        let named = named_by(request.headers());
        let mut context = self.prepare_single(request, quota).await?;
        // The result of the wait is part of the answer.
        if context.request.extensions.contains_key(POSITION) {
            return Ok(untagged(self.answer(context).await?));
        }
        if self.read_your_writes().own_writes_of(&context).is_some() {
            let mut deadline = WaitDeadline::default();
            self.read_your_writes().await_own_writes(&mut context, &mut deadline).await;
            if context.waited.is_some_and(|waited| waited.is_told) {
                let permit = self.admit(&mut context).await?;
                return Ok(untagged(self.execute(context, permit).await));
            }
        }
        let fingerprint = Fingerprint::of(&context.request, context.bearer.as_deref(), representation);
        if let Some(tag) = named.iter().find(|tag| self.is_current(tag, fingerprint)) {
            return Ok(Answer::Same(tag.clone()));
        }
        let (executed, reads) = self.answer_traced(context, fingerprint).await?;
        let tag = match reads {
            _ if executed.has_errors => None,
            Some(reads) => Some(Tag::Dependencies(reads)),
            None => Some(Tag::Bytes { request: fingerprint, named }),
        };
        Ok(Answer::Executed { executed: Box::new(executed), tag })
    }

    /// Whether this tag belongs to an answer to this request whose dependencies have not been written since.
    fn is_current(&self, tag: &EntityTag, fingerprint: Fingerprint) -> bool {
        let reads = self.tags().reads(fingerprint, tag);
        reads.is_some_and(|reads| self.is_unwritten_since(&reads))
    }

    fn is_unwritten_since(&self, reads: &ReadDependencies) -> bool {
        let positions = self.service().positions();
        reads.marks.iter().all(|mark| positions.is_unwritten_since(*mark, reads.write))
    }

    /// Executes, and returns the dependencies of the answer; `None` where they are not known or have changed
    /// meanwhile.
    async fn answer_traced(
        &self,
        mut context: RequestContext,
        request: Fingerprint,
    ) -> Result<(ExecutedResponse, Option<EntityTag>), Refusal> {
        let trace = Arc::new(ReadTrace::default());
        let write = self.service().positions().last_write();
        context.read_trace = Some(Arc::clone(&trace));
        let executed = self.answer(context).await?;
        let (Some(write), Some(mut marks)) = (write, trace.take()) else { return Ok((executed, None)) };
        if planted!("tag-without-a-dependency") {
            marks.pop();
        }
        let reads = ReadDependencies { write, marks };
        let tag = self.is_unwritten_since(&reads).then(|| self.tags().of_reads(request, &reads));
        Ok((executed, tag))
    }
}

/// An answer that is not to be kept.
fn untagged(executed: ExecutedResponse) -> Answer {
    Answer::Executed { executed: Box::new(executed), tag: None }
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
