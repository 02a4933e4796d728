//! Server-sent events of a process: a request for a stream, and its payloads as they come.

use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::extract::ConnectInfo;
use axum::http::Request;
use futures::StreamExt as _;
use serde_json::Value;
use tower::ServiceExt as _;

/// The events of one subscription or live query.
pub struct EventStream {
    chunks: BodyDataStream,
    received: Vec<u8>,
}

impl EventStream {
    /// Sends a request to a process. `None` where it is refused.
    pub async fn open(router: Router, address: IpAddr, body: &Value) -> Option<Self> {
        let request = Request::post("/graphql")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "text/event-stream");
        let mut request = request.body(Body::from(body.to_string())).expect("a request");
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(address, 40_000)));
        let response = router.oneshot(request).await.expect("a router never fails");
        let is_open = response.status() == 200;
        is_open.then(|| Self { chunks: response.into_body().into_data_stream(), received: Vec::new() })
    }

    /// The next bytes. Returns whether there were any before the end.
    pub async fn receive(&mut self) -> bool {
        let Some(Ok(bytes)) = self.chunks.next().await else { return false };
        self.received.extend_from_slice(&bytes);
        true
    }

    /// The payload of the next event that was received.
    pub fn next_payload(&mut self) -> Option<Value> {
        while let Some(end) = self.received.windows(2).position(|window| window == b"\n\n") {
            let event: Vec<u8> = self.received.drain(..end + 2).collect();
            let event = String::from_utf8_lossy(&event).into_owned();
            let data = event.lines().find_map(|line| line.strip_prefix("data:"));
            if let Some(Ok(payload)) = data.map(|data| serde_json::from_str(data.trim())) {
                return Some(payload);
            }
        }
        None
    }
}
