//! Content codings (RFC 9110, section 8.4): gzip of request bodies, which is decoded within the limit of a body, and of
//! responses. A body in any other coding is refused.

use std::io::{Read as _, Write as _};

use axum::http::HeaderMap;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use bytes::Bytes;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::body_memory::{BodyBuffer, BodyRoom};
use super::endpoint::GraphqlEndpoint;
use super::pipeline::parse::{BodyLimits, MalformedRequest};
use super::pipeline::prepare::{Preparation, PreparationWork};
use super::refusal::Refusal;

/// From how many bytes on the answers of queries are compressed.
pub const COMPRESS_BYTES_MIN: usize = 1024;

/// How many bytes are decoded at once.
const DECODED_CHUNK_BYTES: usize = 8 * 1024;

/// The coding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Identity,
    Gzip,
}

impl Coding {
    /// What is part of a request's fingerprint.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
        }
    }
}

/// The coding of a request body; `None` where it is not one that is taken.
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

impl GraphqlEndpoint {
    /// The body of a request without its coding, in the room of the body. Decoding takes its turn, and is charged.
    ///
    /// # Errors
    /// The body is longer than a body may be, or not what its coding says; there is no room for it, or no turn.
    pub(crate) async fn decode(
        &self,
        limits: &BodyLimits,
        body: Bytes,
        coding: Coding,
        room: &mut BodyRoom,
        preparation: &mut Preparation<'_>,
    ) -> Result<Bytes, Refusal> {
        if coding == Coding::Identity {
            preparation.work(PreparationWork::decoding(body.len())).await?;
            return Ok(body);
        }
        preparation.await_turn().await?;
        let mut decoded = BodyBuffer::new(limits.bytes_max, body.len());
        let is_decoded = gunzip(&body, &mut decoded, limits, room);
        preparation.done(PreparationWork::decoding(decoded.len()));
        is_decoded?;
        Ok(decoded.into_bytes())
    }
}

/// Stops at the first byte beyond the limit, whatever the body would become.
fn gunzip(
    body: &[u8],
    decoded: &mut BodyBuffer,
    limits: &BodyLimits,
    room: &mut BodyRoom,
) -> Result<(), Refusal> {
    let mut decoder = MultiGzDecoder::new(body);
    let mut chunk = [0; DECODED_CHUNK_BYTES];
    loop {
        let bytes = decoder.read(&mut chunk).map_err(|_| MalformedRequest::BodyNotGzip)?;
        if bytes == 0 {
            return Ok(());
        }
        if decoded.len() + bytes > limits.bytes_max {
            return Err(limits.too_large().into());
        }
        decoded.append(&chunk[..bytes], room).map_err(Refusal::BodiesFull)?;
    }
}

/// Whether a client takes a coding that it names; one with a weight of 0 is refused.
pub fn accepts(headers: &HeaderMap, coding: &str) -> bool {
    let listed = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    listed.flat_map(|list| list.split(',')).any(|accepted| {
        let (name, weight) = accepted.split_once(';').unwrap_or((accepted, ""));
        let weight = weight.trim().strip_prefix("q=").map_or(Ok(1.0), str::parse::<f32>);
        name.trim().eq_ignore_ascii_case(coding) && weight.is_ok_and(|weight| weight > 0.0)
    })
}

/// The fastest level: the next ones take more than twice as long for a fifth less.
pub(super) fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), Compression::fast());
    let compressed = encoder.write_all(body).and_then(|()| encoder.finish());
    compressed.expect("a vector takes every write")
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
