//! Entity tags over the embedded store: they follow the read models, and an answer that is still the same is
//! told without a read.

use reqwest::StatusCode;
use reqwest::header::{ETAG, IF_NONE_MATCH};
use serde_json::json;

use crate::api::server::Server;

struct Kept {
    query: String,
    tag: String,
}

async fn get(server: &Server, query: &str, tag: Option<&str>) -> reqwest::Response {
    let url = reqwest::Url::parse_with_params(&server.url("/graphql"), [("query", query)]).unwrap();
    let mut request = server.http.get(url);
    if let Some(tag) = tag {
        request = request.header(IF_NONE_MATCH, tag);
    }
    request.send().await.unwrap()
}

async fn keep(server: &Server, query: String) -> Kept {
    let response = get(server, &query, None).await;
    assert_eq!(response.status(), StatusCode::OK);
    let tag = response.headers()[ETAG].to_str().unwrap().to_owned();
    Kept { query, tag }
}

/// Whether the answer is told to be the same; otherwise its text.
async fn again(server: &Server, kept: &Kept) -> Option<String> {
    let response = get(server, &kept.query, Some(&kept.tag)).await;
    match response.status() {
        StatusCode::NOT_MODIFIED => None,
        status => {
            assert_eq!(status, StatusCode::OK);
            assert_ne!(response.headers()[ETAG], kept.tag.as_str());
            Some(response.text().await.unwrap())
        }
    }
}

#[tokio::test]
async fn a_rename_changes_only_entity_tags_with_the_name() {
    let server = Server::start().await;
    if server.app.store.write_marks().is_none() {
        return;
    }
    let (author, other) = (server.sign_up("before").await, server.sign_up("other").await);
    let (post, others_post) = (author.post("theirs").await, other.post("another").await);
    author.comment(&others_post, "a comment").await;
    author.like(&others_post).await;
    server.settle().await;
    let (name, summary) = ("author { username }", "nodes { title author { username } }");
    let affected = [
        format!("{{ user(id: {:?}) {{ username }} }}", author.id),
        "{ userByUsername(username: \"after\") { username } }".to_owned(),
        format!("{{ post(id: {post:?}) {{ title {name} }} }}"),
        format!("{{ user(id: {:?}) {{ posts {{ {summary} }} }} }}", author.id),
        format!("{{ post(id: {others_post:?}) {{ comments {{ nodes {{ content {name} }} }} }} }}"),
        format!("{{ post(id: {others_post:?}) {{ likes {{ nodes {{ user {{ username }} }} }} }} }}"),
        format!("{{ feed {{ {summary} }} }}"),
        format!("{{ feed(model: V1) {{ {summary} }} }}"),
        format!("{{ feed(model: V2) {{ {summary} }} }}"),
        format!("{{ node(id: {post:?}) {{ ... on Post {{ {name} }} }} }}"),
    ];
    let unaffected = [
        format!("{{ user(id: {:?}) {{ username }} }}", other.id),
        format!("{{ user(id: {:?}) {{ posts {{ {summary} }} }} }}", other.id),
        "{ userByUsername(username: \"other\") { username } }".to_owned(),
    ];
    let mut kept = Vec::new();
    for query in affected.into_iter().chain(unaffected) {
        kept.push(keep(&server, query).await);
    }
    for kept in &kept {
        assert_eq!(again(&server, kept).await, None, "{}", kept.query);
    }
    author.mutate("updateUser", serde_json::json!({ "username": "after" })).await;
    server.settle().await;
    let (affected, unaffected) = kept.split_at(10);
    for kept in affected {
        let answer = again(&server, kept).await.unwrap_or_else(|| panic!("the same: {}", kept.query));
        assert!(answer.contains("after") && !answer.contains("before"), "{}: {answer}", kept.query);
    }
    for kept in unaffected {
        assert_eq!(again(&server, kept).await, None, "{}", kept.query);
    }
}

#[tokio::test]
async fn what_is_deleted_changes_its_tag() {
    let server = Server::start().await;
    let author = server.sign_up("author").await;
    let post = author.post("short-lived").await;
    server.settle().await;
    let kept = [
        keep(&server, format!("{{ post(id: {post:?}) {{ title }} }}")).await,
        keep(&server, format!("{{ user(id: {:?}) {{ posts {{ nodes {{ title }} }} }} }}", author.id)).await,
        keep(&server, "{ feed { nodes { title } } }".to_owned()).await,
    ];
    author.mutate("deletePost", serde_json::json!({ "postId": post })).await;
    server.settle().await;
    for kept in &kept {
        let answer = again(&server, kept).await.unwrap_or_else(|| panic!("the same: {}", kept.query));
        assert!(!answer.contains("short-lived"), "{}: {answer}", kept.query);
    }
}

#[tokio::test]
async fn operations_data_is_never_cached() {
    let server = Server::start().await;
    let request = server.http.post(server.url("/operations/graphql"));
    let answer = request.json(&json!({ "query": "{ projections { name } }" })).send().await.unwrap();
    assert_eq!(answer.headers()["cache-control"], "no-store");
    assert!(!answer.headers().contains_key("etag"), "{answer:?}");
}
