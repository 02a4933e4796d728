//! Edits of comments: versions, dates of changes, and conflicts.

use std::time::Duration;

use serde_json::{Value, json};

use crate::api::caller::Caller;
use crate::api::server::Server;

const UPDATE: &str = "mutation($input: UpdateCommentInput!) {
    updateComment(input: $input) { comment { id content version creationDate updateDate author { username } } } }";

async fn edit(author: &Caller<'_>, input: Value) -> Value {
    author.data(UPDATE, json!({ "input": input })).await["updateComment"]["comment"].take()
}

/// The comments of a post in each data model.
async fn listed(server: &Server, post: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for model in ["V1", "V2", "V3"] {
        let query = "query($id: ID!, $model: DataModel!) { post(id: $id, model: $model) { commentCount
            comments { nodes { id content version creationDate updateDate author { username } } } } }";
        let data = server.anonymous().data(query, json!({ "id": post, "model": model })).await;
        assert_eq!(data["post"]["commentCount"], 2, "{model}");
        found.push(data["post"]["comments"]["nodes"].clone());
    }
    found
}

#[tokio::test]
async fn an_edited_comment_keeps_its_place_and_says_when() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    let first = bob.comment(&post, "Indeed.").await;
    let second = ada.comment(&post, "Thank you.").await;
    for nodes in listed(&server, &post).await {
        assert_eq!((&nodes[0]["version"], &nodes[0]["updateDate"]), (&json!(1), &Value::Null));
    }
    server.clock.advance(Duration::from_secs(5));
    let changed = edit(&bob, json!({ "commentId": first, "content": "In deed.", "ifVersion": 1 })).await;
    assert_eq!((&changed["content"], &changed["version"]), (&json!("In deed."), &json!(2)));
    assert!(changed["updateDate"].as_str() > changed["creationDate"].as_str(), "{changed}");
    server.settle().await;
    for nodes in listed(&server, &post).await {
        assert_eq!(nodes[0], changed);
        assert_eq!(nodes[1]["id"], second.as_str());
    }
    assert!(server.verify().await.is_clean());
}

#[tokio::test]
async fn an_edit_of_a_comment_says_which_version_it_is_of() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let comment = ada.comment(&ada.post("Engines").await, "One").await;
    edit(&ada, json!({ "commentId": comment, "content": "Two" })).await;
    let late = json!({ "commentId": comment, "content": "Three", "ifVersion": 1 });
    let answer = ada.ask(UPDATE, json!({ "input": late })).await;
    let refused = answer.refused();
    assert_eq!(refused.of(), ("CONFLICT", Some("ifVersion")));
    assert!(refused.message.contains("comment has been changed since: its version is 2"), "{refused:?}");
    assert_eq!(answer.body["errors"][0]["extensions"]["currentVersion"], 2);
    let same = edit(&ada, json!({ "commentId": comment, "content": "Two", "ifVersion": 2 })).await;
    assert_eq!(same["version"], 2, "the same text is no change");
}

#[tokio::test]
async fn an_edit_of_a_comment_names_all_invalid_fields() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let comment = ada.comment(&post, "One").await;
    let too_long = json!({ "commentId": comment, "content": "x".repeat(10_001) });
    let refused = ada.refused_mutation("updateComment", too_long).await;
    assert_eq!(refused.of(), ("BAD_USER_INPUT", Some("content")));
    assert!(refused.message.contains("must have 1 to 10000 characters; this one has 10001"), "{refused:?}");
    let both = json!({ "commentId": post, "content": " " });
    let answer = ada.ask(UPDATE, json!({ "input": both })).await;
    let fields = answer.body["errors"][0]["extensions"]["fields"].as_array().unwrap().clone();
    let fields: Vec<_> = fields.iter().map(|invalid| invalid["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["commentId", "content"]);
}

#[tokio::test]
async fn an_edit_brings_no_deleted_comment_back() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let comment = ada.comment(&post, "One").await;
    ada.mutate("deleteComment", json!({ "commentId": comment })).await;
    let refused =
        ada.refused_mutation("updateComment", json!({ "commentId": comment, "content": "Two" })).await;
    assert_eq!(refused.of(), ("NOT_FOUND", Some("commentId")));
    assert_eq!(ada.counts(&post).await, [0, 0]);
}

#[tokio::test]
async fn a_rename_and_an_edit_of_a_comment_keep_each_other() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let comment = ada.comment(&post, "One").await;
    ada.mutate("updateUser", json!({ "username": "lovelace" })).await;
    server.settle().await;
    let edited = edit(&ada, json!({ "commentId": comment, "content": "Two", "ifVersion": 1 })).await;
    assert_eq!(edited["author"]["username"], "lovelace");
    ada.mutate("updateUser", json!({ "username": "countess" })).await;
    server.settle().await;
    let query =
        "query($id: ID!) { node(id: $id) { ... on Comment { content version author { username } } } }";
    let data = ada.data(query, json!({ "id": comment })).await;
    let expected = json!({ "content": "Two", "version": 2, "author": { "username": "countess" } });
    assert_eq!(data["node"], expected);
}
