//! `@live` on queries of a served model: over WebSocket and event streams, shared, and silent while nothing
//! that was read is written. The driver compares the answers of any model with fresh ones.

use onehop_testing::event_stream::EventStream;
use onehop_testing::websocket::WebSocketClient;
use serde_json::{Value, json};

use super::server::{BIRDS, ServedServer};

const SITE: &str = "query($id: ID!) @live { site(id: $id) { name followerCount } }";
const FOLLOW: &str = "mutation($input: CreateFollowInput!) { createFollow(input: $input) { follow { id } } }";
const RENAME: &str = "mutation($input: UpdateSiteInput!) { updateSite(input: $input) { site { name } } }";

async fn rename(server: &ServedServer, token: &str, site: &str, name: &str) {
    server.data(Some(token), RENAME, json!({ "input": { "siteId": site, "name": name } })).await;
}

fn live(site: &str) -> Value {
    json!({ "query": SITE, "variables": { "id": site } })
}

/// The data of the next answer.
async fn answer(socket: &mut WebSocketClient, id: &str) -> Value {
    socket.hear_of("next", id).await["data"].take()
}

fn site(name: &str, followers: u32) -> Value {
    json!({ "site": { "name": name, "followerCount": followers } })
}

#[tokio::test]
async fn a_live_query_answers_and_answers_again() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let id = server.create_site(&token, "Mere").await;
    let mut socket = WebSocketClient::open(server.address()).await;
    socket.request("1", live(&id)).await;
    assert_eq!(answer(&mut socket, "1").await, site("Mere", 0));
    rename(&server, &token, &id, "Fen").await;
    assert_eq!(answer(&mut socket, "1").await, site("Fen", 0));
    server.data(Some(&token), FOLLOW, json!({ "input": { "siteId": id } })).await;
    assert_eq!(answer(&mut socket, "1").await, site("Fen", 1));
    // A change that the answer does not show is no answer.
    let habitat = json!({ "input": { "siteId": id, "habitat": "COAST" } });
    server.data(Some(&token), RENAME, habitat).await;
    rename(&server, &token, &id, "Moor").await;
    assert_eq!(answer(&mut socket, "1").await, site("Moor", 1));
    socket.say(json!({ "type": "complete", "id": "1" })).await;
    socket.settle().await;
}

#[tokio::test]
async fn a_live_query_is_a_stream_of_server_sent_events() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let id = server.create_site(&token, "Mere").await;
    let request = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = request.post(format!("http://{}/graphql", server.address()));
    let request = request.header("content-type", "application/json").header("accept", "text/event-stream");
    let mut stream = EventStream::of(request.body(live(&id).to_string()).send().await.unwrap());
    assert_eq!(stream.result().await["data"], site("Mere", 0));
    rename(&server, &token, &id, "Fen").await;
    assert_eq!(stream.result().await["data"], site("Fen", 0));
}

#[tokio::test]
async fn a_post_of_a_live_query_has_one_answer() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let id = server.create_site(&token, "Mere").await;
    assert_eq!(server.data(None, SITE, json!({ "id": id })).await, site("Mere", 0));
}

#[tokio::test]
async fn nothing_is_read_while_the_marks_stand_still() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let quiet = server.create_site(&token, "Quiet").await;
    let busy = server.create_site(&token, "Busy").await;
    server.settle().await;
    let mut socket = WebSocketClient::open(server.address()).await;
    socket.request("quiet", live(&quiet)).await;
    answer(&mut socket, "quiet").await;
    socket.request("busy", live(&busy)).await;
    answer(&mut socket, "busy").await;
    // The marks of the creations may come after the first answers.
    rename(&server, &token, &quiet, "Still").await;
    assert_eq!(answer(&mut socket, "quiet").await["site"]["name"], "Still");
    server.settle().await;
    rename(&server, &token, &busy, "First").await;
    assert_eq!(answer(&mut socket, "busy").await["site"]["name"], "First");
    let before = server.reads.of(&partition(&quiet));
    for number in 0..5 {
        rename(&server, &token, &busy, &format!("Busy {number}")).await;
        assert_eq!(answer(&mut socket, "busy").await["site"]["name"], format!("Busy {number}"));
    }
    assert_eq!(server.reads.of(&partition(&quiet)), before);
}

#[tokio::test]
async fn equal_live_queries_share_one_execution() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let id = server.create_site(&token, "Mere").await;
    server.settle().await;
    let mut sockets = Vec::new();
    for _ in 0..5 {
        let mut socket = WebSocketClient::open(server.address()).await;
        socket.request("1", live(&id)).await;
        assert_eq!(answer(&mut socket, "1").await, site("Mere", 0));
        sockets.push(socket);
    }
    let before = server.reads.of(&partition(&id));
    rename(&server, &token, &id, "Fen").await;
    for socket in &mut sockets {
        assert_eq!(answer(socket, "1").await, site("Fen", 0));
    }
    // The command reads the site once, and the live query once.
    assert_eq!(server.reads.of(&partition(&id)) - before, 2);
}

#[tokio::test]
async fn live_answers_are_for_their_caller_alone() {
    let server = ServedServer::start(BIRDS).await;
    let query = "query @live { viewer { name email } }";
    let mut sockets = Vec::new();
    for name in ["Ada", "Bob"] {
        let (token, _) = server.sign_up(name, &format!("{name}@example.com")).await;
        let payload = json!({ "authorization": format!("Bearer {token}") });
        let mut socket = WebSocketClient::open_with(server.address(), payload).await;
        socket.subscribe("1", query).await;
        assert_eq!(answer(&mut socket, "1").await["viewer"]["name"], name);
        sockets.push(socket);
    }
    let mut nobody = WebSocketClient::open(server.address()).await;
    nobody.subscribe("1", query).await;
    assert_eq!(answer(&mut nobody, "1").await, json!({ "viewer": null }));
}

#[tokio::test]
async fn a_list_is_live_once_its_read_model_has_followed() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let mut socket = WebSocketClient::open(server.address()).await;
    socket.subscribe("1", "query @live { recentSites(first: 2) { nodes { name } } }").await;
    let names = |names: &[&str]| {
        let nodes: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
        json!({ "recentSites": { "nodes": nodes } })
    };
    assert_eq!(answer(&mut socket, "1").await, names(&[]));
    for (name, expected) in [("A", &["A"][..]), ("B", &["B", "A"]), ("C", &["C", "B"])] {
        server.create_site(&token, name).await;
        server.settle().await;
        assert_eq!(answer(&mut socket, "1").await, names(expected));
    }
}

#[tokio::test]
async fn the_schema_has_the_directive_live() {
    let server = ServedServer::start(BIRDS).await;
    let query = "{ __schema { directives { name locations isRepeatable args { name } } } }";
    let data = server.data(None, query, json!({})).await;
    let directives = data["__schema"]["directives"].as_array().unwrap();
    let live = json!({ "name": "live", "locations": ["QUERY"], "isRepeatable": false, "args": [] });
    assert_eq!(directives.iter().filter(|directive| **directive == live).count(), 1, "{directives:#?}");
    let refused = server.send(None, "mutation @live { signOut(everywhere: true) { observerId } }", json!({}));
    assert_eq!(refused.await["errors"][0]["message"], "The directive \"live\" may be used on queries alone.");
}

/// The partition key of a site.
fn partition(id: &str) -> String {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(id).unwrap();
    String::from_utf8(bytes).unwrap().split('\u{1f}').nth(1).unwrap().to_owned()
}
