//! How much a request may ask.

use async_graphql::Request;
use onehop::graphql::limits::{ALIASES_MAX, COMPLEXITY_MAX, DEPTH_MAX};
use serde_json::json;

use crate::blog::{empty, post_node, user_node};
use crate::code_and_field;

/// What GraphiQL sends first.
const INTROSPECTION: &str = include_str!("introspection.graphql");

#[tokio::test]
async fn introspection_is_within_the_limits() {
    let blog = empty().await;
    let schema = blog.data(INTROSPECTION).await;
    assert_eq!(schema["__schema"]["queryType"]["name"], "Query");
}

#[tokio::test]
async fn a_document_beyond_a_limit_is_refused_before_it_reads_anything() {
    let blog = empty().await;
    let deep = "author { posts { nodes { ".repeat(DEPTH_MAX / 3);
    let aliases: String = (0..=ALIASES_MAX).map(|number| format!("a{number}: title ")).collect();
    for document in [
        format!("{{ feed {{ nodes {{ {deep} id {} }} }} }}", "}}}".repeat(DEPTH_MAX / 3)),
        format!("{{ feed {{ nodes {{ {aliases} }} }} }}"),
        format!("{{ {} }}", "viewer { id } ".repeat(21)),
        format!("mutation {{ {} }}", "likePost(input: { postId: \"x\" }) { post { id } } ".repeat(11)),
        "{ feed(first: 100) { nodes { comments(first: 100) { nodes { id } } } } }".to_owned(),
    ] {
        let response = blog.query(&document).await;
        assert_eq!(code_and_field(&response), json!(["LIMIT_EXCEEDED", null]), "{document}");
        assert!(blog.store.take_touched().is_empty());
    }
}

#[tokio::test]
async fn complexity_counts_a_lists_fields_as_often_as_first_says_also_by_variable() {
    let blog = empty().await;
    let query =
        "query($first: Int!) { feed(first: 100) { nodes { comments(first: $first) { nodes { id } } } } }";
    for (first, is_refused) in [(20, false), (COMPLEXITY_MAX / 100, true)] {
        let variables = async_graphql::Variables::from_json(json!({ "first": first }));
        let response = blog.executor.execute_as(Request::new(query).variables(variables), None).await;
        assert_eq!(!response.errors.is_empty(), is_refused, "{first}: {:?}", response.errors);
    }
}

#[tokio::test]
async fn the_largest_pages_of_the_article_are_within_the_limits() {
    let blog = empty().await;
    let post =
        "id title content summary creationDate commentCount likeCount viewerHasLiked author { id username }";
    blog.data(&format!(
        "{{ feed(first: 100) {{ edges {{ cursor node {{ {post} }} }} nodes {{ {post} }} }} }}"
    ))
    .await;
    let user = user_node(0);
    blog.data(&format!("{{ user(id: \"{user}\") {{ posts(first: 100) {{ nodes {{ {post} }} }} }} }}")).await;
    let lists = "comments(first: 100) { nodes { id content author { username } } } likes(first: 100) { nodes { id } }";
    blog.data(&format!("{{ post(id: \"{}\") {{ {post} {lists} }} }}", post_node(0))).await;
}
