//! Trusted documents of the real schema: checked before the server starts, and then the only permitted ones.

use std::collections::BTreeMap;

use onehop_graphql_server::trusted_documents::DocumentHash;
use serde_json::{Value, json};

use crate::api::binary::{Serving, run_on};

const FEED: &str = "query Feed($first: Int = 5) { feed(first: $first) { nodes { id title } } }";

fn id_of(text: &str) -> String {
    DocumentHash::of(text).to_string()
}

/// A file of documents in a directory.
fn list(directory: &std::path::Path, documents: Value) -> String {
    let file = directory.join("documents.json");
    std::fs::write(&file, documents.to_string()).unwrap();
    file.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_invalid_trusted_document_is_named_at_startup() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let large = "{ feed(first: 100) { nodes { comments(first: 100) { nodes { id } } } } }";
    let deep = format!("{{ __type(name: \"Post\") {}name{} }}", "{ ofType ".repeat(20), " }".repeat(20));
    for (text, reason) in [
        ("{ feed { nodes { nothing } } }", "nothing"),
        ("{ user { id } }", "id"),
        ("{ feed {", "Syntax error"),
        (large, "complexity-max"),
        (&deep, "document-depth-max"),
    ] {
        let file = list(directory.path(), json!({ id_of(FEED): FEED, id_of(text): text }));
        let (status, printed) = run_on(&data, &["serve", "--trusted-documents", &file]).await;
        assert_eq!(status, 2, "{text}: {printed}");
        for told in ["--trusted-documents", &id_of(text), reason] {
            assert!(printed.contains(told), "{text}: {told}: {printed}");
        }
    }
}

#[tokio::test]
async fn a_list_that_is_none_is_refused_before_anything_is_made() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let wrong = list(directory.path(), json!({ id_of("{ viewer { id } }"): FEED }));
    for (arguments, told) in [
        (&["--trusted-documents", &wrong][..], "is not the hash of its document"),
        (&["--trusted-documents", "/nowhere/documents.json"], "/nowhere/documents.json"),
        (&["--trusted-only"], "--trusted-documents"),
    ] {
        let (status, printed) = run_on(&data, &[&["serve"], arguments].concat()).await;
        assert!(status == 2 && printed.contains(told), "{arguments:?}: {printed}");
        assert!(!data.exists());
    }
}

#[tokio::test]
async fn production_runs_only_the_documents_of_the_pages() {
    let directory = tempfile::tempdir().unwrap();
    let pages: BTreeMap<String, String> =
        serde_json::from_str(include_str!("../../../web/trusted-documents.json")).unwrap();
    let file = list(directory.path(), json!(pages));
    let arguments = ["--production", "--trusted-documents", &file, "--trusted-only"];
    let serving = Serving::start(&directory.path().join("data"), &arguments);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let code = async |body: Value| {
        let request = http.post(format!("{}/graphql", serving.address)).body(body.to_string());
        let answer = request.header("content-type", "application/json").send().await.unwrap();
        answer.json::<Value>().await.unwrap()["errors"][0]["extensions"]["code"].clone()
    };
    for (id, text) in &pages {
        // Requests that are not refused for their document lack an operation's name, a variable or a user.
        for asked in [json!({ "documentId": id }), json!({ "query": text })] {
            let code = code(asked).await;
            assert!(code != "FORBIDDEN" && code != "PERSISTED_QUERY_NOT_FOUND", "{code} {text}");
        }
        assert_eq!(code(json!({ "query": format!("{text} ") })).await, "FORBIDDEN");
    }
    let (status, _) = tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    assert_eq!(status, 0);
}

#[tokio::test]
async fn with_trusted_only_the_playground_cannot_ask_for_the_schema() {
    let directory = tempfile::tempdir().unwrap();
    let file = list(directory.path(), json!({ id_of(FEED): FEED }));
    let arguments = ["--trusted-documents", &file, "--trusted-only"];
    let serving = Serving::start(&directory.path().join("data"), &arguments);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let send = |body: Value| {
        let request = http.post(format!("{}/graphql", serving.address)).body(body.to_string());
        let sent = request.header("content-type", "application/json").send();
        async { sent.await.unwrap().json::<Value>().await.unwrap() }
    };
    let feed = send(json!({ "documentId": id_of(FEED) })).await;
    assert_eq!(feed["data"], json!({ "feed": { "nodes": [] } }), "{feed}");
    let sign_up =
        "mutation { createUser(input: { username: \"ada\", password: \"one and two\" }) { accessToken } }";
    for text in ["{ __schema { queryType { name } } }", "{ viewer { id } }", sign_up] {
        let refused = send(json!({ "query": text })).await;
        assert_eq!(refused["errors"][0]["extensions"]["code"], "FORBIDDEN", "{refused}");
    }
    let (status, _) = tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    assert_eq!(status, 0);
}
