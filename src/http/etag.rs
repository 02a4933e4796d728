//! Entity tags of answers to `GET`, and the requests that name them.
//!
//! A tag says what the request was and, where the service knows what is written, what the answer depends on: with such a tag
//! the server tells that an answer is still the same without executing anything. Otherwise it stands for the bytes of
//! the answer, which spares their way at least. Nothing is kept for a tag. One that was made up only misleads who made it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use async_graphql::Request;
use axum::http::{HeaderMap, HeaderValue, header::IF_NONE_MATCH};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::answer::Form;

/// Tags of an `If-None-Match` that are looked at.
const CANDIDATES_MAX: usize = 16;
/// The longest tag that is looked at, in characters.
const TAG_CHARS_MAX: usize = 256;
const FINGERPRINT_BYTES: usize = 16;
const NUMBER_BYTES: usize = size_of::<u64>();
const MARK_BYTES: usize = size_of::<u32>();

/// What an execution has read. The service fills it in while it executes a request that carries it.
#[derive(Debug, Default)]
pub struct ReadTrace(Mutex<Option<Vec<u32>>>);

impl ReadTrace {
    /// Says what the answer depends on, and that it depends on nothing else.
    pub fn set(&self, marks: Vec<u32>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(marks);
    }

    /// What the answer depends on; `None` where that is not known.
    pub(super) fn take(&self) -> Option<Vec<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// All that two requests must share to have the same answer from the same data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint([u8; FINGERPRINT_BYTES]);

impl Fingerprint {
    pub(super) fn of(request: &Request, bearer: Option<&str>, form: Form) -> Self {
        let json = |value: Result<Vec<u8>, serde_json::Error>| {
            value.expect("variables and extensions come from JSON, and serialise")
        };
        let parts = [
            request.query.clone().into_bytes(),
            request.operation_name.clone().unwrap_or_default().into_bytes(),
            json(serde_json::to_vec(&request.variables)),
            json(serde_json::to_vec(&request.extensions.iter().collect::<BTreeMap<_, _>>())),
            bearer.unwrap_or_default().as_bytes().to_vec(),
            form.media_type.header_value().as_bytes().to_vec(),
            // Tags are strong: another coding has other bytes.
            form.coding.name().as_bytes().to_vec(),
        ];
        Self(digest(&parts))
    }
}

/// A tag as the server makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntityTag {
    /// The answer depends on these marks, and was read when a write with this number was the last.
    Reads { process: u64, request: Fingerprint, write: u64, marks: Vec<u32> },
    /// The answer has these bytes.
    Bytes([u8; FINGERPRINT_BYTES]),
}

impl EntityTag {
    /// The tag of an answer to a request, by its bytes.
    pub(super) fn of_bytes(request: Fingerprint, body: &[u8]) -> Self {
        Self::Bytes(digest(&[request.0.to_vec(), body.to_vec()]))
    }

    /// As it stands in a header, a strong tag.
    pub(super) fn header_value(&self) -> HeaderValue {
        let mut bytes = Vec::new();
        match self {
            Self::Reads { process, request, write, marks } => {
                bytes.extend_from_slice(&process.to_be_bytes());
                bytes.extend_from_slice(&request.0);
                bytes.extend_from_slice(&write.to_be_bytes());
                bytes.extend(marks.iter().flat_map(|mark| mark.to_be_bytes()));
            }
            Self::Bytes(digest) => bytes.extend_from_slice(digest),
        }
        let text = format!("\"{}\"", BASE64_URL_SAFE_NO_PAD.encode(bytes));
        HeaderValue::from_str(&text).expect("base64 in quotes is a header value")
    }

    fn parse(text: &str) -> Option<Self> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        if let Ok(digest) = <[u8; FINGERPRINT_BYTES]>::try_from(bytes.as_slice()) {
            return Some(Self::Bytes(digest));
        }
        let (process, rest) = bytes.split_first_chunk::<NUMBER_BYTES>()?;
        let (request, rest) = rest.split_first_chunk::<FINGERPRINT_BYTES>()?;
        let (write, marks) = rest.split_first_chunk::<NUMBER_BYTES>()?;
        let (marks, []) = marks.as_chunks::<MARK_BYTES>() else { return None };
        Some(Self::Reads {
            process: u64::from_be_bytes(*process),
            request: Fingerprint(*request),
            write: u64::from_be_bytes(*write),
            marks: marks.iter().copied().map(u32::from_be_bytes).collect(),
        })
    }
}

/// The tags that a client has answers for already. A tag that is not one of this server's is passed over.
pub(super) fn named_by(headers: &HeaderMap) -> Vec<EntityTag> {
    let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let tags = values.flat_map(|value| value.split(','));
    tags.take(CANDIDATES_MAX)
        .filter_map(|tag| {
            let tag = tag.trim();
            let tag = tag.strip_prefix("W/").unwrap_or(tag);
            let tag = tag.strip_prefix('"')?.strip_suffix('"')?;
            (tag.len() <= TAG_CHARS_MAX).then(|| EntityTag::parse(tag)).flatten()
        })
        .collect()
}

/// The first bytes of the SHA-256 of these parts, each with its length before it.
fn digest(parts: &[Vec<u8>]) -> [u8; FINGERPRINT_BYTES] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let hash: [u8; 32] = hash.finalize().into();
    let mut first = [0; FINGERPRINT_BYTES];
    first.copy_from_slice(&hash[..FINGERPRINT_BYTES]);
    first
}

#[cfg(test)]
mod tests {
    use super::super::answer::Coding;
    use super::super::media_type::ResponseType;
    use super::*;

    const JSON: Form = Form { media_type: ResponseType::Json, coding: Coding::Identity };

    fn request(query: &str) -> Fingerprint {
        Fingerprint::of(&Request::new(query), None, JSON)
    }

    fn named(value: &str) -> Vec<EntityTag> {
        named_by(&HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_str(value).expect("a value"))]))
    }

    #[test]
    fn a_tag_survives_its_header() {
        let reads =
            EntityTag::Reads { process: 1, request: request("{a}"), write: 7, marks: vec![3, u32::MAX] };
        let bytes = EntityTag::of_bytes(request("{a}"), b"body");
        for tag in [reads.clone(), bytes.clone()] {
            let text = tag.header_value();
            assert_eq!(named(text.to_str().expect("text")), [tag]);
        }
        let both =
            [reads.header_value(), bytes.header_value()].map(|tag| tag.to_str().expect("text").to_owned());
        assert_eq!(named(&format!("W/{}, \"foreign\", {}", both[0], both[1])), [reads, bytes]);
    }

    #[test]
    fn what_is_no_tag_of_this_server_is_passed_over() {
        for value in ["*", "\"\"", "abc", "\"AAAA\"", "\"@\"", ",,,", &format!("\"{}\"", "A".repeat(4000))] {
            assert_eq!(named(value), [], "{value}");
        }
    }

    #[test]
    fn requests_that_differ_in_anything_have_different_fingerprints() {
        let with = |name: Option<&str>, variables: serde_json::Value| {
            let mut request = Request::new("query A { a } query B { b }")
                .variables(async_graphql::Variables::from_json(variables));
            request.operation_name = name.map(str::to_owned);
            request
        };
        let of = |request: &Request, bearer| Fingerprint::of(request, bearer, JSON);
        let plain = with(None, serde_json::json!({}));
        let all = [
            of(&plain, None),
            of(&plain, Some("token")),
            of(&with(Some("A"), serde_json::json!({})), None),
            of(&with(None, serde_json::json!({"a": 1})), None),
            Fingerprint::of(&plain, None, Form { media_type: ResponseType::GraphqlResponse, ..JSON }),
            Fingerprint::of(&plain, None, Form { coding: Coding::Gzip, ..JSON }),
        ];
        for (place, one) in all.iter().enumerate() {
            assert_eq!(all.iter().position(|other| other == one), Some(place));
        }
    }
}
