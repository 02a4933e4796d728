//! The texts of errors and log lines, and the secrets that never occur in them.

use onehop::blog::containers::{FEED, POSTS};
use onehop::graphql::GlobalId;
use onehop_store::{Ledger, NewItem, PartitionKey, WriteOp};
use serde_json::{Value, json};

use crate::api::binary::Serving;
use crate::api::caller::{Answer, mutation_of};
use crate::api::logs::KeptLog;
use crate::api::server::{PASSWORD, Server};

/// Requests that go wrong, each in its own way, with a secret wherever one fits.
fn bad_requests() -> Vec<Value> {
    let secret = json!(PASSWORD);
    let mut requests: Vec<Value> = [
        ("createUser", json!({ "username": "no name!", "password": PASSWORD })),
        ("createUser", json!({ "username": "ada", "password": PASSWORD })),
        ("createUser", json!({ "username": "eve", "password": [PASSWORD] })),
        ("createUser", json!({ "username": "eve", "password": { "is": PASSWORD } })),
        ("createUser", json!({ "username": "eve", "passwort": PASSWORD })),
        ("createUser", json!({ "username": 5, "password": PASSWORD })),
        ("createUser", json!({ "password": PASSWORD })),
        ("signIn", json!({ "username": "nobody", "password": PASSWORD })),
        ("signIn", json!({ "username": "ada", "password": format!("{PASSWORD}!") })),
        ("updatePost", json!({ "postId": "x", "title": "t" })),
        ("likePost", json!({ "postId": null })),
    ]
    .map(|(mutation, input)| {
        let (query, variables) = mutation_of(mutation, input);
        json!({ "query": query, "variables": variables })
    })
    .into();
    let inline = |password: &str| {
        format!(
            "mutation {{
               createUser(input: {{ username: \"eve\", password: {password} }}) {{ accessToken }} }}"
        )
    };
    requests.extend([
        json!({ "query": inline(&format!("\"{PASSWORD}")) }),
        json!({ "query": inline(&format!("[\"{PASSWORD}\"]")) }),
        json!({ "query": inline(&PASSWORD.replace('-', "_")) }),
        json!({ "query": "{ viewer { password } }" }),
        json!({ "query": "{ viewer { id }" }),
        json!({ "query": "" }),
        json!({ "query": "subscription { feedChanged { id } }" }),
        json!({ "query": 5, "variables": { "secret": secret } }),
        json!({ "query": "{ viewer { id } }", "variables": secret }),
        json!({ "query": "query($id: ID!) { node(id: $id) { id } }", "variables": { "id": secret } }),
        json!({ "variables": { "secret": secret } }),
        json!([secret]),
        json!(secret),
    ]);
    requests
}

/// Asserts that a text for others shows nothing of the inside of the server.
#[track_caller]
fn assert_tells_nothing(text: &str, server: &Server) {
    let data = server.app.data_directory().map_or("emulator.local", |data| data.to_str().unwrap());
    for inside in
        [data, "stack backtrace", ".rs:", "src/", "panicked", "fjall", "$argon2id", "RUST_BACKTRACE"]
    {
        assert!(!text.contains(inside), "{inside:?} in {text}");
    }
}

#[track_caller]
fn assert_all_errors_have_codes(answer: &Answer) {
    let errors = answer.body["errors"].as_array().unwrap_or_else(|| panic!("no error: {answer:?}"));
    assert!(!errors.is_empty());
    for error in errors {
        let code = error["extensions"]["code"].as_str().unwrap_or_default();
        let is_upper_snake = code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        assert!(!code.is_empty() && is_upper_snake, "{answer:?}");
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
}

#[tokio::test]
async fn every_error_has_a_code_and_tells_nothing_of_the_inside() {
    let kept = KeptLog::start();
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let forged = server.bearing(&format!("{}x", ada.token()));
    for request in bad_requests() {
        for (caller, is_forged) in [(&ada, false), (&server.anonymous(), false), (&forged, true)] {
            let answer = caller.send(request.clone()).await;
            assert_all_errors_have_codes(&answer);
            let text = answer.body.to_string();
            assert_tells_nothing(&text, &server);
            for secret in [PASSWORD, &PASSWORD.replace('-', "_"), ada.token()] {
                assert!(!text.contains(secret), "{text} repeats {request}");
            }
            assert!(!is_forged || answer.status >= 400, "{answer:?}");
        }
    }
    let log = kept.written();
    assert!(log.contains("request refused"), "the log was captured");
    for secret in [PASSWORD, &PASSWORD.replace('-', "_"), ada.token(), "$argon2id$", "eyJ"] {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret:?} in the log");
    }
}

#[tokio::test]
async fn a_fault_is_masked_and_found_again_in_the_log_by_its_id() {
    let kept = KeptLog::start();
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let Ok(GlobalId::Post(id)) = GlobalId::decode(&post) else { panic!("{post}") };
    let broken = json!({ "id": id, "postId": id, "type": "post", "title": 5, "creationDate": "2027" });
    let write = WriteOp::Upsert(NewItem::encode(id.to_string(), &broken));
    server.app.store.write(POSTS, &id.partition_key(), write, &Ledger::new()).await.unwrap();
    let feed = json!({ "id": id, "type": "post", "creationDate": "2027", "title": "half" });
    let write = WriteOp::Upsert(NewItem::encode(id.to_string(), &feed));
    server.app.store.write(FEED, &PartitionKey::from("post"), write, &Ledger::new()).await.unwrap();

    let (like, input) = mutation_of("likePost", json!({ "postId": post }));
    for (query, variables) in [
        ("query($id: ID!) { post(id: $id) { title } }", json!({ "id": post })),
        ("query($id: ID!) { post(id: $id, model: V1) { title } }", json!({ "id": post })),
        ("query($id: ID!) { node(id: $id) { ... on Post { title } } }", json!({ "id": post })),
        ("{ feed { nodes { title author { username } } } }", json!({})),
        (&*like, input),
    ] {
        let answer = ada.ask(query, variables).await;
        let error = &answer.body["errors"][0];
        assert_eq!(error["extensions"]["code"], "INTERNAL", "{query}: {answer:?}");
        assert_eq!(error["message"], "Something went wrong on the server.");
        assert_tells_nothing(&answer.body.to_string(), &server);
        let error_id = error["extensions"]["errorId"].as_str().unwrap();
        let log = kept.written();
        let line = log.lines().find(|line| line.contains(error_id)).unwrap_or_else(|| panic!("{error_id}"));
        assert!(line.contains("ERROR") && line.contains("unexpected shape"), "{line}");
    }
}

#[tokio::test]
async fn the_program_at_its_most_talkative_logs_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_owned();
    let serving = Serving::start(&data, &["--log", "trace", "--log-format", "json"]);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/graphql", serving.address);
    let send = |request: Value, token: String| {
        let request = http.post(&url).header("content-type", "application/json").body(request.to_string());
        async move { request.header("authorization", format!("Bearer {token}")).send().await.unwrap() }
    };
    let (query, variables) = mutation_of("createUser", json!({ "username": "ada", "password": PASSWORD }));
    let request = http.post(&url).header("content-type", "application/json");
    let request = request.body(json!({ "query": query, "variables": variables }).to_string());
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    let token = answer["data"]["createUser"]["accessToken"].as_str().unwrap().to_owned();
    for request in bad_requests() {
        send(request.clone(), token.clone()).await;
        send(request, format!("{token}x")).await;
    }
    let mut key_files = std::fs::read_dir(data.join("secrets/access-token-keys")).unwrap();
    let key_file = std::fs::read_to_string(key_files.next().unwrap().unwrap().path()).unwrap();
    let (status, log) = tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    assert_eq!(status, 0, "{log}");
    assert!(log.lines().count() > 10);
    let signature = token.rsplit('.').next().unwrap();
    for secret in [PASSWORD, &token, signature, "$argon2id$", key_file.trim()] {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret:?} in the log");
    }
    assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "every line is JSON");
}
