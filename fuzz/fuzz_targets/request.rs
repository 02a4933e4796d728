//! The body of a POST and the query of a GET are read or refused, and a batch has no more requests than it may.
#![no_main]

use http::Uri;
use libfuzzer_sys::fuzz_target;
use onehop_graphql_server::graphql_request::{Asked, BodyLimits};

const BATCH_MAX: usize = 4;

fuzz_target!(|bytes: &[u8]| {
    let limits = BodyLimits { batch_max: BATCH_MAX, ..BodyLimits::default() };
    match limits.parse(bytes) {
        Ok(Asked::Batch(requests)) => assert!((1..=BATCH_MAX).contains(&requests.len())),
        Ok(Asked::One(_)) => {}
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(uri) = format!("/graphql?{text}").parse::<Uri>()
    {
        assert!(!matches!(limits.parse_uri(&uri), Ok(Asked::Batch(_))));
    }
});
