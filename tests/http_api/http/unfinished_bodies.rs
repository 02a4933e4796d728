//! Bodies that are begun and never ended: their sum is limited, in all and for each network, and each keeps a
//! minimum rate.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use onehop_graphql_server::client_address::{ForwardingHeader, Proxies};
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::pipeline::parse::BodyLimits;
use onehop_graphql_server::pipeline::rate_limit::RateLimits;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};

use crate::http::client::{Answer, post, read_answer};
use crate::http::toy::{Options, Toy};

/// The part of its body that each client sends; the body has a byte more. It takes room for 1 MiB.
const SENT_BYTES: usize = 1_000_000;
const MIB: usize = 1024 * 1024;

/// A connection from an address of this machine.
async fn connect(from: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::from(from), 0).into()).unwrap();
    socket.connect(to).await.unwrap()
}

/// Sends all of a body but its last byte.
async fn begin(stream: &mut TcpStream, header: &str) {
    let head = format!(
        "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{header}\
         Content-Length: {}\r\n\r\n",
        SENT_BYTES + 1
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&[b' '; SENT_BYTES]).await.unwrap();
}

/// The answers to these bodies, one of which is refused before any ends: then their last bytes come. A body
/// that got room is no request, and gets 400.
async fn finish_beside_a_refusal(begun: &mut [TcpStream]) -> Vec<Answer> {
    let readable = begun.iter().map(|stream| Box::pin(stream.readable()));
    futures::future::select_all(readable).await.0.unwrap();
    finish(begun).await
}

async fn finish(begun: &mut [TcpStream]) -> Vec<Answer> {
    let mut answers = Vec::new();
    for stream in begun {
        stream.write_all(b" ").await.unwrap();
        answers.push(read_answer(stream).await);
    }
    answers
}

/// The number of these that were refused for want of room, by this limit.
fn refused(answers: &[Answer], limit: &str) -> usize {
    let is_full = |answer: &&Answer| {
        let extensions = &answer.json()["errors"][0]["extensions"];
        answer.status == 503
            && answer.header("retry-after") == Some("1")
            && answer.header("connection") == Some("close")
            && extensions["limit"] == json!(limit)
    };
    let refused = answers.iter().filter(is_full).count();
    let read = answers.iter().filter(|answer| answer.status == 400).count();
    assert_eq!(refused + read, answers.len(), "{answers:?}");
    refused
}

#[tokio::test]
async fn a_network_has_an_eighth_of_all_unfinished_bodies() {
    let toy = Toy::start().await;
    let mut begun = Vec::new();
    for _ in 0..9 {
        let mut stream = connect([127, 0, 0, 1], toy.address).await;
        begin(&mut stream, "").await;
        begun.push(stream);
    }
    assert_eq!(refused(&finish_beside_a_refusal(&mut begun).await, "bodies-in-flight-bytes-per-network"), 1);
    let mut again = [connect([127, 0, 0, 1], toy.address).await];
    begin(&mut again[0], "").await;
    assert_eq!(refused(&finish(&mut again).await, ""), 0, "the room is free again");
}

#[tokio::test]
async fn small_bodies_and_other_networks_have_room_beside_large_ones() {
    let limits = RequestLimits { bodies_in_flight_bytes_max: 8 * MIB, ..RequestLimits::default() };
    let toy = Toy::start_with(Options { limits, ..Options::default() }).await;
    let mut of_one = [connect([127, 0, 0, 1], toy.address).await, connect([127, 0, 0, 1], toy.address).await];
    for stream in &mut of_one {
        begin(stream, "").await;
    }
    let mut of_another = [connect([127, 0, 0, 2], toy.address).await];
    begin(&mut of_another[0], "").await;
    let small = post(json!({ "query": "{ viewer }" })).send(toy.address).await;
    assert_eq!(small.status, 200, "a small body needs no room");
    let answers = finish_beside_a_refusal(&mut of_one).await;
    assert_eq!(refused(&answers, "bodies-in-flight-bytes-per-network"), 1);
    assert_eq!(refused(&finish(&mut of_another).await, ""), 0);
}

#[tokio::test]
async fn networks_behind_a_proxy_share_what_all_bodies_may_take() {
    let callers = RateLimits {
        proxies: Proxies { trusted: 1, header: ForwardingHeader::XForwardedFor },
        ..RateLimits::default()
    };
    let limits = RequestLimits { callers, bodies_in_flight_bytes_max: 8 * MIB, ..RequestLimits::default() };
    let toy = Toy::start_with(Options { limits, ..Options::default() }).await;
    let mut begun = Vec::new();
    for number in 1..=9 {
        let mut stream = TcpStream::connect(toy.address).await.unwrap();
        begin(&mut stream, &format!("X-Forwarded-For: 192.0.2.{number}\r\n")).await;
        begun.push(stream);
    }
    assert_eq!(refused(&finish_beside_a_refusal(&mut begun).await, "bodies-in-flight-bytes-max"), 1);
}

#[tokio::test]
async fn a_body_that_stalls_gets_408_whatever_came_before() {
    let body = BodyLimits { grace: Duration::from_millis(1), ..BodyLimits::default() };
    let limits = RequestLimits { body, ..RequestLimits::default() };
    let toy = Toy::start_with(Options { limits, ..Options::default() }).await;
    let mut stream = TcpStream::connect(toy.address).await.unwrap();
    let head = "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = read_answer(&mut stream).await;
    let extensions = &answer.json()["errors"][0]["extensions"];
    assert_eq!((answer.status, answer.header("connection")), (408, Some("close")));
    assert_eq!(
        (&extensions["limit"], &extensions["max"]),
        (&json!("body-bytes-per-second-min"), &json!(4096))
    );
}
