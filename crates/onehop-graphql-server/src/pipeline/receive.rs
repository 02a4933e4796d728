//! Receive: the method, CSRF protection, the media type and content coding of the body, and its bytes within a limit.
//! Knows headers and bytes, nothing of GraphQL.

use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Request as HttpRequest};

use super::authenticate::bearer_token;
use super::parse::RequestParameters;
use super::rate_limit::RequestQuota;
use crate::client_address::ClientAddress;
use crate::content_coding::coding_of;
use crate::csrf::is_forged;
use crate::endpoint::GraphqlEndpoint;
use crate::media_type::is_json_request;
use crate::refusal::Refusal;

/// A request that was received and parsed, before its document is known.
pub(crate) struct ReceivedRequest {
    pub(crate) client: ClientAddress,
    pub(crate) headers: HeaderMap,
    pub(crate) parameters: RequestParameters,
    /// It came by GET.
    pub(crate) is_read_only: bool,
    pub(crate) bearer: Option<String>,
    pub(crate) quota: Arc<RequestQuota>,
}

impl GraphqlEndpoint {
    /// Receives and parses an HTTP request.
    ///
    /// # Errors
    /// It may not be sent like this, or it is no GraphQL request.
    pub(crate) async fn receive(
        &self,
        request: HttpRequest<Body>,
        quota: &Arc<RequestQuota>,
    ) -> Result<ReceivedRequest, Refusal> {
        let (head, body) = request.into_parts();
        let is_read_only = match head.method {
            Method::GET | Method::HEAD => true,
            Method::POST => false,
            _ => return Err(Refusal::MethodNotAllowed),
        };
        if is_forged(&head.method, &head.headers, self.allowed_origins()) {
            return Err(Refusal::Forged);
        }
        let parameters = self.read(&head, body, is_read_only).await?.at_position_of(&head.headers)?;
        let bearer = bearer_token(&head.headers)?.map(str::to_owned);
        Ok(ReceivedRequest {
            client: quota.client(),
            headers: head.headers,
            parameters,
            is_read_only,
            bearer,
            quota: Arc::clone(quota),
        })
    }

    async fn read(&self, head: &Parts, body: Body, is_read_only: bool) -> Result<RequestParameters, Refusal> {
        let limits = self.body_limits();
        if is_read_only {
            return Ok(limits.parse_uri(&head.uri)?);
        }
        if !is_json_request(&head.headers) {
            return Err(Refusal::UnsupportedMediaType);
        }
        let coding = coding_of(&head.headers).ok_or(Refusal::UnsupportedCoding)?;
        let body = limits.decode(limits.read(body).await?, coding).await?;
        Ok(limits.parse(&body)?)
    }
}

impl ReceivedRequest {
    /// An operation on a connection that stays open.
    pub(crate) fn of_operation(parameters: RequestParameters, quota: Arc<RequestQuota>) -> Self {
        let client = quota.client();
        Self { client, headers: HeaderMap::new(), parameters, is_read_only: false, bearer: None, quota }
    }
}
