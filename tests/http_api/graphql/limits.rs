//! Limits of requests.

use onehop_graphql_server::service::COMPLEXITY_MAX;
use serde_json::json;

use crate::support::blog::{empty, post_node, user_node};

/// The first request of GraphiQL.
const INTROSPECTION: &str = include_str!("introspection.graphql");

#[tokio::test]
async fn introspection_is_within_the_limits() {
    let blog = empty().await;
    let schema = blog.data(INTROSPECTION).await;
    assert_eq!(schema["__schema"]["queryType"]["name"], "Query");
    let complexity = blog.complexity(INTROSPECTION, json!({})).unwrap();
    assert!(complexity < COMPLEXITY_MAX / 2, "{complexity}");
}

#[tokio::test]
async fn excess_complexity_is_refused_before_any_read() {
    let blog = empty().await;
    let interfaces = "{ possibleTypes { interfaces ".repeat(7);
    for document in [
        "{ feed(first: 100) { nodes { comments(first: 100) { nodes { id } } } } }".to_owned(),
        format!("{{ __type(name: \"Node\") {interfaces} {{ name }} {} }}", "}}".repeat(7)),
    ] {
        let error = blog.complexity(&document, json!({})).unwrap_err();
        let error = serde_json::to_value(error).unwrap();
        let expected = json!({ "code": "LIMIT_EXCEEDED", "limit": "complexity-max", "max": COMPLEXITY_MAX });
        assert_eq!(error["extensions"], expected, "{document}");
        assert!(blog.store.take_touched().is_empty());
    }
}

#[tokio::test]
async fn each_id_of_a_variable_counts() {
    let blog = empty().await;
    let query = "query($ids: [ID!]!) { nodes(ids: $ids) { id ... on User { username } } }";
    let of = |count: usize| blog.complexity(query, json!({ "ids": vec![user_node(0); count] })).unwrap();
    assert!(of(20) > 5 * of(2), "{} {}", of(20), of(2));
}

#[tokio::test]
async fn complexity_multiplies_list_fields_by_first() {
    let blog = empty().await;
    let query =
        "query($first: Int!) { feed(first: 100) { nodes { comments(first: $first) { nodes { id } } } } }";
    for (first, is_refused) in [(20, false), (COMPLEXITY_MAX / 100, true)] {
        let complexity = blog.complexity(query, json!({ "first": first }));
        assert_eq!(complexity.is_err(), is_refused, "{first}: {complexity:?}");
    }
}

#[tokio::test]
async fn the_largest_pages_of_the_article_are_within_the_limits() {
    let blog = empty().await;
    let post =
        "id title content summary creationDate commentCount likeCount viewerHasLiked author { id username }";
    let lists = "comments(first: 100) { nodes { id content author { username } } } likes(first: 100) { nodes { id } }";
    for document in [
        format!("{{ feed(first: 100) {{ edges {{ cursor node {{ {post} }} }} nodes {{ {post} }} }} }}"),
        format!("{{ user(id: \"{}\") {{ posts(first: 100) {{ nodes {{ {post} }} }} }} }}", user_node(0)),
        format!("{{ post(id: \"{}\") {{ {post} {lists} }} }}", post_node(0)),
    ] {
        blog.complexity(&document, json!({})).unwrap();
        blog.data(&document).await;
    }
}
