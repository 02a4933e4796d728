//! Repeats of a mutation with the same `idempotencyKey`.

use onehop::blog::containers::USERS;
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};

use crate::api::caller::id_of;
use crate::api::server::{PASSWORD, Server};

fn comment_input(post: &str, content: &str, key: &str) -> Value {
    json!({ "postId": post, "content": content, "idempotencyKey": key })
}

#[tokio::test]
async fn a_repeated_comment_is_the_first_one_and_counts_once() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let first = ada.mutate("createComment", comment_input(&post, "indeed", "k1")).await;
    for _ in 0..3 {
        let again = ada.mutate("createComment", comment_input(&post, "indeed", "k1")).await;
        assert_eq!(again, first);
        server.settle().await;
    }
    assert_eq!(ada.counts(&post).await, [1, 0]);
    let other = ada.mutate("createComment", comment_input(&post, "indeed", "k2")).await;
    assert_ne!(other["comment"]["id"], first["comment"]["id"]);
    assert_eq!(ada.counts(&post).await, [2, 0]);
}

#[tokio::test]
async fn equal_comments_at_once_are_one() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let payloads =
        join_all((0..8).map(|_| ada.mutate("createComment", comment_input(&post, "once", "k")))).await;
    assert!(payloads.iter().all(|payload| payload["comment"] == payloads[0]["comment"]), "{payloads:?}");
    assert_eq!(ada.counts(&post).await, [1, 0]);
}

#[tokio::test]
async fn a_repeated_post_is_the_first_one() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let input = json!({ "title": "Engines", "content": "All about engines.", "idempotencyKey": "k" });
    let posts = join_all((0..6).map(|_| ada.mutate("createPost", input.clone()))).await;
    assert!(posts.iter().all(|post| post["post"]["id"] == posts[0]["post"]["id"]));
    server.settle().await;
    let data = ada.data("{ feed { nodes { id } } }", json!({})).await;
    assert_eq!(data["feed"]["nodes"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_repeated_sign_up_with_the_password_gets_the_first_result() {
    let server = Server::start().await;
    let input =
        |password: &str, key: &str| json!({ "username": "ada", "password": password, "idempotencyKey": key });
    let first = server.anonymous().mutate("createUser", input(PASSWORD, "k")).await;
    let again = server.anonymous().mutate("createUser", input(PASSWORD, "k")).await;
    assert_eq!(again["user"], first["user"]);
    for (password, key, field) in
        [("another password", "k", "idempotencyKey"), (PASSWORD, "other", "username")]
    {
        let refused = server.anonymous().refused_mutation("createUser", input(password, key)).await;
        assert_eq!(refused.of(), ("CONFLICT", Some(field)));
    }
}

#[tokio::test]
async fn equal_sign_ups_at_once_are_one() {
    let server = Server::start().await;
    let input = json!({ "username": "ada", "password": PASSWORD, "idempotencyKey": "k" });
    let anonymous = server.anonymous();
    let payloads = join_all((0..6).map(|_| anonymous.mutate("createUser", input.clone()))).await;
    assert!(payloads.iter().all(|payload| payload["user"] == payloads[0]["user"]), "{payloads:?}");
    server.settle().await;
    let report = server.verify().await;
    assert_eq!((report.items_of(USERS, "user"), report.drifts), (1, vec![]));
}

#[tokio::test]
async fn the_same_key_with_other_content_is_a_conflict() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let (post, other) = (ada.post("Engines").await, ada.post("Looms").await);
    ada.mutate("createComment", comment_input(&post, "indeed", "k")).await;
    for input in [comment_input(&post, "not at all", "k"), comment_input(&other, "indeed", "k")] {
        let refused = ada.refused_mutation("createComment", input).await;
        assert_eq!(refused.of(), ("CONFLICT", Some("idempotencyKey")));
    }
    let input = |title: &str| json!({ "title": title, "content": "c", "idempotencyKey": "k" });
    ada.mutate("createPost", input("a key is one mutation's own")).await;
    let refused = ada.refused_mutation("createPost", input("another title")).await;
    assert_eq!(refused.of(), ("CONFLICT", Some("idempotencyKey")));
    assert_eq!(ada.counts(&post).await, [1, 0]);
}

#[tokio::test]
async fn keys_of_different_users_have_nothing_to_do_with_each_other() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    let first = ada.mutate("createComment", comment_input(&post, "indeed", "k")).await;
    let second = bob.mutate("createComment", comment_input(&post, "indeed", "k")).await;
    assert_ne!(id_of(&first["comment"]), id_of(&second["comment"]));
    assert_eq!(second["comment"]["author"]["username"], "bob");
    bob.mutate("createComment", comment_input(&post, "also", "k2")).await;
    assert_eq!(ada.counts(&post).await, [3, 0]);
}

#[tokio::test]
async fn a_repeat_does_not_bring_back_what_was_deleted() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let first = ada.mutate("createComment", comment_input(&post, "indeed", "k")).await;
    ada.mutate("deleteComment", json!({ "commentId": first["comment"]["id"] })).await;
    for settled in [false, true] {
        let refused = ada.refused_mutation("createComment", comment_input(&post, "indeed", "k")).await;
        assert_eq!(refused.code, "NOT_FOUND", "settled: {settled}");
        assert_eq!(ada.counts(&post).await, [0, 0]);
        server.settle().await;
    }
}

#[tokio::test]
async fn a_key_is_forgotten_after_a_day() {
    if crate::support::store::is_cosmos() {
        // The service forgets by its own time.
        return;
    }
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let first = ada.mutate("createComment", comment_input(&post, "indeed", "k")).await;
    server.clock.advance(Duration::from_secs(25 * 3600));
    let input = json!({ "username": "ada", "password": PASSWORD });
    let token = server.anonymous().mutate("signIn", input).await["accessToken"].take();
    let ada = server.bearing(token.as_str().unwrap());
    let second = ada.mutate("createComment", comment_input(&post, "indeed", "k")).await;
    assert_ne!(second["comment"]["id"], first["comment"]["id"]);
}
