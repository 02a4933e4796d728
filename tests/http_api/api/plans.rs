//! Compiled plans over HTTP: the first answer to a document is the general executor's, the second one a
//! plan's.

use reqwest::header::{ACCEPT, DATE, HeaderMap};
use serde_json::{Value, json};

use crate::api::server::Server;

/// The parts of an answer that do not depend on the time.
async fn answer(server: &Server, body: &Value, accept: &str) -> (u16, HeaderMap, String) {
    let request = server.http.post(server.url("/graphql")).header(ACCEPT, accept).json(body);
    let response = request.send().await.unwrap();
    let (status, mut headers) = (response.status().as_u16(), response.headers().clone());
    headers.remove(DATE);
    headers.remove("ratelimit");
    headers.remove("x-request-id");
    (status, headers, response.text().await.unwrap())
}

#[tokio::test]
async fn a_plan_gives_the_whole_response_of_the_executor() {
    let server = Server::start().await;
    let (author, other) = (server.sign_up("author").await, server.sign_up("other").await);
    let post = author.post("A \"quoted\" title").await;
    other.comment(&post, "a\ncomment").await;
    other.like(&post).await;
    server.settle().await;
    let user = "id username posts(first: 1) { nodes { id title summary updateDate } pageInfo { endCursor } }";
    let lists =
        "comments { edges { cursor node { content author { username } } } } likes { nodes { user { id } } }";
    for (accept, operations) in [("application/json", true), ("application/graphql-response+json", false)] {
        for (query, id) in [
            (format!("query A($id: ID!) {{ __typename user(id: $id) {{ {user} }} }}"), &author.id),
            (format!("query B($id: ID!) {{ post(id: $id) {{ content version {lists} }} }}"), &post),
            (
                "query C($id: ID!) { feed { nodes { viewerHasLiked } } node(id: $id) { id } }".to_owned(),
                &post,
            ),
            ("query D($id: ID!) { post(id: $id) { id } user(id: $id) { id } }".to_owned(), &post),
        ] {
            let body = json!({
                "query": format!("{query} # {accept}"),
                "variables": { "id": id },
                "extensions": { "operations": operations },
            });
            let first = answer(&server, &body, accept).await;
            assert_eq!(first.0, 200, "{first:?}");
            for _ in 0..2 {
                assert_eq!(answer(&server, &body, accept).await, first, "{query}");
            }
        }
    }
}
