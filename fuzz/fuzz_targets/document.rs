//! A document is within every limit, or refused. The walk over its text, the parser and the survey of its
//! fragments live through everything.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onehop_graphql_server::document::select_operation;
use onehop_graphql_server::document_cache::Documents;
use onehop_graphql_server::document_limits::DocumentLimits;

fuzz_target!(|text: &str| {
    let documents = Documents::new(DocumentLimits::default());
    match documents.parse(text) {
        Ok(document) => {
            documents.limits().check(&document.size).expect("a document within the limits");
            // Without ignored tokens.
            assert!(document.size.bytes <= text.len());
            if let Err(refusal) = select_operation(&document.definitions, None) {
                assert!(!refusal.to_string().is_empty());
            }
            documents.parse(text).expect("the same again");
        }
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
});
