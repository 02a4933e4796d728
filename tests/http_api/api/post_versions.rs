//! Optimistic concurrency of edits: versions, dates of changes, and conflicts.

use serde_json::{Value, json};

use crate::api::caller::Caller;
use crate::api::server::Server;

const UPDATE: &str = "mutation($input: UpdatePostInput!) {
    updatePost(input: $input) { post { title content version updateDate } } }";

/// Version and date of a post in the answers of all data models, alone and in lists.
async fn versions(server: &Server, author: &str, post: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for model in ["V1", "V2", "V3"] {
        let query = "query($post: ID!, $author: ID!, $model: DataModel!) {
            post(id: $post, model: $model) { version updateDate }
            feed(first: 1, model: $model) { nodes { version updateDate } }
            user(id: $author, model: $model) { posts(first: 1) { nodes { version updateDate } } } }";
        let variables = json!({ "post": post, "author": author, "model": model });
        let data = server.anonymous().data(query, variables).await;
        found.push(data["post"].clone());
        found.push(data["feed"]["nodes"][0].clone());
        found.push(data["user"]["posts"]["nodes"][0].clone());
    }
    found
}

async fn edit(author: &Caller<'_>, input: Value) -> Value {
    author.data(UPDATE, json!({ "input": input })).await["updatePost"]["post"].take()
}

#[tokio::test]
async fn a_post_has_the_version_and_the_date_of_its_last_change() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let post = ada.post("Engines").await;
    server.settle().await;
    let untouched = json!({ "version": 1, "updateDate": null });
    assert!(versions(&server, &ada.id, &post).await.iter().all(|found| *found == untouched));
    bob.like(&post).await;
    bob.comment(&post, "Indeed.").await;
    ada.mutate("updateUser", json!({ "username": "lovelace" })).await;
    server.settle().await;
    let after = versions(&server, &ada.id, &post).await;
    assert!(
        after.iter().all(|found| *found == untouched),
        "neither likes, comments nor names count: {after:?}"
    );

    let changed = edit(&ada, json!({ "postId": post, "title": "Looms" })).await;
    assert_eq!(changed["version"], 2);
    assert!(changed["updateDate"].is_string(), "{changed}");
    server.settle().await;
    let expected = json!({ "version": 2, "updateDate": changed["updateDate"] });
    let after = versions(&server, &ada.id, &post).await;
    assert!(after.iter().all(|found| *found == expected), "{after:?}");
    let same = edit(&ada, json!({ "postId": post, "title": "Looms" })).await;
    assert_eq!(same, changed, "an edit that changes nothing is none");
    assert!(server.verify().await.is_clean());
}

#[tokio::test]
async fn an_edit_of_an_older_version_is_a_conflict() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let first = json!({ "postId": post, "title": "Looms", "ifVersion": 1 });
    assert_eq!(edit(&ada, first.clone()).await["version"], 2);
    for if_version in [1, 0, 3, -1] {
        let input = json!({ "postId": post, "content": "Lost.", "ifVersion": if_version });
        let answer = ada.ask(UPDATE, json!({ "input": input })).await;
        assert_eq!(answer.refused().of(), ("CONFLICT", Some("ifVersion")));
        assert_eq!(answer.body["errors"][0]["extensions"]["currentVersion"], 2);
    }
    let second = edit(&ada, json!({ "postId": post, "content": "Kept.", "ifVersion": 2 })).await;
    assert_eq!(
        (&second["title"], &second["content"], &second["version"]),
        (&json!("Looms"), &json!("Kept."), &json!(3))
    );
    assert_eq!(edit(&ada, json!({ "postId": post, "title": "Unconditional" })).await["version"], 4);
}
