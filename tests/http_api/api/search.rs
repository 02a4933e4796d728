//! The search over titles of posts and names of products.

use serde_json::json;

use crate::api::caller::Caller;
use crate::api::server::Server;

const SEARCH: &str = "query($query: String!, $first: Int! = 20, $after: String) {
    searchPosts(query: $query, first: $first, after: $after) {
        nodes { title likeCount author { username } }
        pageInfo { hasNextPage endCursor }
    }
}";

async fn titles(caller: &Caller<'_>, query: &str) -> Vec<String> {
    let found = caller.data(SEARCH, json!({ "query": query })).await;
    let nodes = found["searchPosts"]["nodes"].as_array().unwrap();
    nodes.iter().map(|post| post["title"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn posts_are_found_by_the_words_of_their_titles() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    for title in ["Oak tables", "An old oak", "Walnut", "Soaked oaks"] {
        ada.post(title).await;
    }
    // Newest first, and a word may be the beginning of one.
    assert_eq!(titles(&ada, "OAK").await, ["Soaked oaks", "An old oak", "Oak tables"]);
    assert_eq!(titles(&ada, "oak  old").await, ["An old oak"]);
    assert!(titles(&ada, "alnut").await.is_empty());

    let variables = json!({ "query": "oak", "first": 2 });
    let first = ada.data(SEARCH, variables).await["searchPosts"].take();
    assert_eq!(
        (first["nodes"].as_array().unwrap().len(), &first["pageInfo"]["hasNextPage"]),
        (2, &json!(true))
    );
    let after = &first["pageInfo"]["endCursor"];
    let second = ada.data(SEARCH, json!({ "query": "Oak", "after": after })).await["searchPosts"].take();
    assert_eq!(second["nodes"][0]["title"], "Oak tables");
    assert_eq!(second["pageInfo"]["hasNextPage"], false);
    let other = ada.refused(SEARCH, json!({ "query": "walnut", "after": after })).await;
    assert_eq!(other.code, "BAD_USER_INPUT", "a cursor of another search: {}", other.message);
}

#[tokio::test]
async fn a_search_names_what_is_wrong_with_it() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let products =
        "query($query: String!, $first: Int) { searchProducts(query: $query, first: $first) { name } }";
    for (document, field) in [(SEARCH, "searchPosts"), (products, "searchProducts")] {
        for (query, first, argument) in
            [("-", 20, "query"), (&*"a".repeat(101), 20, "query"), ("a", 0, "first"), ("a", 101, "first")]
        {
            let refused = ada.refused(document, json!({ "query": query, "first": first })).await;
            assert_eq!(refused.code, "BAD_USER_INPUT", "{field} {query}: {}", refused.message);
            assert_eq!(refused.field.as_deref(), Some(argument), "{field} {query}: {}", refused.message);
        }
    }
}
