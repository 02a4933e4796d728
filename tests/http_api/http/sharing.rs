//! Equal subscriptions share one execution: a change is resolved and written once, however many listen.

use std::sync::atomic::Ordering;

use onehop_graphql_server::client_address::{ForwardingHeader, Proxies};
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::live::LiveLimits;
use onehop_graphql_server::pipeline::rate_limit::RateLimits;
use serde_json::json;

use crate::http::toy::{Options, Toy};
use onehop_testing::websocket::{SUBPROTOCOL, WebSocketClient};

const NUMBERS: &str = "subscription { numbers { value } }";

fn executions(toy: &Toy) -> usize {
    toy.state.subscriptions.load(Ordering::SeqCst)
}

async fn subscribed(toy: &Toy, token: Option<&str>, query: &str) -> WebSocketClient {
    let payload = token.map_or(json!({}), |token| json!({ "authorization": format!("Bearer {token}") }));
    let mut socket = WebSocketClient::open_with(toy.address, payload).await;
    socket.subscribe("1", query).await;
    socket.settle().await;
    socket
}

#[tokio::test]
async fn a_change_is_resolved_once_however_many_listen() {
    let toy = Toy::start().await;
    let mut sockets = Vec::new();
    for number in 0..50 {
        let token = (number % 2 == 0).then_some("ada");
        sockets.push(subscribed(&toy, token, NUMBERS).await);
    }
    for number in 1..=3 {
        toy.state.tell(number);
        for socket in &mut sockets {
            assert_eq!(socket.hear_of("next", "1").await["data"]["numbers"]["value"], number);
        }
    }
    assert_eq!((executions(&toy), toy.state.resolved.load(Ordering::SeqCst)), (1, 3));
}

#[tokio::test]
async fn what_depends_on_its_viewer_is_shared_by_the_viewer_only() {
    let toy = Toy::start().await;
    let personal = "subscription { numbers { value viewer } }";
    let mut sockets = Vec::new();
    for token in [Some("ada"), Some("ada"), Some("grace"), None, None] {
        sockets.push((token, subscribed(&toy, token, personal).await));
    }
    assert_eq!(executions(&toy), 3);
    toy.state.tell(1);
    for (token, socket) in &mut sockets {
        assert_eq!(socket.hear_of("next", "1").await["data"]["numbers"]["viewer"], json!(token));
    }
}

#[tokio::test]
async fn different_variables_or_extensions_are_not_shared() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::open(toy.address).await;
    let padded = "subscription A($n: Int!) { numbers { padding(length: $n) } } subscription B($n: Int!) { numbers { p: padding(length: $n) } }";
    let requests = [
        json!({ "query": NUMBERS }),
        json!({ "query": "subscription { numbers { number: value } }" }),
        json!({ "query": NUMBERS, "extensions": { "operations": true } }),
        json!({ "query": padded, "operationName": "A", "variables": { "n": 1 } }),
        json!({ "query": padded, "operationName": "A", "variables": { "n": 2 } }),
        json!({ "query": padded, "operationName": "B", "variables": { "n": 2 } }),
        json!({ "query": padded, "operationName": "B", "variables": { "n": 2 } }),
    ];
    for (id, request) in requests.iter().enumerate() {
        socket.request(&id.to_string(), request.clone()).await;
    }
    socket.settle().await;
    assert_eq!(executions(&toy), requests.len() - 1);
}

#[tokio::test]
async fn an_execution_ends_with_its_last_subscriber() {
    let toy = Toy::start().await;
    let (mut first, mut second) =
        (subscribed(&toy, None, NUMBERS).await, subscribed(&toy, None, NUMBERS).await);
    first.say(json!({ "type": "complete", "id": "1" })).await;
    first.settle().await;
    toy.state.tell(1);
    second.hear_of("next", "1").await;
    assert_eq!(executions(&toy), 1);
    second.say(json!({ "type": "complete", "id": "1" })).await;
    second.settle().await;
    while executions(&toy) > 0 {
        tokio::task::yield_now().await;
    }
    let mut third = subscribed(&toy, None, NUMBERS).await;
    toy.state.tell(2);
    assert_eq!(third.hear_of("next", "1").await["data"]["numbers"]["value"], 2);
    assert_eq!(toy.state.begun_subscriptions.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn those_who_join_at_the_same_time_begin_together() {
    let toy = Toy::start().await;
    let joined = futures::future::join_all((0..20).map(|_| subscribed(&toy, None, NUMBERS))).await;
    assert_eq!((joined.len(), toy.state.begun_subscriptions.load(Ordering::SeqCst)), (20, 1));
}

#[tokio::test]
async fn a_refusal_reaches_all_members_and_is_not_cached() {
    let toy = Toy::start().await;
    for begun in 1..=2 {
        let mut socket = WebSocketClient::open(toy.address).await;
        socket.subscribe("1", "subscription { refused }").await;
        assert_eq!(socket.hear_of("error", "1").await[0]["extensions"]["code"], "NOT_FOUND");
        assert_eq!(toy.state.begun_subscriptions.load(Ordering::SeqCst), begun);
    }
}

#[tokio::test]
async fn big_and_too_many_different_subscriptions_are_refused() {
    let live = LiveLimits { subscription_bytes_max: 100, different_bytes_max: 150, ..LiveLimits::default() };
    let toy = Toy::start_with(Options { live, ..Options::default() }).await;
    let normal = "subscription{numbers{:value}}";
    let padded = |length: usize| {
        format!("subscription {{ numbers {{ {}: value }} }}", "x".repeat(length - normal.len()))
    };
    let mut socket = WebSocketClient::open(toy.address).await;
    // With the braces of empty variables and extensions.
    socket.subscribe("big", &padded(97)).await;
    let message = socket.hear_of("error", "big").await[0]["message"].clone();
    assert!(message.as_str().unwrap().contains("100 bytes"), "{message}");
    socket.subscribe("first", &padded(96)).await;
    socket.subscribe("same", &padded(96)).await;
    socket.subscribe("other", &padded(60)).await;
    assert_eq!(socket.hear_of("error", "other").await[0]["extensions"]["code"], "LIMIT_EXCEEDED");
    socket.say(json!({ "type": "complete", "id": "first" })).await;
    socket.say(json!({ "type": "complete", "id": "same" })).await;
    socket.settle().await;
    while executions(&toy) > 0 {
        tokio::task::yield_now().await;
    }
    socket.subscribe("other", &padded(60)).await;
    socket.settle().await;
}

#[tokio::test]
async fn comments_white_space_and_undefined_variables_share() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::open(toy.address).await;
    let requests = [
        json!({ "query": NUMBERS }),
        json!({ "query": "# a comment of my own\nsubscription{numbers{value}}" }),
        json!({ "query": "subscription {\n  numbers {\n    value,\n  }\n}\n" }),
        json!({ "query": NUMBERS, "variables": { "undefined": 1 } }),
    ];
    for (id, request) in requests.iter().enumerate() {
        socket.request(&id.to_string(), request.clone()).await;
    }
    socket.settle().await;
    assert_eq!(executions(&toy), 1);
    toy.state.tell(7);
    for id in 0..requests.len() {
        assert_eq!(socket.hear_of("next", &id.to_string()).await["data"]["numbers"]["value"], 7);
    }
}

#[tokio::test]
async fn a_network_does_not_take_all_different_subscriptions() {
    let live = LiveLimits {
        different_bytes_max: 800,
        different_bytes_per_network_max: 100,
        ..LiveLimits::default()
    };
    let callers = RateLimits {
        proxies: Proxies { trusted: 1, header: ForwardingHeader::XForwardedFor },
        ..RateLimits::default()
    };
    let limits = RequestLimits { callers, ..RequestLimits::default() };
    let toy = Toy::start_with(Options { live, limits, ..Options::default() }).await;
    let open = async |address: &str, payload| {
        let headers = [("Sec-WebSocket-Protocol", SUBPROTOCOL), ("X-Forwarded-For", address)];
        let mut socket = WebSocketClient::handshake(toy.address, &headers).await.expect("a socket");
        socket.init(payload).await;
        socket
    };
    let mut first = open("192.0.2.1", json!({})).await;
    first.subscribe("1", NUMBERS).await;
    first.subscribe("2", "subscription { numbers { number: value } }").await;
    first.subscribe("3", "subscription { numbers { another: value } }").await;
    let extensions = first.hear_of("error", "3").await[0]["extensions"].take();
    assert_eq!(extensions["limit"], "different-subscriptions-bytes-per-network");
    first.subscribe("4", NUMBERS).await;
    for (address, payload) in
        [("192.0.2.1", json!({ "authorization": "Bearer ada" })), ("192.0.2.2", json!({}))]
    {
        let mut socket = open(address, payload).await;
        socket.subscribe("1", "subscription { numbers { another: value } }").await;
        socket.settle().await;
        toy.state.tell(1);
        assert_eq!(socket.hear_of("next", "1").await["data"]["numbers"]["another"], 1);
    }
}
