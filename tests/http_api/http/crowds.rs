//! More requests than the server executes at once: some wait, cheap ones go first, the rest is sent away.

use std::net::{Ipv4Addr, SocketAddr};

use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::pipeline::admit::ConcurrencyLimits;
use onehop_graphql_server::response_limits::{RESPONSE_BYTES_RESERVED, ResponseLimits};
use onehop_graphql_server::server::ConnectionLimits;
use serde_json::json;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpSocket, TcpStream},
    task::JoinHandle,
};

use crate::http::client::{Answer, post, read_answer, request};
use crate::http::toy::{COMPLEXITY_MAX, Options, Toy};
use onehop_testing::websocket::WebSocketClient;

/// A server that executes one request at once, and lets so many wait.
async fn toy(waiting_max: usize) -> Toy {
    let admission = ConcurrencyLimits { executing_max: 1, waiting_max, complexity_max: COMPLEXITY_MAX };
    let limits = RequestLimits { admission, ..RequestLimits::default() };
    Toy::start_with(Options { limits, ..Options::default() }).await
}

/// A request without an answer before it is released; it is executing when this returns.
async fn occupy(toy: &Toy) -> JoinHandle<Answer> {
    let sent = ask(toy.address, "{ waits }");
    toy.state.begun.notified().await;
    sent
}

#[allow(clippy::disallowed_methods, reason = "a client of a test")]
fn ask(address: SocketAddr, query: &str) -> JoinHandle<Answer> {
    tokio::spawn(post(json!({ "query": query })).send(address))
}

/// Waits until so many wait, without looking at the clock.
async fn until_waiting(toy: &Toy, number: usize) {
    while toy.admission.load().waiting < number {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_full_queue_gets_503_and_health_still_answers() {
    let toy = toy(0).await;
    let occupied = occupy(&toy).await;
    let answer = post(json!({ "query": "mutation { count }" })).send(toy.address).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "UNAVAILABLE"));
    assert_eq!(answer.header("retry-after"), Some("1"));
    for path in ["/healthz", "/readyz", "/"] {
        assert_eq!(request("GET", path).send(toy.address).await.status, 200, "{path}");
    }
    toy.state.released.notify_one();
    assert_eq!(occupied.await.unwrap().status, 200);
    assert_eq!(post(json!({ "query": "{ viewer }" })).send(toy.address).await.status, 200);
}

#[tokio::test]
async fn cheap_requests_overtake_an_expensive_one() {
    let toy = toy(100).await;
    let occupied = occupy(&toy).await;
    let expensive =
        ask(toy.address, &format!("mutation {{ count nested: __typename {} }}", "count ".repeat(8)));
    until_waiting(&toy, 1).await;
    let cheap = [1, 2].map(|_| ask(toy.address, "mutation { count }"));
    until_waiting(&toy, 3).await;
    toy.state.released.notify_one();
    assert_eq!(occupied.await.unwrap().status, 200);
    let mut counts = Vec::new();
    for cheap in cheap {
        counts.push(cheap.await.unwrap().json()["data"]["count"].as_u64().unwrap());
    }
    counts.sort_unstable();
    assert_eq!(counts, [1, 2]);
    assert!(expensive.await.unwrap().json()["data"]["count"].as_u64().unwrap() > 2);
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_the_line() {
    let toy = toy(1).await;
    let occupied = occupy(&toy).await;
    let gone = ask(toy.address, "{ viewer }");
    until_waiting(&toy, 1).await;
    gone.abort();
    while toy.admission.load().waiting > 0 {
        tokio::task::yield_now().await;
    }
    let waiting = ask(toy.address, "{ viewer }");
    until_waiting(&toy, 1).await;
    toy.state.released.notify_one();
    assert_eq!((occupied.await.unwrap().status, waiting.await.unwrap().status), (200, 200));
}

#[tokio::test]
async fn what_is_refused_takes_no_place() {
    let toy = toy(0).await;
    let occupied = occupy(&toy).await;
    for (query, status) in [("{", 400), ("{ nested { nested { nested { nested", 400)] {
        assert_eq!(post(json!({ "query": query })).send(toy.address).await.status, status);
    }
    toy.state.released.notify_one();
    assert_eq!(occupied.await.unwrap().status, 200);
}

#[tokio::test]
async fn without_memory_for_its_response_a_request_gets_503() {
    let responses = ResponseLimits {
        in_flight_bytes_max: 2 * RESPONSE_BYTES_RESERVED + RESPONSE_BYTES_RESERVED / 2,
        bytes_max: 1024 * 1024,
        ..ResponseLimits::default()
    };
    let limits = RequestLimits { responses, ..RequestLimits::default() };
    let toy = Toy::start_with(Options { limits, ..Options::default() }).await;
    let first = occupy(&toy).await;
    let answer = post(json!({ "query": "{ viewer }" })).send(toy.address).await;
    assert_eq!(answer.status, 200, "there is room for two");
    let second = occupy(&toy).await;
    let answer = post(json!({ "query": "mutation { count }" })).send(toy.address).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "UNAVAILABLE"));
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(toy.state.mutations.load(std::sync::atomic::Ordering::SeqCst), 0);
    toy.state.released.notify_waiters();
    for occupied in [first, second] {
        assert_eq!(occupied.await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn one_network_does_not_take_the_connections_of_others() {
    let connections = ConnectionLimits { connections_per_network_max: 20, ..ConnectionLimits::default() };
    let toy = Toy::start_with(Options { connections, ..Options::default() }).await;
    let mut held = Vec::new();
    // More than the network may have, and more than the reserve has.
    for _ in 0..200 {
        let mut stream = TcpStream::connect(toy.address).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
        held.push(stream);
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(request("GET", path).send(toy.address).await.status, 200, "{path}");
    }
    assert_eq!(request("GET", "/").send(toy.address).await.status, 503);
    let other = TcpSocket::new_v4().unwrap();
    other.bind((Ipv4Addr::new(127, 0, 0, 2), 0).into()).unwrap();
    let mut other = other.connect(toy.address).await.unwrap();
    other.write_all(&post(json!({ "query": "{ viewer }" })).encode("close")).await.unwrap();
    assert_eq!(read_answer(&mut other).await.status, 200);
}

#[tokio::test]
async fn open_sockets_keep_their_places() {
    let connections = ConnectionLimits { connections_max: 2, ..ConnectionLimits::default() };
    let toy = Toy::start_with(Options { connections, ..Options::default() }).await;
    let held = [WebSocketClient::open(toy.address).await, WebSocketClient::open(toy.address).await];
    assert_eq!(request("GET", "/").send(toy.address).await.status, 503);
    assert_eq!(request("GET", "/healthz").send(toy.address).await.status, 200);
    for socket in held {
        socket.close().await;
    }
    while request("GET", "/").send(toy.address).await.status != 200 {}
}
