//! Deleting an account: the password confirms it, everybody sees it at once, and no item of it stays.

use onehop_testing::websocket::WebSocketClient;
use reqwest::StatusCode;
use reqwest::header::{ETAG, IF_NONE_MATCH};
use serde_json::{Value, json};

use crate::api::caller::{Caller, Refused};
use crate::api::server::{PASSWORD, Server, Setup};

const DELETE: &str = "mutation($i: DeleteUserInput!) { deleteUser(input: $i) { deletedUserId } }";
const VIEWER: &str = "{ viewer { id } }";

async fn delete(caller: &Caller<'_>) -> Value {
    let input = json!({ "i": { "currentPassword": PASSWORD } });
    caller.data(DELETE, input).await["deleteUser"]["deletedUserId"].take()
}

async fn refused(caller: &Caller<'_>, password: &str) -> Refused {
    caller.refused(DELETE, json!({ "i": { "currentPassword": password } })).await
}

#[tokio::test]
async fn a_deleted_account_is_gone_at_once() {
    let server = Server::start().await;
    let (bob, eve) = (server.sign_up("bob").await, server.sign_up("eve").await);
    let bearer = json!({ "authorization": format!("Bearer {}", bob.token()) });
    let mut socket = WebSocketClient::open_with(server.address(), bearer).await;
    let wrong = refused(&bob, "not the password").await;
    assert_eq!(wrong.of(), ("FORBIDDEN", Some("currentPassword")));
    assert_eq!(refused(&server.anonymous(), PASSWORD).await.code, "UNAUTHENTICATED");
    bob.data(VIEWER, json!({})).await;
    assert_eq!(delete(&bob).await, json!(bob.id));
    assert_eq!(bob.ask(VIEWER, json!({})).await.status, 401);
    assert_eq!(socket.closed().await.0, 4403);
    let credentials = json!({ "username": "bob", "password": PASSWORD });
    let sign_in = server.anonymous().refused_mutation("signIn", credentials).await;
    assert_eq!(sign_in.code, "INVALID_CREDENTIALS", "as for a name that nobody ever had");
    let query = "query($id: ID!) { user(id: $id) { id } node(id: $id) { id }
        v1: user(id: $id, model: V1) { username } userByUsername(username: \"bob\") { id } }";
    let seen = eve.data(query, json!({ "id": bob.id })).await;
    assert_eq!(seen, json!({ "user": null, "node": null, "v1": null, "userByUsername": null }));
    let other = server.sign_up("Bob").await;
    assert_ne!(other.id, bob.id);
    server.settle().await;
    assert!(server.verify().await.is_clean());
    server.sign_in("bob").await;
}

#[tokio::test]
async fn texts_of_a_deleted_account_go_with_exact_counts() {
    let server = Server::start().await;
    let (bob, eve) = (server.sign_up("bob").await, server.sign_up("eve").await);
    let (own, others) = (bob.post("Engines").await, eve.post("Looms").await);
    for text in ["One.", "Two.", "Three."] {
        bob.comment(&others, text).await;
    }
    eve.comment(&others, "Mine.").await;
    eve.comment(&own, "Below his post.").await;
    for caller in [&bob, &eve] {
        caller.like(&others).await;
        caller.like(&own).await;
    }
    server.settle().await;
    let page = format!("{{ post(id: {others:?}) {{ commentCount comments {{ nodes {{ content }} }} }} }}");
    let url = reqwest::Url::parse_with_params(&server.url("/graphql"), [("query", &page)]).unwrap();
    let tag = server.http.get(url.clone()).send().await.unwrap().headers()[ETAG].clone();
    delete(&bob).await;
    // The comparison reads every data model while items of the account are still there.
    let compare = "query($id: ID!) { comparison(request: Q4, id: $id) { model } }";
    eve.data(compare, json!({ "id": others })).await;
    server.settle().await;
    assert_eq!(eve.counts(&others).await, [1, 1]);
    for model in ["V1", "V2", "V3"] {
        let query = format!(
            "query($own: ID!, $others: ID!) {{
                gone: post(id: $own, model: {model}) {{ id }}
                post(id: $others, model: {model}) {{ commentCount likeCount comments {{ nodes {{ content }} }}
                    likes {{ nodes {{ user {{ username }} }} }} }}
                feed(model: {model}) {{ nodes {{ id }} }} }}"
        );
        let seen = eve.data(&query, json!({ "own": own, "others": others })).await;
        let post = json!({
            "commentCount": 1, "likeCount": 1, "comments": { "nodes": [{ "content": "Mine." }] },
            "likes": { "nodes": [{ "user": { "username": "eve" } }] },
        });
        let feed = json!({ "nodes": [{ "id": others }] });
        assert_eq!(seen, json!({ "gone": null, "post": post, "feed": feed }), "{model}");
    }
    let again = server.http.get(url).header(IF_NONE_MATCH, tag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::OK, "a tag sees the removal");
    let text = again.text().await.unwrap();
    assert!(text.contains("Mine.") && !text.contains("Two."), "{text}");
    assert!(server.verify().await.is_clean());
}

#[tokio::test]
async fn a_member_of_staff_does_not_delete_the_account() {
    let server = Server::start_with(Setup { staff: &["ada"], ..Setup::default() }).await;
    let ada = server.sign_in("ada").await;
    assert_eq!(refused(&ada, PASSWORD).await.code, "FORBIDDEN");
    ada.data(VIEWER, json!({})).await;
}

#[tokio::test]
async fn guesses_of_the_password_of_a_deletion_are_limited() {
    let server = Server::start().await;
    let bob = server.sign_up("bob").await;
    let mut codes = Vec::new();
    for guess in 0..40 {
        codes.push(refused(&bob, &format!("guess number {guess}")).await.code);
    }
    assert_eq!(codes[0], "FORBIDDEN");
    assert_eq!(codes.last().map(String::as_str), Some("LIMIT_EXCEEDED"));
}

#[tokio::test]
async fn users_export_their_own_comments_and_likes_alone() {
    let server = Server::start().await;
    let (bob, eve) = (server.sign_up("bob").await, server.sign_up("eve").await);
    let posts = [bob.post("Engines").await, eve.post("Looms").await];
    for post in &posts {
        for text in ["First.", "Second."] {
            bob.comment(post, text).await;
        }
        bob.like(post).await;
        eve.comment(post, "Not his.").await;
    }
    server.settle().await;
    let query = "query($id: ID!, $after: String) { user(id: $id) {
        comments(first: 3, after: $after) { nodes { content post { id } } pageInfo { endCursor hasNextPage } }
        likes { nodes { post { id } } } } }";
    let first = bob.data(query, json!({ "id": bob.id })).await["user"].take();
    let contents = |page: &Value| -> Vec<String> {
        let nodes = page["comments"]["nodes"].as_array().unwrap();
        nodes.iter().map(|node| node["content"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(contents(&first), ["Second.", "First.", "Second."]);
    assert_eq!(
        first["likes"]["nodes"],
        json!([{ "post": { "id": posts[1] } }, { "post": { "id": posts[0] } }])
    );
    let cursor = first["comments"]["pageInfo"]["endCursor"].as_str().unwrap();
    let rest = bob.data(query, json!({ "id": bob.id, "after": cursor })).await["user"].take();
    assert_eq!(contents(&rest), ["First."]);
    assert_eq!(rest["comments"]["pageInfo"]["hasNextPage"], false);
    for caller in [&eve, &server.anonymous()] {
        let seen = caller.data(query, json!({ "id": bob.id })).await;
        assert_eq!(seen["user"], json!({ "comments": null, "likes": null }));
    }
    let foreign = eve.refused(query, json!({ "id": eve.id, "after": cursor })).await;
    assert_eq!(foreign.of(), ("BAD_USER_INPUT", Some("after")));
}
