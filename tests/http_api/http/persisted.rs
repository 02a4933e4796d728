//! Documents that are asked for by their hashes: trusted ones, and documents that clients register.

use std::sync::atomic::Ordering;

use onehop_graphql_server::trusted_documents::{DocumentHash, TrustedDocuments};
use serde_json::{Value, json};

use crate::http::client::{Answer, Exchange, GRAPHQL_RESPONSE, JSON, get, post};
use crate::http::toy::{Options, Toy};
use onehop_testing::websocket::WebSocketClient;

const ITEM: &str = "query($id: ID!) { item(id: $id) }";
const VIEWER: &str = "{ viewer }";
const COUNT: &str = "mutation { count }";
const NUMBERS: &str = "subscription { countsTo(last: 1) }";

fn id_of(text: &str) -> String {
    DocumentHash::of(text).to_string()
}

/// Apollo's extension for a text.
fn apollo(text: &str) -> Value {
    json!({ "persistedQuery": { "version": 1, "sha256Hash": id_of(text).trim_start_matches("sha256:") } })
}

async fn toy(trusted: &[&str], trusted_only: bool) -> Toy {
    let entries: serde_json::Map<String, Value> =
        trusted.iter().map(|text| (id_of(text), json!(text))).collect();
    let trusted = TrustedDocuments::from_json(&Value::Object(entries).to_string()).unwrap();
    Toy::start_with(Options { trusted, trusted_only, ..Options::default() }).await
}

/// Status and code of an answer that was refused.
fn refused(answer: &Answer) -> (u16, String) {
    assert!(!answer.has_data(), "{answer:?}");
    (answer.status, answer.code())
}

async fn sent(toy: &Toy, body: Value) -> Answer {
    post(body).accept(GRAPHQL_RESPONSE).send(toy.address).await
}

#[tokio::test]
async fn a_trusted_document_is_executed_by_its_id() {
    let toy = toy(&[ITEM], false).await;
    let digits = id_of(ITEM).trim_start_matches("sha256:").to_owned();
    for id in [id_of(ITEM), digits] {
        let by_post = json!({ "documentId": id, "variables": { "id": "x" } });
        let by_get: Exchange = get(&[("documentId", &id), ("variables", r#"{"id":"x"}"#)]);
        for answer in [sent(&toy, by_post).await, by_get.send(toy.address).await] {
            assert_eq!((answer.status, &answer.json()["data"]), (200, &json!({ "item": "x" })), "{answer:?}");
        }
    }
}

#[tokio::test]
async fn an_unknown_document_id_is_a_single_error() {
    let toy = toy(&[ITEM], false).await;
    for id in [&*id_of(VIEWER), "x-app:17", "0123456789abcdef0123456789abcdef", "sha256:", "md5:ab"] {
        for (accept, status) in [(GRAPHQL_RESPONSE, 400), (JSON, 200)] {
            let answer = post(json!({ "documentId": id })).accept(accept).send(toy.address).await;
            assert_eq!(refused(&answer), (status, "PERSISTED_QUERY_NOT_FOUND".to_owned()), "{id}");
            assert_eq!(answer.json()["errors"].as_array().unwrap().len(), 1);
        }
    }
}

#[tokio::test]
async fn an_apollo_client_registers_a_persisted_query() {
    let toy = toy(&[], false).await;
    let extensions = apollo(VIEWER);
    let unknown = sent(&toy, json!({ "extensions": extensions })).await;
    assert_eq!(refused(&unknown), (400, "PERSISTED_QUERY_NOT_FOUND".to_owned()));
    assert_eq!(unknown.message(), "PersistedQueryNotFound");
    let registers = sent(&toy, json!({ "query": VIEWER, "extensions": extensions })).await;
    assert_eq!(registers.status, 200);
    for by_hash in [
        sent(&toy, json!({ "extensions": extensions })).await,
        sent(&toy, json!({ "query": "", "extensions": extensions })).await,
        sent(&toy, json!({ "query": null, "documentId": id_of(VIEWER) })).await,
        get(&[("extensions", &extensions.to_string())]).send(toy.address).await,
    ] {
        assert_eq!(
            (by_hash.status, &by_hash.json()["data"]),
            (200, &json!({ "viewer": null })),
            "{by_hash:?}"
        );
    }
}

#[tokio::test]
async fn persisted_queries_are_registered_over_every_transport() {
    let toy = toy(&[], false).await;
    let registers = [("query", VIEWER), ("extensions", &apollo(VIEWER).to_string())];
    assert_eq!(get(&registers).send(toy.address).await.status, 200);
    let mut socket = WebSocketClient::open(toy.address).await;
    socket.request("1", json!({ "extensions": apollo(VIEWER) })).await;
    assert_eq!(socket.hear_of("next", "1").await["data"], json!({ "viewer": null }));
    socket.hear_of("complete", "1").await;

    socket.request("2", json!({ "extensions": apollo(NUMBERS) })).await;
    let errors = socket.hear_of("error", "2").await;
    assert_eq!(errors[0]["extensions"]["code"], "PERSISTED_QUERY_NOT_FOUND");
    socket.request("2", json!({ "query": NUMBERS, "extensions": apollo(NUMBERS) })).await;
    assert_eq!(socket.hear_of("next", "2").await["data"], json!({ "countsTo": 1 }));
    let stream = post(json!({ "extensions": apollo(NUMBERS) })).accept("text/event-stream");
    let answer = stream.send(toy.address).await;
    assert!(answer.text.contains(r#"{"data":{"countsTo":1}}"#), "{answer:?}");
}

#[tokio::test]
async fn a_hash_is_verified_and_a_wrong_one_registers_nothing() {
    let toy = toy(&[ITEM], false).await;
    for body in [
        json!({ "query": COUNT, "extensions": apollo(VIEWER) }),
        json!({ "query": COUNT, "extensions": apollo(ITEM) }),
        json!({ "query": COUNT, "documentId": id_of(VIEWER) }),
        json!({ "query": COUNT, "documentId": "unknown" }),
        json!({ "documentId": id_of(ITEM), "extensions": apollo(VIEWER) }),
    ] {
        for accept in [GRAPHQL_RESPONSE, JSON] {
            let answer = post(body.clone()).accept(accept).send(toy.address).await;
            assert_eq!(refused(&answer), (400, "PERSISTED_QUERY_HASH_MISMATCH".to_owned()), "{body}");
            assert_eq!(answer.message(), "provided sha does not match query");
        }
    }
    assert_eq!(toy.state.mutations.load(Ordering::Relaxed), 0);
    let poisoned = sent(&toy, json!({ "extensions": apollo(VIEWER) })).await;
    assert_eq!(poisoned.code(), "PERSISTED_QUERY_NOT_FOUND");
}

#[tokio::test]
async fn what_is_refused_is_not_registered() {
    let toy = toy(&[], false).await;
    let too_large = format!("{{ {} }}", "viewer ".repeat(2_000));
    for text in ["{", &too_large, "query($id: ID!) { item(id: $id) }", "{ viewer } { viewer }"] {
        let answer = sent(&toy, json!({ "query": text, "extensions": apollo(text) })).await;
        assert_eq!(answer.status, 400, "{answer:?}");
        let by_hash = sent(&toy, json!({ "extensions": apollo(text) })).await;
        assert_eq!(by_hash.code(), "PERSISTED_QUERY_NOT_FOUND", "{text}");
    }
}

#[tokio::test]
async fn a_document_id_alone_registers_nothing() {
    let toy = toy(&[], false).await;
    let both = sent(&toy, json!({ "query": VIEWER, "documentId": id_of(VIEWER) })).await;
    assert_eq!(both.status, 200);
    let by_id = sent(&toy, json!({ "documentId": id_of(VIEWER) })).await;
    assert_eq!(by_id.code(), "PERSISTED_QUERY_NOT_FOUND");
}

#[tokio::test]
async fn only_trusted_documents_run_where_required() {
    let toy = toy(&[ITEM, NUMBERS], true).await;
    let introspection = "{ __schema { queryType { name } } }";
    let other_spaces = "query($id:ID!){item(id:$id)}";
    for text in [VIEWER, COUNT, introspection, other_spaces, "{"] {
        for (accept, status) in [(GRAPHQL_RESPONSE, 400), (JSON, 200)] {
            for body in [json!({ "query": text }), json!({ "query": text, "extensions": apollo(text) })] {
                let answer = post(body).accept(accept).send(toy.address).await;
                assert_eq!(refused(&answer), (status, "FORBIDDEN".to_owned()), "{text}");
            }
        }
        let by_hash = sent(&toy, json!({ "extensions": apollo(text) })).await;
        assert_eq!(by_hash.code(), "PERSISTED_QUERY_NOT_FOUND", "nothing was registered");
    }
    let answer = get(&[("query", VIEWER)]).accept(GRAPHQL_RESPONSE).send(toy.address).await;
    assert_eq!(refused(&answer), (400, "FORBIDDEN".to_owned()));
    let mut socket = WebSocketClient::open(toy.address).await;
    for text in [VIEWER, "subscription { numbers { value } }"] {
        socket.subscribe("1", text).await;
        assert_eq!(socket.hear_of("error", "1").await[0]["extensions"]["code"], "FORBIDDEN");
    }
    let stream = post(json!({ "query": COUNT })).accept("text/event-stream").send(toy.address).await;
    assert!(stream.text.contains("FORBIDDEN"), "{stream:?}");
    assert_eq!(toy.state.mutations.load(Ordering::Relaxed), 0);

    let variables = json!({ "id": "x" });
    for body in [
        json!({ "documentId": id_of(ITEM), "variables": variables }),
        json!({ "extensions": apollo(ITEM), "variables": variables }),
        json!({ "query": ITEM, "variables": variables }),
    ] {
        assert_eq!(sent(&toy, body).await.json()["data"], json!({ "item": "x" }));
    }
    socket.request("2", json!({ "documentId": id_of(NUMBERS) })).await;
    assert_eq!(socket.hear_of("next", "2").await["data"], json!({ "countsTo": 1 }));
}

#[tokio::test]
async fn a_mutation_by_its_id_is_not_executed_by_get() {
    let toy = toy(&[COUNT], true).await;
    let answer = get(&[("documentId", &id_of(COUNT))]).send(toy.address).await;
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    assert_eq!(toy.state.mutations.load(Ordering::Relaxed), 0);
    assert_eq!(sent(&toy, json!({ "documentId": id_of(COUNT) })).await.json()["data"], json!({ "count": 1 }));
}

#[tokio::test]
async fn a_request_without_a_valid_document_is_malformed() {
    let toy = toy(&[], false).await;
    let hash = id_of(VIEWER);
    let digits = hash.trim_start_matches("sha256:");
    for persisted in [
        json!(7),
        json!({}),
        json!({ "version": 1 }),
        json!({ "version": 2, "sha256Hash": digits }),
        json!({ "version": 1, "sha256Hash": 7 }),
        json!({ "version": 1, "sha256Hash": "short" }),
        json!({ "version": 1, "sha256Hash": digits.to_uppercase() }),
        json!({ "sha256Hash": digits }),
    ] {
        let body = json!({ "query": VIEWER, "extensions": { "persistedQuery": persisted } });
        assert_eq!(refused(&sent(&toy, body.clone()).await), (400, "BAD_USER_INPUT".to_owned()), "{body}");
    }
    for body in [
        json!({}),
        json!({ "documentId": null }),
        json!({ "documentId": "" }),
        json!({ "documentId": 7 }),
        json!({ "extensions": { "persistedQuery": null } }),
    ] {
        assert_eq!(refused(&sent(&toy, body.clone()).await), (400, "BAD_USER_INPUT".to_owned()), "{body}");
    }
}
