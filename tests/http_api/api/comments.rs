//! C3: comments.

use futures::future::join_all;
use onehop::blog::containers::POSTS;
use serde_json::json;

use crate::api::server::Server;

#[tokio::test]
async fn a_comment_is_counted_with_its_own_write() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    let payload = bob.mutate("createComment", json!({ "postId": post, "content": "Ünïcödé\n🦀" })).await;
    let comment = &payload["comment"];
    assert_eq!(comment["content"], "Ünïcödé\n🦀");
    assert_eq!(comment["author"], json!({ "id": bob.id, "username": "bob" }));
    assert_eq!(comment["post"]["id"], post.as_str());
    assert_eq!(payload["post"]["commentCount"], 1);
    assert_eq!(bob.counts(&post).await, [1, 0]);
}

#[tokio::test]
async fn comments_are_listed_oldest_first() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(ada.comment(&post, &format!("comment {number}")).await);
    }
    for model in ["V1", "V2", "V3"] {
        let query = format!(
            "query($id: ID!) {{ post(id: $id, model: {model}) {{ comments {{ nodes {{ id }} }} }} }}"
        );
        let data = ada.data(&query, json!({ "id": post })).await;
        let nodes = data["post"]["comments"]["nodes"].as_array().unwrap();
        assert!(nodes.iter().map(|node| &node["id"]).eq(&ids), "{model}: {nodes:?}");
    }
}

#[tokio::test]
async fn a_deleted_comment_is_gone_and_counted_no_longer() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    let (first, second) = (bob.comment(&post, "first").await, bob.comment(&post, "second").await);
    let payload = bob.mutate("deleteComment", json!({ "commentId": first })).await;
    assert_eq!(payload["deletedCommentId"], first.as_str());
    assert_eq!(payload["post"]["commentCount"], 1);
    let query = "query($post: ID!, $comment: ID!) {
        node(id: $comment) { id } post(id: $post) { commentCount comments { nodes { id } } } }";
    let data = ada.data(query, json!({ "post": post, "comment": first })).await;
    let expected = json!({ "commentCount": 1, "comments": { "nodes": [{ "id": second }] } });
    assert_eq!(data, json!({ "node": null, "post": expected }));
    let again = bob.refused_mutation("deleteComment", json!({ "commentId": first })).await;
    assert_eq!(again.of(), ("NOT_FOUND", Some("commentId")));
    server.settle().await;
    assert_eq!(server.verify().await.drifts, []);
}

#[tokio::test]
async fn counts_are_exact_when_many_comment_and_delete_at_once() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    let writing = (0..30).map(|number| {
        let (caller, post) = (if number % 2 == 0 { &ada } else { &bob }, &post);
        async move {
            let comment = caller.comment(post, &format!("comment {number}")).await;
            if number % 3 == 0 {
                caller.mutate("deleteComment", json!({ "commentId": comment })).await;
            }
        }
    });
    join_all(writing).await;
    assert_eq!(ada.counts(&post).await, [20, 0]);
    server.settle().await;
    let report = server.verify().await;
    assert_eq!((report.items_of(POSTS, "comment"), report.drifts), (20, vec![]));
    let data = ada.data("{ feed { nodes { commentCount } } }", json!({})).await;
    assert_eq!(data["feed"]["nodes"][0]["commentCount"], 20);
}
