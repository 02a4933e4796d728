//! Moderation: staff delete the texts of others and suspend accounts, and each act is in the log.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use onehop::blog::containers::ACCOUNTS;
use onehop_store::{Ledger, NewItem, PartitionKey, Rejection, WriteError, WriteOp};
use onehop_testing::websocket::WebSocketClient;
use serde_json::{Value, json};

use crate::api::caller::Caller;
use crate::api::provider::Provider;
use crate::api::server::{PASSWORD, Server, Setup};

const LOG: &str = "{ moderationLog { nodes {
    id action staff { username } user { username } postId commentId reason creationDate } } }";
const SUSPEND: &str =
    "mutation($i: SuspendUserInput!) { suspendUser(input: $i) { user { id isSuspended } } }";
const UNSUSPEND: &str =
    "mutation($i: UnsuspendUserInput!) { unsuspendUser(input: $i) { user { id isSuspended } } }";
const VIEWER: &str = "{ viewer { id } }";

async fn open() -> Server {
    Server::start_with(Setup { staff: &["ada"], ..Setup::default() }).await
}

/// The log, newest first.
async fn log(staff: &Caller<'_>) -> Vec<Value> {
    staff.data(LOG, json!({})).await["moderationLog"]["nodes"].as_array().unwrap().clone()
}

async fn suspend(staff: &Caller<'_>, user: &str) -> Value {
    let input = json!({ "i": { "userId": user, "reason": "Spam." } });
    staff.data(SUSPEND, input).await["suspendUser"]["user"].take()
}

async fn unsuspend(staff: &Caller<'_>, user: &str) -> Value {
    staff.data(UNSUSPEND, json!({ "i": { "userId": user } })).await["unsuspendUser"]["user"].take()
}

#[tokio::test]
async fn staff_delete_the_texts_of_others_with_a_log() {
    let server = open().await;
    let (ada, bob, eve) =
        (server.sign_in("ada").await, server.sign_up("bob").await, server.sign_up("eve").await);
    let (post, other) = (bob.post("Engines").await, bob.post("Looms").await);
    let (comment, kept) = (eve.comment(&other, "An insult.").await, eve.comment(&other, "Kind words.").await);
    let delete = json!({ "postId": post, "reason": "Advertising." });
    assert_eq!(ada.mutate("deletePost", delete.clone()).await["deletedPostId"], json!(post));
    ada.mutate("deleteComment", json!({ "commentId": comment })).await;
    let own = ada.post("Mine").await;
    ada.mutate("deletePost", json!({ "postId": own })).await;
    let again = ada.refused_mutation("deletePost", delete).await;
    assert_eq!(again.of(), ("NOT_FOUND", Some("postId")));
    assert_eq!(ada.counts(&other).await, [1, 0]);
    let entries = log(&ada).await;
    let shown = |entry: &Value| {
        let fields = ["action", "postId", "commentId", "reason"].map(|field| entry[field].clone());
        (fields, entry["staff"]["username"].clone(), entry["user"]["username"].clone())
    };
    let expected = [
        ([json!("DELETE_COMMENT"), json!(other), json!(comment), Value::Null], json!("ada"), json!("eve")),
        ([json!("DELETE_POST"), json!(post), Value::Null, json!("Advertising.")], json!("ada"), json!("bob")),
    ];
    assert_eq!(entries.iter().map(shown).collect::<Vec<_>>(), expected, "a refused act leaves no entry");
    for caller in [&bob, &eve] {
        assert_eq!(caller.refused(LOG, json!({})).await.code, "FORBIDDEN");
        let refused = caller.refused_mutation("deletePost", json!({ "postId": own })).await;
        assert_ne!(refused.code, "INTERNAL");
    }
    assert_eq!(server.anonymous().refused(LOG, json!({})).await.code, "UNAUTHENTICATED");
    let long = json!({ "commentId": kept, "reason": "r".repeat(501) });
    let refused = ada.refused_mutation("deleteComment", long).await;
    assert_eq!(refused.of(), ("BAD_USER_INPUT", Some("reason")));
    assert!(refused.message.contains("500"), "{}", refused.message);
}

#[tokio::test]
async fn staff_see_that_they_may_delete() {
    let server = open().await;
    let (ada, bob) = (server.sign_in("ada").await, server.sign_up("bob").await);
    let post = bob.post("Engines").await;
    let comment = bob.comment(&post, "Words.").await;
    let whole = "query($id: ID!) { post(id: $id) { viewerCanDelete viewerCanUpdate
        comments { nodes { viewerCanDelete } } } }";
    // The general executor answers a document with `isSuspended`.
    let general = "query($id: ID!) { post(id: $id) { viewerCanDelete viewerCanUpdate
        author { isSuspended viewerCanSuspend } comments { nodes { viewerCanDelete } } } }";
    for query in [whole, general] {
        let seen = ada.data(query, json!({ "id": post })).await["post"].take();
        assert_eq!((&seen["viewerCanDelete"], &seen["viewerCanUpdate"]), (&json!(true), &json!(false)));
        assert_eq!(seen["comments"]["nodes"][0]["viewerCanDelete"], true);
    }
    let author = ada.data(general, json!({ "id": post })).await["post"]["author"].take();
    assert_eq!(author, json!({ "isSuspended": false, "viewerCanSuspend": true }));
    let author = bob.data(general, json!({ "id": post })).await["post"]["author"].take();
    assert_eq!(author, json!({ "isSuspended": null, "viewerCanSuspend": false }));
    let node = "query($id: ID!) { node(id: $id) { ... on Comment { viewerCanDelete } } }";
    assert_eq!(ada.data(node, json!({ "id": comment })).await["node"]["viewerCanDelete"], true);
}

#[tokio::test]
async fn a_suspended_account_loses_its_sessions_at_once() {
    let server = open().await;
    let (ada, bob) = (server.sign_in("ada").await, server.sign_up("bob").await);
    let credentials = json!({ "username": "bob", "password": PASSWORD });
    let other = server.anonymous().mutate("signIn", credentials.clone()).await;
    let refresh_token = other["refreshToken"].as_str().unwrap();
    let bearer = json!({ "authorization": format!("Bearer {}", bob.token()) });
    let mut socket = WebSocketClient::open_with(server.address(), bearer).await;
    let post = bob.post("Engines").await;
    assert_eq!(suspend(&ada, &bob.id).await["isSuspended"], true);
    assert_eq!(bob.ask(VIEWER, json!({})).await.status, 401);
    let other = server.bearing(other["accessToken"].as_str().unwrap());
    assert_eq!(other.ask(VIEWER, json!({})).await.status, 401);
    assert_eq!(socket.closed().await, (4403, "Forbidden: the session has ended".to_owned()));
    let renew = "mutation($i: RenewSessionInput!) { renewSession(input: $i) { accessToken } }";
    let renewed = server.anonymous().refused(renew, json!({ "i": { "refreshToken": refresh_token } })).await;
    assert_eq!(renewed.code, "UNAUTHENTICATED");
    let refused = server.anonymous().refused_mutation("signIn", credentials.clone()).await;
    assert_eq!((refused.code.as_str(), refused.field), ("ACCOUNT_SUSPENDED", None));
    let guess = json!({ "username": "bob", "password": "not the password" });
    let guessed = server.anonymous().refused_mutation("signIn", guess).await;
    assert_eq!(guessed.code, "INVALID_CREDENTIALS", "a guess does not find out about the suspension");
    let seen = ada.data("query($id: ID!) { post(id: $id) { title } }", json!({ "id": post })).await;
    assert_eq!(seen["post"]["title"], "Engines", "the texts stay");

    assert_eq!(suspend(&ada, &bob.id).await["isSuspended"], true, "a repeat");
    assert_eq!(unsuspend(&ada, &bob.id).await["isSuspended"], false);
    server.anonymous().mutate("signIn", credentials).await;
    let actions: Vec<Value> = log(&ada).await.iter().map(|entry| entry["action"].clone()).collect();
    assert_eq!(actions, ["UNSUSPEND_USER", "SUSPEND_USER"], "a repeat is not in the log");
    server.settle().await;
    assert!(server.verify().await.is_clean());
}

#[tokio::test]
async fn a_late_create_brings_no_session_back() {
    let server = open().await;
    let (ada, bob) = (server.sign_in("ada").await, server.sign_up("bob").await);
    let claims = URL_SAFE_NO_PAD.decode(bob.token().split('.').nth(1).unwrap()).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    let place = format!("sessions:{}", claims["sub"].as_str().unwrap());
    let (store, key, ledger) = (&server.app.recent, PartitionKey::from(place.as_str()), Ledger::new());
    let first = store.read(ACCOUNTS, &key, &place, &ledger).await.unwrap().unwrap();
    suspend(&ada, &bob.id).await;
    server.settle().await;
    // The create of the first session arrives once more: its answer had been lost.
    let late = NewItem::encode(place.clone(), &first.decode::<Value>().unwrap());
    let late = store.write(ACCOUNTS, &key, WriteOp::Create(late), &ledger).await;
    assert!(matches!(late, Err(WriteError::Rejected { reason: Rejection::Conflict, .. })), "{late:?}");
    unsuspend(&ada, &bob.id).await;
    assert_eq!(bob.ask(VIEWER, json!({})).await.status, 401);
}

#[tokio::test]
async fn a_repeated_sign_up_opens_no_suspended_account() {
    let server = open().await;
    let ada = server.sign_in("ada").await;
    let sign_up = json!({ "username": "bob", "password": PASSWORD, "idempotencyKey": "first" });
    let made = server.anonymous().mutate("createUser", sign_up.clone()).await;
    suspend(&ada, made["user"]["id"].as_str().unwrap()).await;
    let repeated = server.anonymous().refused_mutation("createUser", sign_up).await;
    assert_eq!(repeated.code, "ACCOUNT_SUSPENDED");
}

#[tokio::test]
async fn staff_suspend_users_alone_and_give_a_reason() {
    let server = open().await;
    let (ada, bob) = (server.sign_in("ada").await, server.sign_up("bob").await);
    let refused = async |caller: &Caller<'_>, user: &str, reason: &str| {
        caller.refused(SUSPEND, json!({ "i": { "userId": user, "reason": reason } })).await
    };
    assert_eq!(refused(&bob, &ada.id, "Envy.").await.code, "FORBIDDEN");
    assert_eq!(refused(&server.anonymous(), &bob.id, "Spam.").await.code, "UNAUTHENTICATED");
    assert_eq!(refused(&ada, &ada.id, "Tired.").await.of(), ("FORBIDDEN", Some("userId")));
    assert_eq!(refused(&ada, &bob.id, " ").await.of(), ("BAD_USER_INPUT", Some("reason")));
    assert_eq!(refused(&ada, "bob", "Spam.").await.of(), ("BAD_USER_INPUT", Some("userId")));
    let nobody = "dQGJx_R6AHAAgAAAAAAAAAA";
    assert_eq!(refused(&ada, nobody, "Spam.").await.of(), ("NOT_FOUND", Some("userId")));
    assert!(log(&ada).await.is_empty());
    bob.data(VIEWER, json!({})).await;
}

#[tokio::test]
async fn a_suspended_user_of_a_provider_is_refused() {
    let provider = Provider::start().await;
    let setup = Setup { issuer: Some(provider.issuer()), staff: &["ada"], ..Setup::default() };
    let server = Server::start_with(setup).await;
    let ada = server.sign_in("ada").await;
    let bob = server.bearing(&provider.token("bob-subject", "bob"));
    let id = bob.data(VIEWER, json!({})).await["viewer"]["id"].as_str().unwrap().to_owned();
    let bearer = json!({ "authorization": format!("Bearer {}", bob.token()) });
    let mut socket = WebSocketClient::open_with(server.address(), bearer).await;
    suspend(&ada, &id).await;
    assert_eq!(bob.ask(VIEWER, json!({})).await.status, 401);
    assert_eq!(socket.closed().await.0, 4403);
    unsuspend(&ada, &id).await;
    bob.data(VIEWER, json!({})).await;
}
