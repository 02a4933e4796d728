//! Subscribers that take nothing, or too little: they lose their connection, and others lose nothing.

use std::time::Duration;

use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::live::LiveLimits;
use onehop_graphql_server::pipeline::rate_limit::RateLimits;
use onehop_graphql_server::server::ConnectionLimits;
use serde_json::{Value, json};

use crate::http::toy::{LONG, Options, Toy};
use onehop_testing::event_stream::{EventStream, ServerSentEvent};
use onehop_testing::websocket::WebSocketClient;

/// A result that fills the buffers of a connection before long.
const BIG: &str = "subscription { numbers { value padding(length: 1000000) } }";
const RESULTS_WAITING_MAX: usize = 4;
/// Results that are far more than the buffers of a connection and those waiting.
const RESULTS: i32 = 60;

/// Results of a megabyte cost more than the capacity of a quota, which these tests do not examine.
fn free() -> RequestLimits {
    let callers = RateLimits { ru_per_second: 0, ..RateLimits::default() };
    RequestLimits { callers, ..RequestLimits::default() }
}

/// A server without patience for a subscriber. It has time for the end of a connection, however long a test
/// takes to look at it.
async fn impatient(live: LiveLimits) -> Toy {
    let live = LiveLimits { patience: Duration::ZERO, close_timeout: LONG, ..live };
    let connections = ConnectionLimits { write_timeout: LONG, ..ConnectionLimits::default() };
    Toy::start_with(Options { live, connections, limits: free(), ..Options::default() }).await
}

fn few_waiting() -> LiveLimits {
    LiveLimits { results_waiting_max: RESULTS_WAITING_MAX, ..LiveLimits::default() }
}

async fn subscribed(toy: &Toy) -> WebSocketClient {
    let mut socket = WebSocketClient::open(toy.address).await;
    socket.subscribe("1", BIG).await;
    socket.settle().await;
    socket
}

fn value(result: &Value) -> i32 {
    result["data"]["numbers"]["value"].as_i64().unwrap().try_into().unwrap()
}

#[tokio::test]
async fn a_slow_socket_is_closed_with_1013() {
    let toy = impatient(few_waiting()).await;
    let (mut quick, mut slow) = (subscribed(&toy).await, subscribed(&toy).await);
    for number in 1..=RESULTS {
        toy.state.tell(number);
        assert_eq!(value(&quick.hear_of("next", "1").await), number);
    }
    let (code, reason) = slow.closed().await;
    assert!(code == 1013 && reason.contains("slow"), "{code} {reason}");
}

#[tokio::test]
async fn a_slow_stream_gets_an_error_and_ends() {
    let toy = impatient(few_waiting()).await;
    let mut quick = subscribed(&toy).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request =
        client.post(format!("http://{}/graphql", toy.address)).header("accept", "text/event-stream");
    let request =
        request.header("content-type", "application/json").body(json!({ "query": BIG }).to_string());
    let mut slow = EventStream::of(request.send().await.unwrap());
    for number in 1..=RESULTS {
        toy.state.tell(number);
        assert_eq!(value(&quick.hear_of("next", "1").await), number);
    }
    let mut last = Value::Null;
    while let Some(ServerSentEvent::Next(result)) = slow.event().await {
        last = result;
    }
    assert_eq!(last["errors"][0]["extensions"]["code"], "LIMIT_EXCEEDED");
    assert_eq!(slow.event().await, None);
}

#[tokio::test]
async fn a_burst_is_buffered_for_every_subscriber() {
    // Even if the first of them takes long to read all, no subscriber is slow.
    let live = LiveLimits { results_waiting_max: 2, patience: LONG, ..LiveLimits::default() };
    let toy = Toy::start_with(Options { live, limits: free(), ..Options::default() }).await;
    let mut sockets = Vec::new();
    for _ in 0..5 {
        let mut socket = WebSocketClient::open(toy.address).await;
        socket.subscribe("1", "subscription { numbers { value } }").await;
        socket.settle().await;
        sockets.push(socket);
    }
    for number in 1..=500 {
        toy.state.tell(number);
    }
    for socket in &mut sockets {
        for number in 1..=500 {
            assert_eq!(value(&socket.hear_of("next", "1").await), number);
        }
    }
}

#[tokio::test]
async fn a_connection_that_takes_nothing_is_broken_off() {
    let connections =
        ConnectionLimits { write_timeout: Duration::from_millis(50), ..ConnectionLimits::default() };
    let toy = Toy::start_with(Options { connections, ..Options::default() }).await;
    let mut socket = subscribed(&toy).await;
    let numbers = async {
        loop {
            if toy.state.numbers.0.send(1).is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    numbers.await;
    // The content of the buffers is read, and then there is no orderly end.
    while socket.raw_frame().await.is_some() {}
}

#[tokio::test]
async fn results_that_wait_are_bounded_by_their_bytes() {
    let live = LiveLimits { results_waiting_bytes_max: 3_500_000, ..LiveLimits::default() };
    let toy = impatient(live).await;
    let (mut quick, mut slow) = (subscribed(&toy).await, subscribed(&toy).await);
    for number in 1..=RESULTS {
        toy.state.tell(number);
        assert_eq!(value(&quick.hear_of("next", "1").await), number);
        // At most three wait, one is sent with its two copies to each socket, and one is written.
        assert!(toy.responses.reserved() < 12_000_000, "{}", toy.responses.reserved());
    }
    let (code, reason) = slow.closed().await;
    assert!(code == 1013 && reason.contains("slow"), "{code} {reason}");
}
