//! Requests to other GraphQL endpoints of the process, with schemas of their own: they pass the quota, the
//! body memory and the charges of `/graphql`, and are executed elsewhere. Anonymous, and without persisted
//! documents.

use std::fmt;
use std::sync::Arc;

use async_graphql::{Request, Response};
use axum::body::Body;
use axum::http::{Method, Request as HttpRequest};

use super::body_memory::BodyRoom;
use super::document_cache::Documents;
use super::document_text::move_to_original;
use super::endpoint::GraphqlEndpoint;
use super::media_type::is_json_request;
use super::pipeline::parse::{BodyLimits, MalformedRequest, RequestParameters};
use super::pipeline::prepare::PreparationWork;
use super::pipeline::rate_limit::RequestQuota;
use super::pipeline::receive::ReceivedHead;
use super::quota::QuotaAccount as _;
use super::refusal::Refusal;

/// A request that is ready to be executed, with its parsed document.
pub struct SideRequest {
    pub request: Request,
    /// The text of the document as the client sent it.
    text: String,
    _body: BodyRoom,
}

impl GraphqlEndpoint {
    /// Receives, reads, decodes and parses a `POST` to another endpoint, and charges the quota for that and
    /// for the validation of its document.
    ///
    /// # Errors
    /// The quota is spent, a request may not be sent like this, or it is no GraphQL request within these
    /// limits.
    pub async fn prepare_side_request(
        &self,
        request: HttpRequest<Body>,
        quota: &Arc<RequestQuota>,
        limits: &BodyLimits,
        documents: &Documents,
    ) -> Result<SideRequest, Refusal> {
        let (head, body) = request.into_parts();
        if head.method != Method::POST {
            return Err(Refusal::MethodNotAllowed);
        }
        if !is_json_request(&head.headers) {
            return Err(Refusal::UnsupportedMediaType);
        }
        let ReceivedHead { coding, .. } = self.receive(head)?;
        quota.open(None)?;
        let mut room = self.bodies().room(quota.client().network);
        let mut preparation = self.preparations().begin(quota);
        let body = limits.read(body, &mut room).await?;
        let body = limits.decode(body, coding, &mut room, &mut preparation).await?;
        let RequestParameters { mut request, reference } = limits.parse(&body)?;
        let text = reference.text.ok_or(MalformedRequest::QueryMissing)?;
        let document = self.parse_document(documents, &text, &mut preparation).await?;
        preparation.work(PreparationWork::validating(document.size.selections)).await?;
        request.set_parsed_query(document.definitions.clone());
        Ok(SideRequest { request, text, _body: room })
    }
}

impl SideRequest {
    /// Takes the request out, to execute it.
    pub fn take(&mut self) -> Request {
        std::mem::replace(&mut self.request, Request::new(""))
    }

    /// Completes the response: positions in errors become positions in the client's text.
    pub fn complete(&self, response: &mut Response) {
        response.errors.iter_mut().for_each(|error| move_to_original(error, &self.text));
    }
}

impl fmt::Debug for SideRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SideRequest").finish_non_exhaustive()
    }
}
