//! The WebSocket handshake of RFC 6455, section 4.2: which requests get a socket, and how it is set up.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use axum::response::IntoResponse as _;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::LiveEndpoint;
use super::messages::SUBPROTOCOL;
use super::permits::ConnectionRefusal;
use super::socket::{Socket, SocketLimits};
use super::websocket_session::Session;
use crate::csrf::is_forged;
use crate::pipeline::authenticate::bearer_token;
use crate::refusal::Refusal;

/// The version of the protocol.
const VERSION: &str = "13";

/// Whether a request asks for a WebSocket.
pub(crate) fn is_websocket(headers: &HeaderMap) -> bool {
    lists(headers, UPGRADE, "websocket")
}

/// A handshake that can be answered.
struct Handshake {
    accept: String,
    upgrade: OnUpgrade,
    /// The client offers the subprotocol.
    speaks: bool,
}

impl LiveEndpoint {
    /// Takes a connection over, or refuses it. A connection that does not offer the subprotocol is taken over
    /// and then closed, since browsers show no status of a handshake.
    pub(crate) async fn websocket(self: Arc<Self>, request: Request<Body>) -> Response<Body> {
        let (parts, _) = request.into_parts();
        self.take_over(parts).into_response()
    }

    fn take_over(self: Arc<Self>, mut parts: Parts) -> Result<Response<Body>, Refusal> {
        // Browsers let any page open a WebSocket, and send its origin: cross-site WebSocket hijacking.
        if is_forged(&Method::GET, &parts.headers, self.graphql.allowed_origins()) {
            return Err(Refusal::ForeignOrigin);
        }
        let bearer = bearer_token(&parts.headers)?.map(str::to_owned);
        let Handshake { accept, upgrade, speaks } = Handshake::of(&mut parts)?;
        let origin = self.graphql.request_quota(&parts.headers, &parts.extensions).client();
        let permit = self.permits.connection(origin.network)?;
        let room = self.permits.message_room(origin.network);
        let limits = SocketLimits::new(self.graphql.body_limits(), &self.limits);
        let tasks = self.tasks.clone();
        tasks.spawn_contained("websocket", async move {
            let Ok(stream) = upgrade.await else { return };
            let socket = Socket::new(TokioIo::new(stream), room, limits).await;
            Session::new(self, permit, origin, bearer).serve(socket, speaks).await;
        });
        Ok(switching_protocols(&accept, speaks))
    }
}

impl Handshake {
    fn of(parts: &mut Parts) -> Result<Self, Refusal> {
        let headers = &parts.headers;
        if parts.method != Method::GET {
            return Err(Refusal::MethodNotAllowed);
        }
        if !lists(headers, CONNECTION, "upgrade") {
            return Err(Refusal::Handshake("`Connection` is not `Upgrade`"));
        }
        if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != VERSION) {
            return Err(Refusal::WebSocketVersion);
        }
        let key =
            headers.get(SEC_WEBSOCKET_KEY).ok_or(Refusal::Handshake("there is no `Sec-WebSocket-Key`"))?;
        let accept = derive_accept_key(key.as_bytes());
        let speaks = values(headers, SEC_WEBSOCKET_PROTOCOL).any(|offered| offered == SUBPROTOCOL);
        let upgrade = parts.extensions.remove::<OnUpgrade>();
        let upgrade = upgrade.ok_or(Refusal::Handshake("the connection cannot be upgraded"))?;
        Ok(Self { accept, upgrade, speaks })
    }
}

impl From<ConnectionRefusal> for Refusal {
    fn from(refusal: ConnectionRefusal) -> Self {
        match refusal {
            ConnectionRefusal::Process => Self::ConnectionsFull,
            ConnectionRefusal::Network(exceeded) => Self::NetworkFull(exceeded),
        }
    }
}

fn switching_protocols(accept: &str, speaks: bool) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    // Base64 is always a header's value.
    headers.extend(HeaderValue::from_str(accept).map(|accept| (SEC_WEBSOCKET_ACCEPT, accept)));
    if speaks {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
    }
    response
}

/// Whether a header has a value in its list, in any case.
fn lists(headers: &HeaderMap, name: HeaderName, listed: &str) -> bool {
    values(headers, name).any(|value| value.eq_ignore_ascii_case(listed))
}

fn values(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let lists = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).map(str::trim)
}
