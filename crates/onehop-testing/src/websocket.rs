//! A client of `graphql-transport-ws` that sends the exact frames of a test, and receives all frames. Test
//! binaries that need it include this file.

use std::net::SocketAddr;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// There may be thousands of sockets.
const READ_BUFFER_BYTES: usize = 1024;

pub const SUBPROTOCOL: &str = "graphql-transport-ws";

pub struct WebSocketClient {
    stream: WebSocketStream<TcpStream>,
    /// The head of the answer to the handshake.
    pub head: String,
}

/// An answer to a handshake that is no WebSocket.
#[derive(Debug)]
pub struct HandshakeRefusal {
    pub status: u16,
    pub text: String,
}

impl WebSocketClient {
    /// A socket that has spoken no word of the protocol yet.
    pub async fn connect(address: SocketAddr) -> Self {
        Self::handshake(address, &[("Sec-WebSocket-Protocol", SUBPROTOCOL)]).await.expect("a WebSocket")
    }

    /// A socket whose connection is acknowledged, for an anonymous caller.
    pub async fn open(address: SocketAddr) -> Self {
        Self::open_with(address, json!({})).await
    }

    /// As [`open`](Self::open), with this payload of `connection_init`.
    pub async fn open_with(address: SocketAddr, payload: Value) -> Self {
        let mut socket = Self::connect(address).await;
        socket.init(payload).await;
        socket
    }

    /// Has the connection acknowledged, with this payload of `connection_init`.
    pub async fn init(&mut self, payload: Value) {
        self.say(json!({ "type": "connection_init", "payload": payload })).await;
        assert_eq!(self.hear().await, json!({ "type": "connection_ack" }));
    }

    /// A handshake with these headers beside its own.
    pub async fn handshake(address: SocketAddr, headers: &[(&str, &str)]) -> Result<Self, HandshakeRefusal> {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("TCP_NODELAY");
        let mut request = format!("GET /graphql HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\n");
        request += "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
        request += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{request}\r\n").as_bytes()).await.expect("a write");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a whole head"));
        }
        let head = String::from_utf8(head).expect("text").to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        if status != 101 {
            let mut body = Vec::new();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            body.resize(length.map_or(0, |length| length.parse().expect("a length")), 0);
            stream.read_exact(&mut body).await.expect("a whole body");
            return Err(HandshakeRefusal { status, text: String::from_utf8(body).expect("text") });
        }
        // The key of RFC 6455, and the answer that it has there.
        assert!(head.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{head}");
        let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER_BYTES);
        let stream = WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await;
        Ok(Self { stream, head })
    }

    pub async fn say(&mut self, message: Value) {
        self.send(Message::text(message.to_string())).await;
    }

    pub async fn send(&mut self, message: Message) {
        self.stream.send(message).await.expect("the message is sent");
    }

    /// Requests an operation.
    pub async fn subscribe(&mut self, id: &str, query: &str) {
        self.request(id, json!({ "query": query })).await;
    }

    pub async fn request(&mut self, id: &str, payload: Value) {
        self.say(json!({ "id": id, "type": "subscribe", "payload": payload })).await;
    }

    /// Comes when everything said so far is under way.
    pub async fn settle(&mut self) {
        self.say(json!({ "type": "ping" })).await;
        assert_eq!(self.hear().await, json!({ "type": "pong" }));
    }

    /// The next message of the protocol.
    pub async fn hear(&mut self) -> Value {
        match self.frame().await {
            Some(Message::Text(text)) => serde_json::from_str(&text).expect("JSON"),
            other => panic!("not a message: {other:?}"),
        }
    }

    /// The payload of the next message, which has this type and id.
    pub async fn hear_of(&mut self, kind: &str, id: &str) -> Value {
        let mut message = self.hear().await;
        assert_eq!((&message["type"], &message["id"]), (&json!(kind), &json!(id)), "{message}");
        message["payload"].take()
    }

    /// Why the socket is closed, after any earlier messages.
    pub async fn closed(&mut self) -> (u16, String) {
        loop {
            match self.frame().await {
                Some(Message::Close(Some(frame))) => return (frame.code.into(), frame.reason.to_string()),
                Some(Message::Text(_)) => {}
                other => panic!("not closed: {other:?}"),
            }
        }
    }

    /// Whether the socket ends without another message.
    pub async fn is_gone(&mut self) -> bool {
        !matches!(self.stream.next().await, Some(Ok(_)))
    }

    /// The next frame, except pings and pongs.
    async fn frame(&mut self) -> Option<Message> {
        loop {
            match self.stream.next().await?.ok()? {
                Message::Ping(_) | Message::Pong(_) => {}
                frame => return Some(frame),
            }
        }
    }

    /// The next frame of any kind.
    pub async fn raw_frame(&mut self) -> Option<Message> {
        self.stream.next().await?.ok()
    }

    /// Closes the socket as a client does.
    pub async fn close(mut self) {
        self.stream.close(None).await.expect("the socket is closed");
        while self.stream.next().await.is_some() {}
    }
}
