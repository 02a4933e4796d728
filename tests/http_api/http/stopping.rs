//! Graceful stop of a server: work under way finishes, idle connections are closed, late work is dropped.

use std::{net::SocketAddr, time::Duration};

use axum::Router;
use onehop_graphql_server::server::{Server, ServerError, Stopped};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_util::sync::CancellationToken;

use crate::http::client::{post, read_answer, request};
use crate::http::toy::{LONG, Options, Toy};

const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

async fn is_closed(stream: &mut TcpStream) -> bool {
    matches!(stream.read(&mut [0; 1]).await, Ok(0) | Err(_))
}

#[tokio::test]
async fn running_requests_are_answered_before_shutdown() {
    let toy = Toy::start().await;
    let mut stream = TcpStream::connect(toy.address).await.unwrap();
    let exchange = post(json!({ "query": "{ waits }" }));
    stream.write_all(&exchange.encode("keep-alive")).await.unwrap();
    toy.state.begun.notified().await;
    toy.tasks.stop();
    toy.state.released.notify_one();
    let answer = read_answer(&mut stream).await;
    assert_eq!(answer.json()["data"], json!({ "waits": "done" }));
    assert!(is_closed(&mut stream).await);
}

#[tokio::test]
async fn idle_and_silent_connections_are_closed_when_the_server_stops() {
    let toy = Toy::start().await;
    let mut silent = TcpStream::connect(toy.address).await.unwrap();
    let mut idle = TcpStream::connect(toy.address).await.unwrap();
    idle.write_all(&request("GET", "/healthz").encode("keep-alive")).await.unwrap();
    assert_eq!(read_answer(&mut idle).await.status, 200);
    toy.tasks.stop();
    assert!(is_closed(&mut idle).await && is_closed(&mut silent).await);
    assert!(TcpStream::connect(toy.address).await.is_err());
}

#[tokio::test]
async fn request_past_the_deadline_is_dropped() {
    let toy = Toy::start_with(Options { stop_deadline: Duration::ZERO, ..Options::default() }).await;
    let mut stream = TcpStream::connect(toy.address).await.unwrap();
    let exchange = post(json!({ "query": "{ waits }" }));
    stream.write_all(&exchange.encode("keep-alive")).await.unwrap();
    toy.state.begun.notified().await;
    toy.tasks.stop();
    assert!(is_closed(&mut stream).await);
}

#[tokio::test]
async fn server_says_how_it_stopped() {
    let stop = CancellationToken::new();
    let server = Server::bind(ANY_PORT).await.unwrap();
    assert_ne!(server.local_address().port(), 0);
    stop.cancel();
    assert_eq!(server.serve(Router::new(), stop, LONG).await, Stopped::Gracefully);
}

#[tokio::test]
async fn address_that_is_taken_is_named_in_the_error() {
    let server = Server::bind(ANY_PORT).await.unwrap();
    let error = Server::bind(server.local_address()).await.unwrap_err();
    let ServerError::Bind { address, .. } = &error;
    assert_eq!(*address, server.local_address());
    assert!(error.to_string().contains(&address.to_string()));
}
