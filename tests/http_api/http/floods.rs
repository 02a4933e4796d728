//! Clients that make the server keep their input, over real sockets: they lose their connection, and others
//! nothing.

use onehop_graphql_server::live::LiveLimits;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

use crate::http::toy::{Options, Toy};
use onehop_testing::websocket::{SUBPROTOCOL, WebSocketClient};

/// The bytes of a frame from a client with a mask of zeros.
fn frame(opcode: u8, length: u64, sent: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x80 | opcode, 0x80 | 127];
    if length < 126 {
        frame[1] = 0x80 | length as u8;
    } else {
        frame.extend(length.to_be_bytes());
    }
    frame.extend([0; 4]);
    frame.extend(sent);
    frame
}

/// A socket after its handshake, on which anything can be sent.
async fn raw(toy: &Toy) -> TcpStream {
    let mut stream = TcpStream::connect(toy.address).await.unwrap();
    let head = format!(
        "GET /graphql HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: {SUBPROTOCOL}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    assert!(answer.starts_with(b"HTTP/1.1 101"));
    stream
}

#[tokio::test]
async fn pings_without_end_close_the_socket_before_any_init() {
    let toy = Toy::start().await;
    let mut stream = raw(&toy).await;
    let pings = frame(0x9, 125, &[b'x'; 125]).repeat(100);
    // Nothing is read meanwhile: without a limit this would never end.
    while stream.write_all(&pings).await.is_ok() {}
}

#[tokio::test]
async fn more_control_frames_in_a_second_than_allowed_close_with_1008() {
    // The first frame exceeds a limit of 0, in any second.
    let live = LiveLimits { control_frames_per_second_max: 0, ..LiveLimits::default() };
    let toy = Toy::start_with(Options { live, ..Options::default() }).await;
    let mut socket = WebSocketClient::open(toy.address).await;
    socket.send(Message::Ping(Default::default())).await;
    assert_eq!(socket.closed().await, (1008, "A client may send 0 control frames a second".to_owned()));
}

#[tokio::test]
async fn messages_that_are_never_finished_share_one_limit() {
    let live = LiveLimits { unfinished_bytes_max: 8 * 1024 * 1024, ..LiveLimits::default() };
    let toy = Toy::start_with(Options { live, ..Options::default() }).await;
    let begun = [frame(0x1, 1_000_000, &[b'x'; 900_000]).as_slice()].concat();
    let mut cut_off = 0;
    let mut held = Vec::new();
    for _ in 0..4 {
        let mut stream = raw(&toy).await;
        stream.write_all(&frame(0x1, 26, br#"{"type":"connection_init"}"#)).await.unwrap();
        let mut acknowledged = [0; 27];
        stream.read_exact(&mut acknowledged).await.unwrap();
        // One network may have 1 MiB of them, and so one such message.
        let is_written = stream.write_all(&begun).await.is_ok();
        let mut answer = [0; 4];
        if !held.is_empty()
            && (!is_written
                || stream.read_exact(&mut answer).await.is_err()
                || answer[2..] == 1013_u16.to_be_bytes())
        {
            cut_off += 1;
        }
        held.push(stream);
    }
    assert_eq!(cut_off, 3);
    let mut other = WebSocketClient::open(toy.address).await;
    other.subscribe("1", "{ viewer }").await;
    assert_eq!(other.hear_of("next", "1").await["data"], json!({ "viewer": null }));
}

#[tokio::test]
async fn a_connection_init_is_short() {
    let toy = Toy::start().await;
    let mut socket = WebSocketClient::connect(toy.address).await;
    let payload = json!({ "authorization": format!("Bearer {}", "x".repeat(20_000)) });
    socket.say(json!({ "type": "connection_init", "payload": payload })).await;
    assert_eq!(socket.closed().await.0, 1009);
}

#[tokio::test]
async fn a_network_has_so_many_open_connections() {
    let live = LiveLimits { connections_per_network_max: 2, ..LiveLimits::default() };
    let toy = Toy::start_with(Options { live, ..Options::default() }).await;
    let held = [WebSocketClient::open(toy.address).await, WebSocketClient::open(toy.address).await];
    let refused = WebSocketClient::handshake(toy.address, &[("Sec-WebSocket-Protocol", SUBPROTOCOL)])
        .await
        .err()
        .unwrap();
    assert!(refused.status == 429 && refused.text.contains("live-connections-per-network"), "{refused:?}");
    let [first, _second] = held;
    first.close().await;
    WebSocketClient::open(toy.address).await;
}

#[tokio::test]
async fn a_handshake_of_another_version_gets_426() {
    let toy = Toy::start().await;
    let mut stream = TcpStream::connect(toy.address).await.unwrap();
    let head = "GET /graphql HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = crate::http::client::read_answer(&mut stream).await;
    assert_eq!((answer.status, answer.header("sec-websocket-version")), (426, Some("13")));
}
