//! `GET` with conditions: an answer that is still the same is told by 304, where possible without executing anything.

use std::sync::Arc;

use async_graphql::parser::types::OperationType;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, ETAG, VARY};
use axum::http::{HeaderValue, Request as HttpRequest, Response, StatusCode};

use super::answer::{Form, refused};
use super::callers::Bill;
use super::etag::{EntityTag, Fingerprint, ReadTrace, Reads, named_by};
use super::graphql_http::{Checked, GraphqlEndpoint, Received, Sent, open};
use super::graphql_request::{Asked, POSITION};
use super::graphql_response::{ExecutedResponse, Refusal};
use super::graphql_service::Caller;
use super::position_waits::WaitDeadline;
use super::spent::Spent;

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
        executed: Box<ExecutedResponse>,
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
                self.answer_with(Ok(Sent::One(OperationType::Query, Ok(*executed))), form).await
            }
            Ok(Answer::Executed { executed, tag: Some(tag) }) => {
                let (tag, named) = match tag {
                    Tag::Reads(tag) => (tag, Vec::new()),
                    Tag::Bytes { request, named } => (self.tags().of_bytes(request, &executed.body), named),
                };
                if named.contains(&tag) {
                    return not_modified(&tag);
                }
                tagged(self.coded(*executed, form.coding).await.into_response(form.media_type), &tag)
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
        let mut checked = self.check_for_one_answer(request, true)?;
        let spent = Spent::on(bill, &**self.service());
        let caller = self.caller(bearer.as_deref(), &spent).await?;
        let caller = caller.as_ref();
        // What was waited for is part of the answer.
        if checked.request.extensions.contains_key(POSITION) {
            let executed = self.execute_spent(checked, caller, bill, &spent).await?;
            return Ok(Answer::Executed { executed: Box::new(executed), tag: None });
        }
        if self.last_write_of(caller).is_some() {
            open(bill, caller)?;
            self.at_last_write(&mut checked, caller, &spent, &mut WaitDeadline::default()).await;
            if checked.waited.is_some_and(|waited| waited.is_told) {
                let executed = self.execute_waited(checked, caller, bill, &spent).await?;
                return Ok(Answer::Executed { executed: Box::new(executed), tag: None });
            }
        }
        let fingerprint = Fingerprint::of(&checked.request, bearer.as_deref(), form);
        if let Some(tag) = named.iter().find(|tag| self.is_current(tag, fingerprint)) {
            return Ok(Answer::Same(tag.clone()));
        }
        let (executed, reads) = self.execute_traced(checked, fingerprint, caller, bill, &spent).await?;
        let tag = match reads {
            _ if executed.has_errors => None,
            Some(reads) => Some(Tag::Reads(reads)),
            None => Some(Tag::Bytes { request: fingerprint, named }),
        };
        Ok(Answer::Executed { executed: Box::new(executed), tag })
    }

    /// Whether an answer with this tag is that of this request, and nothing was written since that it depends on.
    fn is_current(&self, tag: &EntityTag, fingerprint: Fingerprint) -> bool {
        let reads = self.tags().reads(fingerprint, tag);
        reads.is_some_and(|reads| self.is_unwritten_since(&reads))
    }

    fn is_unwritten_since(&self, reads: &Reads) -> bool {
        reads.marks.iter().all(|mark| self.service().is_unwritten_since(*mark, reads.write))
    }

    /// Executes, and says what the answer depends on; `None` where that is not known or has changed meanwhile.
    async fn execute_traced(
        &self,
        mut checked: Checked,
        request: Fingerprint,
        caller: Option<&Caller>,
        bill: &Bill,
        spent: &Spent<'_>,
    ) -> Result<(ExecutedResponse, Option<EntityTag>), Refusal> {
        let trace = Arc::new(ReadTrace::default());
        let write = self.service().last_write();
        checked.request.data.insert(Arc::clone(&trace));
        let executed = self.execute_spent(checked, caller, bill, spent).await?;
        let (Some(write), Some(marks)) = (write, trace.take()) else { return Ok((executed, None)) };
        let reads = Reads { write, marks };
        let tag = self.is_unwritten_since(&reads).then(|| self.tags().of_reads(request, &reads));
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
