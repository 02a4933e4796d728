//! The memory of parsed documents: the stated size of a document is at least its real size.

use onehop_graphql_server::document::Document;
use onehop_graphql_server::document_limits::{DOCUMENT_BYTES_MAX, DocumentLimits};

use crate::hostile::shapes::{DOCUMENTS, largest};
use onehop_testing::allocations::live_bytes;

#[test]
fn no_parsed_document_takes_more_than_it_weighs() {
    let limits = DocumentLimits::default();
    let mut measured = 0;
    for (name, shape) in DOCUMENTS {
        let parsed = |n| Document::parse(&shape(n), &limits).ok();
        let by_all = largest(DOCUMENT_BYTES_MAX, |n| limits.normalize(&shape(n)).is_ok());
        for size in [1, by_all / 8, by_all / 2, by_all] {
            let before = live_bytes();
            let Some(document) = parsed(size) else { continue };
            let taken = usize::try_from(live_bytes() - before).unwrap_or(0);
            let weighed = document.bytes() + size_of::<Document>();
            assert!(taken <= weighed, "{name} {size}: {taken} of {weighed}, {} tokens", document.tokens);
            measured += 1;
        }
    }
    assert!(measured > 20, "{measured}");
}
