//! The representation of a response: the media type and the content coding that content negotiation chose
//! (RFC 9110, section 12).

use axum::http::HeaderMap;

use super::content_coding::{Coding, accepts};
use super::media_type::ResponseType;

/// The representation of a response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Representation {
    pub(super) media_type: ResponseType,
    pub(super) coding: Coding,
}

impl Representation {
    /// In this media type, and compressed if the server compresses and a client with these headers accepts
    /// it.
    pub(super) fn negotiated(media_type: ResponseType, headers: &HeaderMap, compresses: bool) -> Self {
        let is_coded = compresses && accepts(headers, Coding::Gzip.name());
        Self { media_type, coding: if is_coded { Coding::Gzip } else { Coding::Identity } }
    }
}
