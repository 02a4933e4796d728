//! Response size limits: one response, all responses that are built or sent, and the charge of their size.

use std::net::SocketAddr;

use onehop::api::ApiOptions;
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::pipeline::rate_limit::RateLimits;
use onehop_graphql_server::response_limits::{RESPONSE_BYTES_MAX, ResponseLimits};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::api::caller::{Answer, Caller, id_of};
use crate::api::server::{Server, Setup};
use onehop_testing::websocket::WebSocketClient;

/// A character that JSON writes with six bytes.
const ESCAPED: &str = "\u{1}";
const CONTENT_CHARS: usize = 100_000;
const CONTENT_BYTES: usize = 6 * CONTENT_CHARS;

/// A selection of the content under so many names.
fn contents(aliases: usize) -> String {
    (0..aliases).map(|alias| format!("a{alias}: content ")).collect()
}

/// The id of a post whose text is as long in JSON as a text can be.
async fn escaped_post(author: &Caller<'_>) -> String {
    let input = json!({ "title": "Escapes", "content": ESCAPED.repeat(CONTENT_CHARS) });
    let write = "mutation($input: CreatePostInput!) { createPost(input: $input) { post { id } } }";
    let written = author.data(write, json!({ "input": input })).await;
    id_of(&written["createPost"]["post"])
}

async fn server_with(responses: ResponseLimits, callers: RateLimits) -> Server {
    let limits = RequestLimits { responses, callers, ..RequestLimits::default() };
    let options = ApiOptions { limits, ..ApiOptions::default() };
    Server::start_with(Setup { options, ..Setup::default() }).await
}

fn free() -> RateLimits {
    RateLimits { ru_per_second: 0, ..RateLimits::default() }
}

fn assert_over_limit(error: &Value, max: usize) {
    let extensions = &error["extensions"];
    assert_eq!(extensions["code"], "LIMIT_EXCEEDED", "{error}");
    assert_eq!((&extensions["limit"], &extensions["max"]), (&json!("response-bytes-max"), &json!(max)));
}

fn left(answer: &Answer) -> f64 {
    let header = answer.headers["ratelimit"].to_str().unwrap();
    let left = header.strip_prefix("\"request-charge\";r=").and_then(|rest| rest.split(';').next());
    left.unwrap().parse().unwrap()
}

#[tokio::test]
async fn many_names_for_a_long_text_exceed_the_response_limit() {
    let server = server_with(ResponseLimits::default(), free()).await;
    let ada = server.sign_up("ada").await;
    let id = escaped_post(&ada).await;
    server.settle().await;
    let selection = contents(50);
    for query in [
        format!("query($id: ID!) {{ post(id: $id) {{ {selection} }} }}"),
        format!("query($id: ID!) {{ node(id: $id) {{ ... on Post {{ {selection} }} }} }}"),
        format!("query($id: ID!) {{ post(id: $id) {{ {selection} likes {{ nodes {{ id }} }} }} }}"),
        format!(
            "query($id: ID!) {{ ignored: node(id: $id) {{ id }} feed(first: 1) {{ nodes {{ {selection} }} }} }}"
        ),
        format!(
            "query($id: ID!) {{ ignored: node(id: $id) {{ id }} feed(first: 1, model: V1) {{ edges {{ node {{ {selection} }} }} }} }}"
        ),
    ] {
        let answer = server.anonymous().ask(&query.replace("a49: content", ""), json!({ "id": id })).await;
        let errors =
            answer.body["errors"].as_array().unwrap_or_else(|| panic!("no error: {}", answer.status));
        assert_over_limit(&errors[0], RESPONSE_BYTES_MAX);
        assert!(answer.body.to_string().len() < 2_000, "nothing of the texts is sent");
    }
}

#[tokio::test]
async fn the_largest_page_of_a_post_passes() {
    let server = server_with(ResponseLimits::default(), free()).await;
    let ada = server.sign_up("ada").await;
    let id = escaped_post(&ada).await;
    for _ in 0..100 {
        let input = json!({ "postId": id, "content": ESCAPED.repeat(10_000) });
        let write = "mutation($input: CreateCommentInput!) { createComment(input: $input) { post { id } } }";
        ada.data(write, json!({ "input": input })).await;
    }
    let page = "query($id: ID!) { post(id: $id) { id title content author { username }
        comments(first: 100) { nodes { id content creationDate author { username } } } } }";
    let read = server.anonymous().data(page, json!({ "id": id })).await;
    assert_eq!(read["post"]["content"].as_str().unwrap().len(), CONTENT_CHARS);
    assert_eq!(read["post"]["comments"]["nodes"].as_array().unwrap().len(), 100);
}

#[tokio::test]
async fn long_response_keys_count_wherever_they_stand() {
    let responses = ResponseLimits { bytes_max: 100_000, ..ResponseLimits::default() };
    let server = server_with(responses, free()).await;
    let ada = server.sign_up("ada").await;
    for number in 0..10 {
        ada.post(&format!("Post {number}")).await;
    }
    server.settle().await;
    let key = "k".repeat(20_000);
    for query in [
        format!("{{ feed {{ nodes {{ {key}: id }} }} }}"),
        format!("{{ feed {{ nodes {{ {key}: __typename viewerHasLiked }} }} }}"),
        format!("{{ __schema {{ types {{ {key}: name }} }} }}"),
    ] {
        let answer = ada.ask(&query, json!({})).await;
        assert_over_limit(&answer.body["errors"][0], 100_000);
    }
    let answer = ada.ask("{ feed { nodes { id title } } }", json!({})).await;
    assert_eq!(answer.body["data"]["feed"]["nodes"].as_array().unwrap().len(), 10);
}

#[tokio::test]
async fn no_command_runs_for_a_response_over_its_limit() {
    let server = server_with(ResponseLimits::default(), free()).await;
    let ada = server.sign_up("ada").await;
    let write = format!(
        "mutation($first: CreatePostInput!, $second: CreatePostInput!) {{
            first: createPost(input: $first) {{ post {{ {} }} }}
            second: createPost(input: $second) {{ post {{ id }} }} }}",
        contents(20)
    );
    let long = json!({ "title": "Long", "content": ESCAPED.repeat(CONTENT_CHARS) });
    let answer =
        ada.ask(&write, json!({ "first": long, "second": { "title": "Short", "content": "?" } })).await;
    assert_over_limit(&answer.body["errors"][0], RESPONSE_BYTES_MAX);
    server.settle().await;
    let feed = ada.data("{ feed { nodes { title } } }", json!({})).await;
    assert_eq!(feed["feed"]["nodes"], json!([{ "title": "Long" }]));
}

/// A client that has got the first byte of its response and reads no more.
async fn unread(address: SocketAddr, query: &str, variables: Value) -> TcpStream {
    let body = json!({ "query": query, "variables": variables }).to_string();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("POST /graphql HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n");
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.read_u8().await.unwrap();
    stream
}

#[tokio::test]
async fn unread_responses_share_one_memory_limit() {
    // Two large responses fit into the half that large ones may take, and no third.
    let responses =
        ResponseLimits { in_flight_bytes_max: 4 * RESPONSE_BYTES_MAX, ..ResponseLimits::default() };
    let server = server_with(responses, free()).await;
    let ada = server.sign_up("ada").await;
    let id = escaped_post(&ada).await;
    let query = format!("query($id: ID!) {{ post(id: $id) {{ {} }} }}", contents(13));
    let held = [
        unread(server.address(), &query, json!({ "id": id })).await,
        unread(server.address(), &query, json!({ "id": id })).await,
    ];
    let answer = server.anonymous().ask(&query, json!({ "id": id })).await;
    let error = &answer.body["errors"][0];
    assert_eq!(error["extensions"]["code"], "UNAVAILABLE", "{error}");
    assert_eq!(error["extensions"]["retryAfterMs"], 1000);
    assert_eq!(answer.headers["retry-after"], "1");
    let small =
        server.anonymous().data("query($id: ID!) { post(id: $id) { title } }", json!({ "id": id })).await;
    assert_eq!(small["post"]["title"], "Escapes");
    drop(held);
    // The server notices the end of the connections in its own time.
    while server.anonymous().ask(&query, json!({ "id": id })).await.body.get("errors").is_some() {}
}

#[tokio::test]
async fn the_size_of_a_response_is_charged_to_the_quota() {
    let callers = RateLimits { ru_per_second: 1, burst_seconds: 3600, ..RateLimits::default() };
    let server = server_with(ResponseLimits { ru_per_kib: 3, ..ResponseLimits::default() }, callers).await;
    let ada = server.sign_up("ada").await;
    let id = escaped_post(&ada).await;
    let before = left(&server.anonymous().ask("{ __typename }", json!({})).await);
    let query = "query($id: ID!) { post(id: $id) { content } }";
    let answer = server.anonymous().ask(query, json!({ "id": id })).await;
    let charge = answer.body["extensions"]["requestCharge"].as_f64().unwrap();
    let size_charge = (CONTENT_BYTES as f64 / 1024.0 - 64.0) * 3.0;
    let spent = before - left(&answer);
    // Told in whole units; meanwhile the clock has gone on by milliseconds.
    assert!((spent - charge - size_charge).abs() < 3.0, "{spent} {charge} {size_charge}");
    assert!(charge < size_charge / 2.0, "the request charge is that of the store: {charge}");
    let many = format!("query($id: ID!) {{ post(id: $id) {{ {} }} }}", contents(4));
    let over = server.anonymous().ask(&many, json!({ "id": id })).await;
    assert_eq!(over.status, 200);
    let refused = server.anonymous().ask(query, json!({ "id": id })).await;
    assert_eq!((refused.status, refused.refused().code.as_str()), (429, "LIMIT_EXCEEDED"));
}

#[tokio::test]
async fn an_event_over_the_limit_is_an_error_and_not_a_result() {
    let server = server_with(ResponseLimits::default(), free()).await;
    let ada = server.sign_up("ada").await;
    let id = escaped_post(&ada).await;
    server.settle().await;
    let mut socket = WebSocketClient::open(server.address()).await;
    let query = format!(
        "subscription($id: ID!) {{ postChanged(id: $id) {{ {} }} }}",
        contents(50).replace("a49: content", "")
    );
    socket.request("1", json!({ "query": query, "variables": { "id": id } })).await;
    socket.settle().await;
    server.sign_up("bob").await.like(&id).await;
    let event = socket.hear_of("next", "1").await;
    assert_over_limit(&event["errors"][0], RESPONSE_BYTES_MAX);
}
