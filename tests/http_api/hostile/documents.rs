//! Hostile documents: each shape as long as the limit of bytes allows, as large as all limits of documents
//! allow together, and one larger.

use onehop_graphql_server::document::DocumentError;
use onehop_graphql_server::document_cache::Documents;
use onehop_graphql_server::document_limits::{DOCUMENT_BYTES_MAX, DocumentLimits};
use serde_json::json;

use crate::hostile::endpoint::{answer, endpoint, post};
use crate::hostile::shapes::{DOCUMENTS, largest};
use onehop_testing::allocations::peak_bytes;

/// The memory limit of answering a document on an empty blog, refused or not.
const BYTES_MAX: usize = 10 * 1024 * 1024;

/// The longest answer to a document that is refused. It may repeat a name as long as a document.
const REFUSAL_BYTES_MAX: usize = 128 * 1024;

#[tokio::test]
async fn no_document_takes_more_than_10_mib_before_it_is_refused() {
    let endpoint = endpoint().await;
    let limits = DocumentLimits::default();
    let mut refused = 0;
    for (name, shape) in DOCUMENTS {
        let by_bytes = largest(DOCUMENT_BYTES_MAX, |n| shape(n).len() <= DOCUMENT_BYTES_MAX);
        let by_all = largest(DOCUMENT_BYTES_MAX, |n| !is_over_limit(&limits, &shape(n)));
        for document in [by_bytes, by_all, by_all + 1].map(shape) {
            let request = post(json!({ "query": document }).to_string());
            let (bytes, response) = peak_bytes(endpoint.handle(request)).await;
            assert!(bytes <= BYTES_MAX, "{name}: {bytes}");
            let answer = answer(response).await;
            if answer.is_refused() {
                refused += 1;
                assert_eq!(answer.status, 400, "{name}: {:?}", answer.body);
                assert!(answer.bytes <= REFUSAL_BYTES_MAX, "{name}: {}", answer.bytes);
            }
        }
    }
    assert!(refused > DOCUMENTS.len() * 2, "{refused}");
}

fn is_over_limit(limits: &DocumentLimits, text: &str) -> bool {
    matches!(Documents::new(*limits).parse(text), Err(DocumentError::OverLimit(_)))
}

#[tokio::test]
async fn fragments_that_double_24_times_are_refused_cheaply() {
    let endpoint = endpoint().await;
    let (name, shape) = DOCUMENTS.iter().find(|(name, _)| name.starts_with("fragments that double")).unwrap();
    let request = post(json!({ "query": shape(24) }).to_string());
    let (bytes, response) = peak_bytes(endpoint.handle(request)).await;
    let answer = answer(response).await;
    assert_eq!(answer.body["errors"][0]["extensions"]["code"], "LIMIT_EXCEEDED", "{name}");
    assert!(bytes < 200_000, "{name}: {bytes}");
}

#[tokio::test]
async fn a_refused_document_names_the_limit_and_its_value() {
    let endpoint = endpoint().await;
    let limits = DocumentLimits::default();
    for (document, limit, max) in [
        (" ".repeat(limits.bytes_max + 1), "document-bytes-max", limits.bytes_max),
        ("a ".repeat(limits.tokens_max + 1), "document-tokens-max", limits.tokens_max),
        (format!("{{viewer{{{}}}}}", "a:id ".repeat(51)), "document-aliases-max", limits.aliases_max),
    ] {
        let request = post(json!({ "query": document }).to_string());
        let answer = answer(endpoint.handle(request).await).await;
        let error = &answer.body["errors"][0];
        let extensions = json!({ "code": "LIMIT_EXCEEDED", "limit": limit, "max": max });
        assert_eq!(error["extensions"], extensions);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(&max.to_string()) && message.contains(limit), "{message}");
    }
}
