//! Receive: the method, CSRF protection, the media type, the content coding and the access token of a
//! request. Knows headers, nothing of GraphQL, and reads no body.

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Uri};

use super::authenticate::bearer_token;
use crate::content_coding::{Coding, coding_of};
use crate::csrf::is_forged;
use crate::endpoint::GraphqlEndpoint;
use crate::media_type::is_json_request;
use crate::refusal::Refusal;

/// The head of a request that may be sent like this.
pub(crate) struct ReceivedHead {
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    /// It came by GET.
    pub(crate) is_read_only: bool,
    pub(crate) coding: Coding,
    pub(crate) bearer: Option<String>,
}

impl GraphqlEndpoint {
    /// Receives the head of an HTTP request.
    ///
    /// # Errors
    /// A request may not be sent like this.
    pub(crate) fn receive(&self, head: Parts) -> Result<ReceivedHead, Refusal> {
        let is_read_only = match head.method {
            Method::GET | Method::HEAD => true,
            Method::POST => false,
            _ => return Err(Refusal::MethodNotAllowed),
        };
        if is_forged(&head.method, &head.headers, self.allowed_origins()) {
            return Err(Refusal::Forged);
        }
        if !is_read_only && !is_json_request(&head.headers) {
            return Err(Refusal::UnsupportedMediaType);
        }
        let coding = match is_read_only {
            true => Coding::Identity,
            false => coding_of(&head.headers).ok_or(Refusal::UnsupportedCoding)?,
        };
        let bearer = bearer_token(&head.headers)?.map(str::to_owned);
        Ok(ReceivedHead { uri: head.uri, headers: head.headers, is_read_only, coding, bearer })
    }
}
