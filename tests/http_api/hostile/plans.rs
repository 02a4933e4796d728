//! The memory of compiled plans: documents with many variants, as many as one client may send.

use serde_json::json;

use crate::hostile::endpoint::{answer, endpoint, post};
use crate::support::blog::post_node;
use onehop_testing::allocations::live_bytes;

/// The limit of the cache of documents, with plans and its own bookkeeping.
const BYTES_MAX: isize = 24 * 1024 * 1024;

/// Documents of which each would take more than a MiB with a plan for each of its variants.
const DOCUMENTS: usize = 60;

/// A document with 13 posts of some 60 fields each, which differs from others in a name.
fn document(number: usize) -> String {
    let conditions = ["@skip(if: $a)", "@skip(if: $b)", "@skip(if: $c)", "@skip(if: $d)"];
    let posts = (0..13).map(|post| {
        let condition = conditions.get(post).copied().unwrap_or_default();
        format!("p{post}: post(id: $i) {condition} {{ ...F }} ")
    });
    let comment = "id content creationDate author { id username }";
    let like = "id creationDate user { id username }";
    let page = "pageInfo { hasNextPage hasPreviousPage startCursor endCursor }";
    let fields = format!(
        "id title summary content creationDate commentCount likeCount version author {{ id username __typename }} \
         comments(first: 1) {{ {page} nodes {{ {comment} }} edges {{ cursor node {{ {comment} __typename }} }} }} \
         likes(first: 1) {{ {page} nodes {{ {like} }} edges {{ cursor node {{ {like} __typename }} }} }}"
    );
    let posts: String = posts.collect();
    format!(
        "query Q{number}($i: ID!, $a: Boolean!, $b: Boolean!, $c: Boolean!, $d: Boolean!) {{ {posts} }} \
         fragment F on Post {{ {fields} }}"
    )
}

#[tokio::test]
async fn plans_of_many_documents_stay_within_the_cache() {
    let endpoint = endpoint().await;
    let missing = post_node(1);
    let before = live_bytes();
    for number in 0..DOCUMENTS {
        let query = document(number);
        for variant in 0..16_u32 {
            let is_set = |bit: u32| variant >> bit & 1 == 1;
            let variables =
                json!({ "i": missing, "a": is_set(0), "b": is_set(1), "c": is_set(2), "d": is_set(3) });
            let request = post(json!({ "query": query, "variables": variables }).to_string());
            let answer = answer(endpoint.handle(request).await).await;
            assert!(answer.status == 200 && answer.body["data"].is_object(), "{:?}", answer.body);
        }
    }
    let grown = live_bytes() - before;
    assert!(grown < BYTES_MAX, "{grown}");
}
