//! Content codings (RFC 9110, section 8.4): gzip of request bodies, which is decoded within the limit of a
//! body, and of responses. A body in any other coding is refused.

use std::io::{Read as _, Write as _};

use axum::http::HeaderMap;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// From how many bytes on the answers of queries are compressed.
pub const COMPRESS_BYTES_MIN: usize = 1024;

/// The bytes decoded at once.
const DECODED_PART_BYTES: usize = 8 * 1024;

/// The coding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Identity,
    Gzip,
}

impl Coding {
    /// The name in a request's fingerprint.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
        }
    }
}

/// The coding of a request body; `None` for an unsupported coding.
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

/// Decodes a body, and hands over the result part by part. Ends with the error of the receiver of the parts.
pub(crate) fn gunzip<E>(
    body: &[u8],
    not_gzip: impl Fn() -> E,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut decoder = MultiGzDecoder::new(body);
    let mut part = [0; DECODED_PART_BYTES];
    loop {
        match decoder.read(&mut part).map_err(|_| not_gzip())? {
            0 => return Ok(()),
            bytes => take(&part[..bytes])?,
        }
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
pub fn gzip(body: &[u8]) -> Vec<u8> {
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
