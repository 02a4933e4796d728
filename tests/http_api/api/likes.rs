//! C4: likes.

use futures::future::join_all;
use onehop::blog::containers::POSTS;
use serde_json::{Value, json};

use crate::api::server::Server;

async fn viewer_has_liked(caller: &crate::api::caller::Caller<'_>, post: &str) -> Value {
    let query = "query($id: ID!) { post(id: $id) { viewerHasLiked } }";
    caller.data(query, json!({ "id": post })).await["post"]["viewerHasLiked"].take()
}

#[tokio::test]
async fn a_like_is_counted_with_its_own_write() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    assert_eq!(viewer_has_liked(&bob, &post).await, false);
    let payload = bob.mutate("likePost", json!({ "postId": post })).await;
    assert_eq!(payload["like"]["user"], json!({ "id": bob.id, "username": "bob" }));
    assert_eq!(payload["like"]["post"]["id"], post.as_str());
    assert_eq!(
        [&payload["post"]["likeCount"], &payload["post"]["viewerHasLiked"]],
        [&json!(1), &json!(true)]
    );
    assert_eq!(bob.counts(&post).await, [0, 1]);
    assert_eq!(viewer_has_liked(&bob, &post).await, true);
    assert_eq!(viewer_has_liked(&ada, &post).await, false);
    assert_eq!(viewer_has_liked(&server.anonymous(), &post).await, false);
}

#[tokio::test]
async fn a_second_like_is_a_conflict_and_counts_nothing() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    ada.like(&post).await;
    for settled in [false, true] {
        let refused = ada.refused_mutation("likePost", json!({ "postId": post })).await;
        assert_eq!(refused.of(), ("CONFLICT", Some("postId")), "settled: {settled}");
        assert_eq!(ada.counts(&post).await, [0, 1]);
        server.settle().await;
    }
}

#[tokio::test]
async fn a_like_is_taken_back_once_and_may_be_given_again() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let first = ada.like(&post).await;
    let payload = ada.mutate("unlikePost", json!({ "postId": post })).await;
    assert_eq!(
        [&payload["post"]["likeCount"], &payload["post"]["viewerHasLiked"]],
        [&json!(0), &json!(false)]
    );
    let refused = ada.refused_mutation("unlikePost", json!({ "postId": post })).await;
    assert_eq!(refused.of(), ("NOT_FOUND", Some("postId")));
    assert_eq!(ada.counts(&post).await, [0, 0]);
    assert_eq!(ada.like(&post).await, first, "a like is named by its post and its user");
    assert_eq!(ada.counts(&post).await, [0, 1]);
}

#[tokio::test]
async fn of_many_equal_likes_at_once_one_counts() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let query = "mutation($id: ID!) { likePost(input: { postId: $id }) { post { likeCount } } }";
    let answers = join_all((0..10).map(|_| ada.ask(query, json!({ "id": post })))).await;
    let refused: Vec<_> = answers.iter().filter(|answer| answer.body.get("errors").is_some()).collect();
    assert_eq!(refused.len(), 9);
    assert!(refused.iter().all(|answer| answer.refused().of() == ("CONFLICT", Some("postId"))));
    assert_eq!(ada.counts(&post).await, [0, 1]);
}

#[tokio::test]
async fn counts_are_exact_when_many_like_and_unlike_at_once() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let names: Vec<String> = (0..12).map(|number| format!("reader{number}")).collect();
    let readers = join_all(names.iter().map(|name| server.sign_up(name))).await;
    let liking = readers.iter().enumerate().map(|(number, reader)| {
        let post = &post;
        async move {
            reader.like(post).await;
            if number % 4 == 0 {
                reader.mutate("unlikePost", json!({ "postId": post })).await;
            }
        }
    });
    join_all(liking).await;
    assert_eq!(ada.counts(&post).await, [0, 9]);
    server.settle().await;
    let report = server.verify().await;
    assert_eq!((report.items_of(POSTS, "like"), report.drifts), (9, vec![]));
}
