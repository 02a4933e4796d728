//! Content codings of request bodies (RFC 9110, section 8.4): gzip is decoded within the limit of a body, every other
//! coding is refused.

use std::io::Read as _;

use axum::http::HeaderMap;
use axum::http::header::CONTENT_ENCODING;
use bytes::Bytes;
use flate2::read::MultiGzDecoder;

use super::pipeline::parse::{BodyLimits, MalformedRequest};
use super::pipeline::render::Coding;

/// Longer bodies are decoded beside the threads that serve others.
const AT_ONCE_BYTES_MAX: usize = 16 * 1024;

/// The coding of a body; `None` where it is not one that is taken.
pub(super) fn coding_of(headers: &HeaderMap) -> Option<Coding> {
    let mut codings = headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"));
    match (codings.next(), codings.next()) {
        (None, _) => Some(Coding::Identity),
        (Some(coding), None)
            if coding.eq_ignore_ascii_case(b"gzip") || coding.eq_ignore_ascii_case(b"x-gzip") =>
        {
            Some(Coding::Gzip)
        }
        _ => None,
    }
}

impl BodyLimits {
    /// The body without its coding.
    ///
    /// # Errors
    /// It is longer than a body may be, or not what its coding says.
    pub(super) async fn decode(self, body: Bytes, coding: Coding) -> Result<Bytes, MalformedRequest> {
        if coding == Coding::Identity {
            return Ok(body);
        }
        if body.len() <= AT_ONCE_BYTES_MAX {
            return self.gunzip(&body);
        }
        let decoded = tokio::task::spawn_blocking(move || self.gunzip(&body)).await;
        decoded.unwrap_or(Err(MalformedRequest::BodyBroken))
    }

    /// Stops at the first byte beyond the limit, whatever the body would become.
    fn gunzip(&self, body: &[u8]) -> Result<Bytes, MalformedRequest> {
        let readable_bytes = u64::try_from(self.bytes_max).unwrap_or(u64::MAX).saturating_add(1);
        let mut decoded = Vec::new();
        let read = MultiGzDecoder::new(body).take(readable_bytes).read_to_end(&mut decoded);
        match read {
            Ok(_) if decoded.len() > self.bytes_max => Err(self.too_large()),
            Ok(_) => Ok(decoded.into()),
            Err(_) => Err(MalformedRequest::BodyNotGzip),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn gzip_alone_is_a_coding() {
        for (values, expected) in [
            (&[][..], Some(Coding::Identity)),
            (&["identity"], Some(Coding::Identity)),
            (&["gzip"], Some(Coding::Gzip)),
            (&[" GZIP , identity"], Some(Coding::Gzip)),
            (&["x-gzip"], Some(Coding::Gzip)),
            (&["gzip, gzip"], None),
            (&["gzip", "gzip"], None),
            (&["br"], None),
            (&["gzip;q=1"], None),
            (&["\u{e9}"], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_ENCODING, HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
            assert_eq!(coding_of(&headers), expected, "{values:?}");
        }
    }
}
