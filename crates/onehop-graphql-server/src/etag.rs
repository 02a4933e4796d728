//! Entity tags of answers to `GET`, and the requests that name them.
//!
//! A tag is sealed for its request. Where the service tracks writes, it names the dependencies of the answer:
//! with such a tag the server knows that an answer is still the same without executing anything. Otherwise it
//! stands for the bytes of the answer, which spares their way at least. Nothing is kept for a tag. A forged
//! tag is no tag, and no tag shows how much is written.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use async_graphql::Request;
use axum::http::{HeaderMap, HeaderValue, header::IF_NONE_MATCH};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::representation::Representation;
use onehop_runtime::sealed::Sealer;

/// Tags of an `If-None-Match` that are looked at.
const CANDIDATES_MAX: usize = 16;
/// The longest tag that is looked at, in characters.
const TAG_CHARS_MAX: usize = 256;
const FINGERPRINT_BYTES: usize = 16;
const READS_PURPOSE: &[u8] = b"entity tag of reads\0";
const BYTES_PURPOSE: &[u8] = b"entity tag of bytes\0";
const NUMBER_BYTES: usize = size_of::<u64>();
const MARK_BYTES: usize = size_of::<u32>();

/// The reads of an execution. The service fills it in while it executes a request that carries it.
#[derive(Debug, Default)]
pub struct ReadTrace(Mutex<Option<Vec<u32>>>);

impl ReadTrace {
    /// Sets the complete dependencies of the answer.
    pub fn set(&self, marks: Vec<u32>) {
        *self.0.lock() = Some(marks);
    }

    /// The dependencies of the answer; `None` where they are not known.
    pub(super) fn take(&self) -> Option<Vec<u32>> {
        self.0.lock().take()
    }
}

/// The properties that two requests must share to have the same answer from the same data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint([u8; FINGERPRINT_BYTES]);

impl Fingerprint {
    pub(super) fn of(request: &Request, bearer: Option<&str>, representation: Representation) -> Self {
        let json = |value: Result<Vec<u8>, serde_json::Error>| {
            value.expect("variables and extensions come from JSON, and serialise")
        };
        let parts = [
            request.query.clone().into_bytes(),
            request.operation_name.clone().unwrap_or_default().into_bytes(),
            json(serde_json::to_vec(&request.variables)),
            json(serde_json::to_vec(&request.extensions.iter().collect::<BTreeMap<_, _>>())),
            bearer.unwrap_or_default().as_bytes().to_vec(),
            representation.media_type.header_value().as_bytes().to_vec(),
            // Tags are strong: another coding has other bytes.
            representation.coding.name().as_bytes().to_vec(),
        ];
        Self(digest(&parts))
    }
}

/// An entity tag, which clients cannot read or make up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntityTag(String);

/// The dependencies of an answer: these marks, when a write with this number was the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadDependencies {
    pub(super) write: u64,
    pub(super) marks: Vec<u32>,
}

/// Makes and reads the entity tags of this process. All processes share the keys, for tags that stand for
/// bytes.
#[derive(Debug)]
pub(super) struct EntityTags {
    sealer: Sealer,
    /// Distinguishes the writes and the marks of this process from other processes' ones.
    process: u64,
}

impl EntityTags {
    pub(super) fn new(sealer: Sealer) -> Self {
        Self { sealer, process: RandomState::new().hash_one("process") }
    }

    /// The tag of an answer to a request, by its dependencies.
    pub(super) fn of_reads(&self, request: Fingerprint, reads: &ReadDependencies) -> EntityTag {
        let marks = reads.marks.iter().flat_map(|mark| mark.to_be_bytes());
        let bytes: Vec<u8> = reads.write.to_be_bytes().into_iter().chain(marks).collect();
        EntityTag(self.sealer.seal(&self.purpose(request), &bytes))
    }

    /// The tag of an answer to a request, by its bytes.
    pub(super) fn of_bytes(&self, request: Fingerprint, body: &[u8]) -> EntityTag {
        let purpose = [BYTES_PURPOSE, &request.0, &Sha256::digest(body)].concat();
        EntityTag(self.sealer.seal(&purpose, &[]))
    }

    /// The dependencies of the answer with this tag, if it answers this request.
    pub(super) fn reads(&self, request: Fingerprint, tag: &EntityTag) -> Option<ReadDependencies> {
        let bytes = self.sealer.open(&self.purpose(request), &tag.0)?;
        let (write, marks) = bytes.split_first_chunk::<NUMBER_BYTES>()?;
        let (marks, []) = marks.as_chunks::<MARK_BYTES>() else { return None };
        let marks = marks.iter().copied().map(u32::from_be_bytes).collect();
        Some(ReadDependencies { write: u64::from_be_bytes(*write), marks })
    }

    /// A tag is opened by the process that made it, and for the request whose answer it stands for.
    fn purpose(&self, request: Fingerprint) -> Vec<u8> {
        [READS_PURPOSE, &self.process.to_be_bytes(), &request.0].concat()
    }
}

impl EntityTag {
    /// As it stands in a header, a strong tag.
    pub(super) fn header_value(&self) -> HeaderValue {
        HeaderValue::from_str(&format!("\"{}\"", self.0)).expect("base64 in quotes is a header value")
    }
}

/// The tags that a client has answers for already. Texts too long for a tag of this server are passed over.
pub(super) fn named_by(headers: &HeaderMap) -> Vec<EntityTag> {
    let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let tags = values.flat_map(|value| value.split(','));
    tags.take(CANDIDATES_MAX)
        .filter_map(|tag| {
            let tag = tag.trim();
            let tag = tag.strip_prefix("W/").unwrap_or(tag);
            let tag = tag.strip_prefix('"')?.strip_suffix('"')?;
            (tag.len() <= TAG_CHARS_MAX).then(|| EntityTag(tag.to_owned()))
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
    use base64::Engine as _;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD as URL_SAFE_NO_PAD;

    use super::super::media_type::ResponseType;
    use super::*;
    use crate::content_coding::Coding;

    const JSON: Representation = Representation { media_type: ResponseType::Json, coding: Coding::Identity };

    fn request(query: &str) -> Fingerprint {
        Fingerprint::of(&Request::new(query), None, JSON)
    }

    fn named(value: &str) -> Vec<EntityTag> {
        named_by(&HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_str(value).expect("a value"))]))
    }

    fn tags() -> EntityTags {
        EntityTags::new(Sealer::of([&[7; 32][..]]))
    }

    fn reads() -> ReadDependencies {
        ReadDependencies { write: 7, marks: vec![3, u32::MAX] }
    }

    #[test]
    fn a_tag_survives_its_header() {
        let tags = tags();
        let by_reads = tags.of_reads(request("{a}"), &reads());
        let by_bytes = tags.of_bytes(request("{a}"), b"body");
        let text = |tag: &EntityTag| tag.header_value().to_str().expect("text").to_owned();
        for tag in [&by_reads, &by_bytes] {
            assert_eq!(named(&text(tag)), std::slice::from_ref(tag));
        }
        let both = named(&format!("W/{}, {}", text(&by_reads), text(&by_bytes)));
        assert_eq!(both, [by_reads.clone(), by_bytes]);
        assert_eq!(tags.reads(request("{a}"), &both[0]), Some(reads()));
        assert_eq!(tags.reads(request("{a}"), &both[1]), None);
    }

    #[test]
    fn a_tag_is_read_for_its_request_by_its_process_alone() {
        let (tags, other_process) = (tags(), tags());
        let tag = tags.of_reads(request("{a}"), &reads());
        assert_eq!(tags.reads(request("{b}"), &tag), None);
        assert_eq!(other_process.reads(request("{a}"), &tag), None);
        let of_bytes = |tags: &EntityTags| tags.of_bytes(request("{a}"), b"body");
        assert_eq!(of_bytes(&tags), of_bytes(&other_process));
        assert_ne!(of_bytes(&tags), tags.of_bytes(request("{b}"), b"body"));
        assert_ne!(of_bytes(&tags), of_bytes(&EntityTags::new(Sealer::of([&[8; 32][..]]))));
    }

    #[test]
    fn a_tag_that_was_made_up_says_nothing() {
        let tags = tags();
        let forged = URL_SAFE_NO_PAD.encode([&[0; NUMBER_BYTES][..], &[0; MARK_BYTES]].concat());
        for value in ["\"\"", "\"AAAA\"", "\"@\"", "\"foreign\"", &format!("\"{forged}\"")] {
            for tag in named(value) {
                assert_eq!(tags.reads(request("{a}"), &tag), None, "{value}");
            }
        }
        for value in ["*", "abc", ",,,", &format!("\"{}\"", "A".repeat(4000))] {
            assert_eq!(named(value), [], "{value}");
        }
    }

    #[test]
    fn a_tag_shows_no_number_of_writes() {
        let tag = tags()
            .of_reads(request("{a}"), &ReadDependencies { write: 0x0102_0304_0506_0708, marks: vec![] });
        let bytes = URL_SAFE_NO_PAD.decode(tag.0).expect("base64");
        assert!(!bytes.windows(4).any(|window| window == [5, 6, 7, 8]));
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
            Fingerprint::of(
                &plain,
                None,
                Representation { media_type: ResponseType::GraphqlResponse, ..JSON },
            ),
            Fingerprint::of(&plain, None, Representation { coding: Coding::Gzip, ..JSON }),
        ];
        for (place, one) in all.iter().enumerate() {
            assert_eq!(all.iter().position(|other| other == one), Some(place));
        }
    }
}
