//! The body of a POST and the query of a GET are read or refused.
#![no_main]

use http::Uri;
use libfuzzer_sys::fuzz_target;
use onehop_graphql_server::pipeline::parse::BodyLimits;

fuzz_target!(|bytes: &[u8]| {
    let limits = BodyLimits::default();
    if let Err(refusal) = limits.parse(bytes) {
        assert!(!refusal.to_string().is_empty());
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(uri) = format!("/graphql?{text}").parse::<Uri>()
        && let Err(refusal) = limits.parse_uri(&uri)
    {
        assert!(!refusal.to_string().is_empty());
    }
});
