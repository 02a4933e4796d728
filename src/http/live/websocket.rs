//! The handshake of a WebSocket: who may have one, and how it is set up.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::header::UPGRADE;
use axum::http::{HeaderMap, Method, Request, Response};
use axum::response::IntoResponse;

use super::LiveEndpoint;
use super::messages::SUBPROTOCOL;
use super::session::Session;
use crate::http::bearer::bearer_token;
use crate::http::cross_site::is_forged;
use crate::http::graphql_response::Refusal;
use crate::http::media_type::ResponseType;

/// Bytes that each idle connection keeps for what it reads.
const READ_BUFFER_BYTES: usize = 2 * 1024;
/// How many times the limit of a message is still read, so that its sender hears why the connection is closed.
const DISCARDED_MESSAGES_MAX: usize = 2;

/// Whether a request asks for a WebSocket.
pub(crate) fn is_websocket(headers: &HeaderMap) -> bool {
    let protocols = headers.get_all(UPGRADE).iter().filter_map(|value| value.to_str().ok());
    protocols.flat_map(|value| value.split(',')).any(|name| name.trim().eq_ignore_ascii_case("websocket"))
}

impl LiveEndpoint {
    /// A message may hold what the body of a POST may.
    pub(super) fn message_bytes_max(&self) -> usize {
        self.graphql.body_limits().bytes_max
    }

    /// Takes a connection over, or says why not. One that does not offer the protocol is taken over, too, and then told.
    pub(crate) async fn websocket(self: Arc<Self>, request: Request<Body>) -> Response<Body> {
        let (mut parts, _) = request.into_parts();
        let refused = |refusal: Refusal| refusal.into_response(ResponseType::Json);
        // Browsers let any page open one, and tell where it comes from: who does not look is spoken to by strangers.
        if is_forged(&Method::GET, &parts.headers, self.graphql.allowed_origins()) {
            return refused(Refusal::ForeignOrigin);
        }
        let bearer = match bearer_token(&parts.headers) {
            Ok(bearer) => bearer.map(str::to_owned),
            Err(rejection) => return refused(rejection.into()),
        };
        let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
            Ok(upgrade) => upgrade,
            Err(rejection) => return rejection.into_response(),
        };
        let origin = self.graphql.bill(&parts.headers, &parts.extensions).origin();
        let Some(permit) = self.permits.connection() else { return refused(Refusal::ConnectionsFull) };
        let message_bytes_max = self.message_bytes_max().saturating_mul(DISCARDED_MESSAGES_MAX);
        let upgrade = upgrade
            .protocols([SUBPROTOCOL])
            .read_buffer_size(READ_BUFFER_BYTES)
            .write_buffer_size(0)
            .max_message_size(message_bytes_max)
            .max_frame_size(message_bytes_max);
        upgrade.on_upgrade(async move |socket| {
            let tasks = self.tasks.clone();
            tasks.spawn_contained("websocket", Session::new(self, permit, origin, bearer).serve(socket));
        })
    }
}
