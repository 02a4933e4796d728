//! The rules of `graphql-transport-ws`, one by one:
//! <https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md>.

use std::time::Duration;

use axum::http::HeaderValue;
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::live::LiveLimits;
use onehop_graphql_server::pipeline::parse::BodyLimits;
use onehop_graphql_server::router::Exposure;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::http::toy::{LONG, Options, Toy};
use onehop_testing::websocket::{SUBPROTOCOL, WebSocketClient};

const AT_ONCE: Duration = Duration::from_millis(1);

async fn toy_with(live: LiveLimits) -> Toy {
    Toy::start_with(Options { live, ..Options::default() }).await
}

/// The code of the only error of a request.
fn code(errors: &Value) -> &str {
    assert_eq!(errors.as_array().map(Vec::len), Some(1), "{errors}");
    errors[0]["extensions"]["code"].as_str().unwrap()
}

async fn closes(socket: &mut WebSocketClient, code: u16, reason: &str) {
    assert_eq!(socket.closed().await, (code, reason.to_owned()));
}

#[tokio::test]
async fn the_handshake_answers_with_the_subprotocol() {
    let toy = Toy::start().await;
    let offers = format!("graphql-ws, {SUBPROTOCOL}");
    let socket =
        WebSocketClient::handshake(toy.address, &[("Sec-WebSocket-Protocol", &offers)]).await.unwrap();
    assert!(socket.head.contains(&format!("sec-websocket-protocol: {SUBPROTOCOL}\r\n")), "{}", socket.head);
}

#[tokio::test]
async fn the_legacy_protocol_and_none_are_closed_with_4406() {
    let toy = Toy::start().await;
    for headers in [&[("Sec-WebSocket-Protocol", "graphql-ws")][..], &[]] {
        let mut socket = WebSocketClient::handshake(toy.address, headers).await.unwrap();
        assert!(!socket.head.contains("sec-websocket-protocol"));
        closes(&mut socket, 4406, "Subprotocol not acceptable").await;
    }
}

#[tokio::test]
async fn a_connection_is_acknowledged_with_and_without_a_payload() {
    let toy = Toy::start().await;
    for init in [
        json!({ "type": "connection_init" }),
        json!({ "type": "connection_init", "payload": null }),
        json!({ "type": "connection_init", "payload": { "anything": [1] } }),
    ] {
        let mut socket = WebSocketClient::connect(toy.address).await;
        socket.say(init).await;
        assert_eq!(socket.hear().await, json!({ "type": "connection_ack" }));
    }
}

#[tokio::test]
async fn silence_after_the_handshake_is_closed_with_4408() {
    let toy = toy_with(LiveLimits { init_timeout: AT_ONCE, ..LiveLimits::default() }).await;
    let mut socket = WebSocketClient::connect(toy.address).await;
    closes(&mut socket, 4408, "Connection initialisation timeout").await;
}

#[tokio::test]
async fn a_ping_is_no_connection_init() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::connect(toy.address).await;
    socket.settle().await;
    // A second one would close the socket with 4429.
    socket.say(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.hear().await, json!({ "type": "connection_ack" }));
    let mut socket = WebSocketClient::connect(toy.address).await;
    socket.settle().await;
    socket.subscribe("1", "{ viewer }").await;
    closes(&mut socket, 4401, "Unauthorized").await;
}

#[tokio::test]
async fn a_second_connection_init_is_closed_with_4429() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::open(toy.address).await;
    socket.say(json!({ "type": "connection_init" })).await;
    closes(&mut socket, 4429, "Too many initialisation requests").await;
}

#[tokio::test]
async fn an_operation_before_the_connection_is_closed_with_4401() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::connect(toy.address).await;
    socket.subscribe("1", "{ viewer }").await;
    closes(&mut socket, 4401, "Unauthorized").await;
}

#[tokio::test]
async fn an_unknown_message_closes_the_socket_with_4400() {
    let toy = Toy::start().await;
    for message in [
        Message::text("no json"),
        Message::text(
            json!({ "type": "start", "id": "1", "payload": { "query": "{ viewer }" } }).to_string(),
        ),
        Message::text(json!({ "type": "connection_ack" }).to_string()),
        Message::text(json!({ "type": "subscribe", "payload": { "query": "{ viewer }" } }).to_string()),
        Message::text(json!({ "type": "subscribe", "id": "1", "payload": {} }).to_string()),
        Message::text(json!({ "type": "ping", "payload": "text" }).to_string()),
        Message::binary(json!({ "type": "ping" }).to_string().into_bytes()),
    ] {
        let mut socket = WebSocketClient::open(toy.address).await;
        socket.send(message).await;
        let (code, reason) = socket.closed().await;
        assert!(code == 4400 && reason.starts_with("Invalid message: "), "{code} {reason}");
    }
}

#[tokio::test]
async fn a_caller_is_known_by_the_authorization_of_connection_init() {
    let toy = Toy::start().await;
    for (payload, expected) in [
        (json!({ "authorization": "Bearer ada" }), json!("ada")),
        (json!({ "Authorization": "bearer ada" }), json!("ada")),
        (json!({ "authorization": null }), Value::Null),
        (json!({}), Value::Null),
    ] {
        let mut socket = WebSocketClient::open_with(toy.address, payload).await;
        socket.subscribe("1", "{ viewer }").await;
        assert_eq!(socket.hear_of("next", "1").await["data"]["viewer"], expected);
    }
}

#[tokio::test]
async fn connection_init_overrides_the_handshakes_token() {
    let toy = Toy::start().await;
    let headers = [("Sec-WebSocket-Protocol", SUBPROTOCOL), ("Authorization", "Bearer ada")];
    for (payload, expected) in [(json!({}), "ada"), (json!({ "authorization": "Bearer grace" }), "grace")] {
        let mut socket = WebSocketClient::handshake(toy.address, &headers).await.unwrap();
        socket.say(json!({ "type": "connection_init", "payload": payload })).await;
        assert_eq!(socket.hear().await["type"], "connection_ack");
        socket.subscribe("1", "{ viewer }").await;
        assert_eq!(socket.hear_of("next", "1").await["data"]["viewer"], expected);
    }
    let garbled = [("Sec-WebSocket-Protocol", SUBPROTOCOL), ("Authorization", "Basic YTpi")];
    assert_eq!(WebSocketClient::handshake(toy.address, &garbled).await.err().unwrap().status, 401);
}

#[tokio::test]
async fn a_forged_token_is_closed_with_4403_and_never_anonymous() {
    let toy = Toy::start().await;
    for authorization in ["Bearer forged", "Basic YTpi", "ada", ""] {
        let mut socket = WebSocketClient::connect(toy.address).await;
        let payload = json!({ "authorization": authorization });
        socket.say(json!({ "type": "connection_init", "payload": payload })).await;
        closes(&mut socket, 4403, "Forbidden").await;
    }
}

#[tokio::test]
async fn a_token_that_cannot_be_verified_now_is_to_be_tried_again() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::connect(toy.address).await;
    let payload = json!({ "authorization": "Bearer overloaded" });
    socket.say(json!({ "type": "connection_init", "payload": payload })).await;
    assert_eq!(socket.closed().await.0, 1013);
}

#[tokio::test]
async fn a_connection_ends_with_its_token_by_4403() {
    let toy = Toy::start().await;
    let mut socket =
        WebSocketClient::open_with(toy.address, json!({ "authorization": "Bearer brief-100" })).await;
    socket.subscribe("1", "subscription { numbers { value } }").await;
    closes(&mut socket, 4403, "Forbidden: the access token has expired").await;
}

#[tokio::test]
async fn a_ping_is_answered_with_its_payload_at_any_time() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::connect(toy.address).await;
    socket.settle().await;
    let payload = json!({ "sent": 1, "by": ["me"] });
    socket.say(json!({ "type": "ping", "payload": payload })).await;
    assert_eq!(socket.hear().await, json!({ "type": "pong", "payload": payload }));
    socket.say(json!({ "type": "pong" })).await;
    socket.say(json!({ "type": "pong", "payload": {} })).await;
    socket.settle().await;
}

#[tokio::test]
async fn a_query_and_a_mutation_have_one_result_and_an_end() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::open(toy.address).await;
    socket
        .request(
            "q",
            json!({ "query": "query A($a: ID!) { item(id: $a) } query B { viewer }", "operationName": "A",
        "variables": { "a": "7" } }),
        )
        .await;
    let expected = json!({ "data": { "item": "7" }, "extensions": { "requestCharge": 1 } });
    assert_eq!(socket.hear_of("next", "q").await, expected);
    socket.hear_of("complete", "q").await;
    socket.subscribe("m", "mutation { count }").await;
    assert_eq!(socket.hear_of("next", "m").await["data"]["count"], 1);
    socket.hear_of("complete", "m").await;
}

#[tokio::test]
async fn an_error_of_a_field_is_part_of_the_result() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::open(toy.address).await;
    socket.subscribe("1", "{ fails viewer }").await;
    let result = socket.hear_of("next", "1").await;
    assert_eq!(
        (&result["data"], code(&result["errors"])),
        (&json!({ "fails": null, "viewer": null }), "UNAVAILABLE")
    );
    socket.hear_of("complete", "1").await;
}

#[tokio::test]
async fn a_request_that_cannot_be_executed_is_an_error_and_has_no_end() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::open(toy.address).await;
    for (payload, expected) in [
        (json!({ "query": "{ unclosed" }), "GRAPHQL_PARSE_FAILED"),
        (json!({ "query": "{ nothing }" }), "GRAPHQL_VALIDATION_FAILED"),
        (json!({ "query": "query A { viewer } query B { viewer }" }), "BAD_USER_INPUT"),
        (json!({ "query": "{ viewer }", "operationName": "C" }), "BAD_USER_INPUT"),
        (json!({ "query": "query($a: ID!) { item(id: $a) }" }), "BAD_USER_INPUT"),
        (json!({ "query": format!("{{ {} }}", "viewer ".repeat(10_001)) }), "LIMIT_EXCEEDED"),
        (json!({ "query": "subscription { nothing }" }), "GRAPHQL_VALIDATION_FAILED"),
        (json!({ "query": "subscription { refused }" }), "NOT_FOUND"),
    ] {
        socket.request("1", payload.clone()).await;
        assert_eq!(code(&socket.hear_of("error", "1").await), expected, "{payload}");
    }
    // The id is free again, and the connection goes on.
    socket.subscribe("1", "{ viewer }").await;
    socket.hear_of("next", "1").await;
}

#[tokio::test]
async fn an_operation_past_its_time_is_an_error() {
    let limits = RequestLimits { timeout: AT_ONCE, ..RequestLimits::default() };
    let toy = Toy::start_with(Options { limits, ..Options::default() }).await;
    let mut socket = WebSocketClient::open(toy.address).await;
    socket.subscribe("1", "{ waits }").await;
    assert_eq!(code(&socket.hear_of("error", "1").await), "UNAVAILABLE");
}

#[tokio::test]
async fn a_subscription_has_results_over_time() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::open(toy.address).await;
    socket.subscribe("1", "subscription { numbers { value odd } }").await;
    socket.settle().await;
    toy.state.tell(1);
    assert_eq!(
        socket.hear_of("next", "1").await,
        json!({ "data": { "numbers": { "value": 1, "odd": true } } })
    );
    toy.state.tell(2);
    let result = socket.hear_of("next", "1").await;
    assert_eq!(result["data"], json!({ "numbers": { "value": 2, "odd": null } }));
    assert_eq!(result["errors"][0]["path"], json!(["numbers", "odd"]));
}

#[tokio::test]
async fn a_subscription_ends_when_nothing_more_is_to_come() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::open(toy.address).await;
    socket.subscribe("1", "subscription { countsTo(last: 2) }").await;
    for number in 1..=2 {
        assert_eq!(socket.hear_of("next", "1").await["data"]["countsTo"], number);
    }
    socket.hear_of("complete", "1").await;
    assert_eq!(toy.state.subscriptions.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn nothing_is_heard_of_an_operation_that_its_client_completed() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::open(toy.address).await;
    socket.subscribe("1", "subscription { numbers { value } }").await;
    socket.subscribe("2", "{ waits }").await;
    toy.state.begun.notified().await;
    for id in ["1", "2", "unknown"] {
        socket.say(json!({ "type": "complete", "id": id })).await;
    }
    socket.settle().await;
    toy.state.numbers.0.send(1).ok();
    toy.state.released.notify_one();
    socket.subscribe("1", "{ viewer }").await;
    assert_eq!(socket.hear_of("next", "1").await["data"], json!({ "viewer": null }), "the id is free again");
}

#[tokio::test]
async fn an_id_in_use_is_closed_with_4409_whatever_the_operation() {
    let toy = Toy::start().await;
    for first in ["subscription { numbers { value } }", "{ waits }"] {
        let mut socket = WebSocketClient::open(toy.address).await;
        socket.subscribe("a b", first).await;
        socket.subscribe("a b", "{ viewer }").await;
        closes(&mut socket, 4409, "Subscriber for a b already exists").await;
    }
}

#[tokio::test]
async fn operations_of_a_connection_run_side_by_side() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::open(toy.address).await;
    socket.subscribe("slow", "{ waits }").await;
    toy.state.begun.notified().await;
    socket.subscribe("quick", "{ viewer }").await;
    socket.hear_of("next", "quick").await;
    socket.hear_of("complete", "quick").await;
    toy.state.released.notify_one();
    assert_eq!(socket.hear_of("next", "slow").await["data"]["waits"], "done");
}

#[tokio::test]
async fn a_subscription_has_begun_before_the_next_message_is_read() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::open(toy.address).await;
    for id in 0..20 {
        socket.subscribe(&id.to_string(), &format!("subscription {{ numbers {{ n{id}: value }} }}")).await;
    }
    socket.settle().await;
    assert_eq!(toy.state.numbers.0.receiver_count(), 20);
}

#[tokio::test]
async fn a_socket_that_its_client_closes_ends_its_subscriptions() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::open(toy.address).await;
    socket.subscribe("1", "subscription { numbers { value } }").await;
    socket.settle().await;
    socket.close().await;
    toy.tasks.stop();
    let (_no_signals, signals) = tokio::sync::mpsc::channel(1);
    toy.tasks.run_until(signals, LONG).await.unwrap();
    assert_eq!(toy.state.subscriptions.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn every_socket_is_closed_with_1001_when_the_process_stops() {
    let toy = Toy::start().await;
    let mut silent = WebSocketClient::connect(toy.address).await;
    let mut subscribed = WebSocketClient::open(toy.address).await;
    subscribed.subscribe("1", "subscription { numbers { value } }").await;
    subscribed.subscribe("2", "{ waits }").await;
    subscribed.settle().await;
    toy.tasks.stop();
    for socket in [&mut silent, &mut subscribed] {
        closes(socket, 1001, "Going away").await;
    }
    let (_no_signals, signals) = tokio::sync::mpsc::channel(1);
    toy.tasks.run_until(signals, LONG).await.unwrap();
}

#[tokio::test]
async fn a_silent_client_is_pinged() {
    let toy = toy_with(LiveLimits { keep_alive: AT_ONCE, ..LiveLimits::default() }).await;
    let mut socket = WebSocketClient::connect(toy.address).await;
    assert!(matches!(socket.raw_frame().await, Some(Message::Ping(_))));
}

#[tokio::test]
async fn a_client_that_gives_no_sign_of_life_is_dropped() {
    let toy = toy_with(LiveLimits { keep_alive: AT_ONCE, ..LiveLimits::default() }).await;
    let mut stream = {
        use tokio::io::AsyncWriteExt;
        let mut stream = tokio::net::TcpStream::connect(toy.address).await.unwrap();
        let request = format!(
            "GET /graphql HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: {SUBPROTOCOL}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    };
    // The bytes of the handshake and of the pings, and then the end.
    let mut read = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut read).await.unwrap();
    assert!(read.starts_with(b"HTTP/1.1 101"));
}

#[tokio::test]
async fn a_message_that_is_too_big_is_closed_with_1009() {
    let body = BodyLimits { bytes_max: 1000, ..BodyLimits::default() };
    let limits = RequestLimits { body, ..RequestLimits::default() };
    let toy = Toy::start_with(Options { limits, ..Options::default() }).await;
    for size in [1000, 2500] {
        let mut socket = WebSocketClient::open(toy.address).await;
        socket.subscribe("1", &format!("{{ viewer }} # {}", "x".repeat(size))).await;
        closes(&mut socket, 1009, "A message may have 1000 bytes").await;
    }
}

#[tokio::test]
async fn operations_beyond_the_limit_of_a_connection_are_refused() {
    let toy = toy_with(LiveLimits { operations_per_connection_max: 2, ..LiveLimits::default() }).await;
    let mut socket = WebSocketClient::open(toy.address).await;
    socket.subscribe("1", "subscription { numbers { value } }").await;
    socket.subscribe("2", "{ waits }").await;
    socket.subscribe("3", "{ viewer }").await;
    assert_eq!(code(&socket.hear_of("error", "3").await), "LIMIT_EXCEEDED");
    socket.say(json!({ "type": "complete", "id": "1" })).await;
    socket.subscribe("3", "{ viewer }").await;
    socket.hear_of("next", "3").await;
}

#[tokio::test]
async fn subscriptions_of_a_user_are_counted_over_all_connections() {
    let toy = toy_with(LiveLimits { subscriptions_per_user_max: 1, ..LiveLimits::default() }).await;
    let ada = json!({ "authorization": "Bearer ada" });
    let mut first = WebSocketClient::open_with(toy.address, ada.clone()).await;
    first.subscribe("1", "subscription { numbers { value } }").await;
    first.settle().await;
    let mut second = WebSocketClient::open_with(toy.address, ada).await;
    second.subscribe("1", "subscription { numbers { value } }").await;
    let errors = second.hear_of("error", "1").await;
    assert_eq!((code(&errors), &errors[0]["extensions"]["max"]), ("LIMIT_EXCEEDED", &json!(1)));
    assert_eq!(errors[0]["extensions"]["limit"], "live-subscriptions-per-user");
    let mut grace = WebSocketClient::open_with(toy.address, json!({ "authorization": "Bearer grace" })).await;
    grace.subscribe("1", "subscription { numbers { value } }").await;
    grace.settle().await;
}

#[tokio::test]
async fn subscriptions_and_connections_of_the_process_are_limited() {
    let live = LiveLimits { subscriptions_max: 1, connections_max: 2, ..LiveLimits::default() };
    let toy = toy_with(live).await;
    let mut first = WebSocketClient::open(toy.address).await;
    first.subscribe("1", "subscription { numbers { value } }").await;
    first.subscribe("2", "subscription { numbers { value } }").await;
    assert_eq!(code(&first.hear_of("error", "2").await), "LIMIT_EXCEEDED");
    let _second = WebSocketClient::open(toy.address).await;
    let refused = WebSocketClient::handshake(toy.address, &[("Sec-WebSocket-Protocol", SUBPROTOCOL)])
        .await
        .err()
        .unwrap();
    assert!(refused.status == 503 && refused.text.contains("LIMIT_EXCEEDED"), "{refused:?}");
}

#[tokio::test]
async fn a_page_of_another_origin_may_not_open_a_socket() {
    let allowed_origins = vec![HeaderValue::from_static("https://blog.example")];
    let exposure = Exposure { allowed_origins, ..Exposure::default() };
    let toy = Toy::start_with(Options { exposure, ..Options::default() }).await;
    let own = format!("http://{}", toy.address);
    let from = async |origin: &str| {
        WebSocketClient::handshake(
            toy.address,
            &[("Sec-WebSocket-Protocol", SUBPROTOCOL), ("Origin", origin)],
        )
        .await
    };
    assert!(from(&own).await.is_ok() && from("https://blog.example").await.is_ok());
    for foreign in ["https://evil.example", "null"] {
        let refused = from(foreign).await.err().unwrap();
        assert!(refused.status == 403 && refused.text.contains("FORBIDDEN"), "{refused:?}");
    }
}

#[tokio::test]
async fn a_panic_of_a_resolver_ends_its_operation_and_no_other() {
    let toy = Toy::start().await;
    let mut bystander = WebSocketClient::open(toy.address).await;
    bystander.subscribe("1", "subscription { numbers { value } }").await;
    bystander.settle().await;
    let mut socket = WebSocketClient::open(toy.address).await;
    socket.subscribe("1", "subscription { numbers { panics } }").await;
    socket.settle().await;
    toy.state.tell(1);
    socket.hear_of("complete", "1").await;
    assert_eq!(bystander.hear_of("next", "1").await["data"]["numbers"]["value"], 1);
}
