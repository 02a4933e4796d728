//! Clients that take their time. The awaited event never comes, so that even with a short timeout, only the
//! timeout ends them.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{Request, Response, StatusCode},
};
use bytes::Bytes;
use futures::{FutureExt, StreamExt, stream};
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::pipeline::parse::BodyLimits;
use onehop_graphql_server::server::{ConnectionLimits, Server, Stopped};
use onehop_runtime::tasks::Tasks;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_util::sync::CancellationToken;

use crate::http::client::{self, read_answer, request};
use crate::http::toy::{LONG, Options, State, Toy, toy_endpoint, toy_router};

const SHORT: Duration = Duration::from_millis(1);

fn options(body_timeout: Duration, request_timeout: Duration) -> Options {
    let body = BodyLimits { timeout: body_timeout, ..BodyLimits::default() };
    let limits = RequestLimits { body, timeout: request_timeout, ..RequestLimits::default() };
    Options { limits, ..Options::default() }
}

fn post(body: Body) -> Request<Body> {
    Request::post("/graphql").header("content-type", "application/json").body(body).unwrap()
}

async fn error_of(response: Response<Body>) -> Value {
    let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
    serde_json::from_slice::<Value>(&body).unwrap()["errors"][0]["extensions"].take()
}

/// A body that is begun and never ended.
fn stalling() -> Body {
    let begun = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"{"))]);
    Body::from_stream(begun.chain(stream::pending()))
}

/// A body of which there is always a little more, a moment later.
fn dripping() -> Body {
    Body::from_stream(stream::repeat(()).then(|()| async {
        tokio::task::yield_now().await;
        Ok::<_, std::io::Error>(Bytes::new())
    }))
}

#[tokio::test]
async fn a_slow_body_gets_408_and_closes_the_connection() {
    for body in [stalling(), dripping()] {
        let endpoint = toy_endpoint(&Arc::default(), &options(SHORT, LONG));
        let response = endpoint.handle(post(body)).await;
        assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
        assert_eq!(response.headers()["connection"], "close");
        let extensions = json!({ "code": "LIMIT_EXCEEDED", "limit": "body-seconds", "max": 0 });
        assert_eq!(error_of(response).await, extensions);
    }
}

#[tokio::test]
async fn a_body_beyond_the_request_timeout_gets_503() {
    let endpoint = toy_endpoint(&Arc::default(), &options(LONG, SHORT));
    let response = endpoint.handle(post(stalling())).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn the_time_of_a_body_ends_with_the_body() {
    let state: Arc<State> = Arc::default();
    let endpoint = toy_endpoint(&state, &options(Duration::ZERO, LONG));
    let mut answer = Box::pin(endpoint.handle(post(Body::from(r#"{"query":"{ waits }"}"#))));
    assert!(answer.as_mut().now_or_never().is_none());
    assert!(state.begun.notified().now_or_never().is_some(), "it is executing");
    state.released.notify_one();
    assert_eq!(answer.await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_request_that_times_out_in_the_queue_gets_503() {
    let mut options = options(LONG, SHORT);
    options.limits.admission.executing_max = 1;
    let endpoint = toy_endpoint(&Arc::default(), &options);
    let occupied = endpoint.concurrency_limit().admit(0).await.unwrap();
    let response = endpoint.handle(post(Body::from(r#"{"query":"{ viewer }"}"#))).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(endpoint.concurrency_limit().load().waiting, 0);
    drop(occupied);
}

#[tokio::test]
async fn a_connection_whose_head_never_ends_is_closed() {
    let connections = ConnectionLimits { header_timeout: SHORT, ..ConnectionLimits::default() };
    let toy = Toy::start_with(Options { connections, ..Options::default() }).await;
    for sent in ["", "GET /healthz HTTP/1.1\r\nHost: onehop.test\r\nX: "] {
        let mut stream = TcpStream::connect(toy.address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut left = Vec::new();
        // A reset is an end, too.
        let _ = stream.read_to_end(&mut left).await;
        assert!(left.is_empty() || left.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&left));
    }
}

#[tokio::test]
async fn a_client_that_reads_no_response_is_disconnected() {
    let connections = ConnectionLimits { write_timeout: SHORT, ..ConnectionLimits::default() };
    let options = Options { connections, ..Options::default() };
    let server = Server::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap().with_limits(connections);
    let (address, stop) = (server.local_address(), CancellationToken::new());
    let router = toy_router(toy_endpoint(&Arc::default(), &options), &options, &Tasks::new());
    let client = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        // The answer is longer than the buffers of two sockets.
        let variables = json!({ "g": { "name": "x".repeat(100_000), "times": 400, "tone": "COLD" } });
        let query = "query($g: Greeting!) { greet(greeting: $g) }";
        let exchange = client::post(json!({ "query": query, "variables": variables }));
        stream.write_all(&exchange.encode("keep-alive")).await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), b'H', "the answer has begun");
        stop.cancel();
        stream
    };
    // It ends when no connection is left.
    let (stopped, mut stream) = tokio::join!(server.serve(router, stop.clone(), LONG), client);
    assert_eq!(stopped, Stopped::Gracefully);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(answer.len() < 40_000_000, "{}", answer.len());
}

#[tokio::test]
async fn a_head_longer_than_its_limit_gets_431() {
    let connections = ConnectionLimits { header_bytes_max: 8192, ..ConnectionLimits::default() };
    let toy = Toy::start_with(Options { connections, ..Options::default() }).await;
    let mut stream = TcpStream::connect(toy.address).await.unwrap();
    let head = format!("GET /healthz?{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(9_000));
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = read_answer(&mut stream).await;
    assert!([414, 431].contains(&answer.status), "{answer:?}");
}

#[tokio::test]
async fn beyond_the_limit_of_connections_health_is_answered() {
    let connections = ConnectionLimits { connections_max: 1, ..ConnectionLimits::default() };
    let toy = Toy::start_with(Options { connections, ..Options::default() }).await;
    let health = request("GET", "/healthz");
    let mut first = TcpStream::connect(toy.address).await.unwrap();
    first.write_all(&health.encode("keep-alive")).await.unwrap();
    assert_eq!(read_answer(&mut first).await.status, 200);
    for path in ["/healthz", "/readyz"] {
        let answer = request("GET", path).send(toy.address).await;
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")), "{path}");
    }
    let answer = client::post(json!({ "query": "{ viewer }" })).send(toy.address).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "LIMIT_EXCEEDED"));
    assert_eq!(answer.header("retry-after"), Some("5"));
    drop(first);
    // The first one gives its place back when the server has seen its end.
    while request("GET", "/").send(toy.address).await.status != 200 {}
}
