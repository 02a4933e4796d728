//! Rights to change: no user edits or deletes another user's items.

use onehop::blog::ids::{CommentId, PostId};
use onehop::graphql::GlobalId;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::api::server::Server;

/// The mutations that need a user, with an input about this post and this comment.
fn mutations(post: &str, comment: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("updatePost", json!({ "postId": post, "title": "Mine" })),
        ("deletePost", json!({ "postId": post })),
        ("deleteComment", json!({ "commentId": comment })),
        ("updateComment", json!({ "commentId": comment, "content": "Mine" })),
        ("createComment", json!({ "postId": post, "content": "c" })),
        ("likePost", json!({ "postId": post })),
        ("unlikePost", json!({ "postId": post })),
    ]
}

#[tokio::test]
async fn users_change_only_their_own_items() {
    let server = Server::start().await;
    let (ada, bob, eve) =
        (server.sign_up("ada").await, server.sign_up("bob").await, server.sign_up("eve").await);
    let post = ada.post("Engines").await;
    let comment = bob.comment(&post, "indeed").await;
    for (mutation, input) in mutations(&post, &comment).into_iter().take(4) {
        let refused = eve.refused_mutation(mutation, input).await;
        assert_eq!(refused.code, "FORBIDDEN", "{mutation}");
    }
    let elsewhere = eve.post("Elsewhere").await;
    eve.comment(&elsewhere, "mine").await;
    let of_another_author = eve.refused_mutation("deleteComment", json!({ "commentId": comment })).await;
    assert_eq!(of_another_author.code, "FORBIDDEN", "an author moderates their own posts alone");
    let query = "query($id: ID!) { post(id: $id) { title commentCount comments { nodes { id } } } }";
    let data = eve.data(query, json!({ "id": post })).await;
    let comments = json!({ "nodes": [{ "id": comment }] });
    assert_eq!(data["post"], json!({ "title": "Engines", "commentCount": 1, "comments": comments }));
}

#[tokio::test]
async fn a_posts_author_deletes_any_comment_below_it() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    let comment = bob.comment(&post, "a poisoned text").await;
    let deleted = ada.mutate("deleteComment", json!({ "commentId": comment })).await;
    assert_eq!(deleted["deletedCommentId"], json!(comment));
    assert_eq!(ada.counts(&post).await, [0, 0]);
    let again = bob.refused_mutation("deleteComment", json!({ "commentId": comment })).await;
    assert_eq!(again.of(), ("NOT_FOUND", Some("commentId")));
}

#[tokio::test]
async fn what_is_missing_is_not_found() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let nothing = Uuid::from_u128(0x0189_c7f4_7a00_7000_8000_0000_0000_0000);
    let post = GlobalId::Post(PostId(nothing)).encode();
    let comment = GlobalId::Comment(PostId(nothing), CommentId(nothing)).encode();
    for (mutation, input) in mutations(&post, &comment) {
        let field = if input.get("commentId").is_some() { "commentId" } else { "postId" };
        let refused = ada.refused_mutation(mutation, input).await;
        assert_eq!(refused.of(), ("NOT_FOUND", Some(field)), "{mutation}");
    }
}

#[tokio::test]
async fn an_id_of_another_kind_in_the_same_post_is_no_comment() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let like = ada.like(&post).await;
    let Ok(GlobalId::Like(post_id, like_id)) = GlobalId::decode(&like) else { panic!("{like}") };
    for id in [like_id.0, post_id.0] {
        let id = GlobalId::Comment(post_id, CommentId(id)).encode();
        let refused = ada.refused_mutation("deleteComment", json!({ "commentId": id })).await;
        assert_eq!(refused.of(), ("NOT_FOUND", Some("commentId")));
        let node = ada.data("query($id: ID!) { node(id: $id) { id } }", json!({ "id": id })).await;
        assert_eq!(node["node"], Value::Null);
    }
    assert_eq!(ada.counts(&post).await, [0, 1]);
}

#[tokio::test]
async fn who_is_not_signed_in_changes_nothing() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let comment = ada.comment(&post, "indeed").await;
    let mut all = mutations(&post, &comment);
    all.push(("createPost", json!({ "title": "t", "content": "c" })));
    all.push(("updateUser", json!({ "username": "mallory" })));
    for (mutation, input) in all {
        let refused = server.anonymous().refused_mutation(mutation, input).await;
        assert_eq!(refused.of(), ("UNAUTHENTICATED", None), "{mutation}");
    }
    assert_eq!(ada.counts(&post).await, [1, 0]);
}

#[tokio::test]
async fn commands_before_a_refused_one_in_a_mutation_stay() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let query = "mutation($id: ID!) {
        first: likePost(input: { postId: $id }) { post { likeCount } }
        second: likePost(input: { postId: $id }) { post { likeCount } }
        third: createComment(input: { postId: $id, content: \"c\" }) { post { commentCount } } }";
    let answer = ada.ask(query, json!({ "id": post })).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body["errors"][0]["path"], json!(["second"]));
    let data = json!({
        "first": { "post": { "likeCount": 1 } },
        "second": null,
        "third": { "post": { "commentCount": 1 } },
    });
    assert_eq!(answer.body["data"], data, "what was written is not hidden");
    assert_eq!(ada.counts(&post).await, [1, 1]);
}

#[tokio::test]
async fn a_command_that_fails_hides_no_other() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let query = "mutation($valid: CreatePostInput!, $empty: CreatePostInput!) {
        a: createPost(input: $valid) { post { title } }
        b: createPost(input: $empty) { post { title } } }";
    let valid = json!({ "title": "Engines", "content": "All about engines." });
    let empty = json!({ "title": "", "content": "All about engines." });
    let answer = ada.ask(query, json!({ "valid": valid, "empty": empty })).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body["data"], json!({ "a": { "post": { "title": "Engines" } }, "b": null }));
    assert_eq!(answer.refused().of(), ("BAD_USER_INPUT", Some("title")));
    assert_eq!(answer.body["errors"][0]["path"], json!(["b"]));
}

#[tokio::test]
async fn a_field_of_a_query_that_fails_hides_no_other() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let query = "{ viewer { username } feed(first: 0) { nodes { id } } other: feed { nodes { id } }
        comparison(request: Q2) { model } }";
    let answer = ada.ask(query, json!({})).await;
    let data = &answer.body["data"];
    assert_eq!(data["viewer"], json!({ "username": "ada" }));
    assert_eq!((&data["feed"], &data["comparison"]), (&Value::Null, &Value::Null));
    assert_eq!(data["other"], json!({ "nodes": [] }));
    assert_eq!(answer.body["errors"].as_array().unwrap().len(), 2);
}
