//! An OpenID Connect provider on a port of its own: it publishes a key, signs tokens with it, and can be
//! down.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use onehop_graphql_server::server::Server as HttpServer;
use onehop_runtime::tasks::Tasks;
use serde_json::{Value, json};

use crate::api::server::START_MS;

pub struct Provider {
    key: Ed25519KeyPair,
    address: SocketAddr,
    state: Arc<State>,
    tasks: Tasks,
}

#[derive(Default)]
struct State {
    is_down: AtomicBool,
    asked: AtomicUsize,
}

impl Provider {
    pub async fn start() -> Self {
        let key = Ed25519KeyPair::generate().unwrap();
        let server = HttpServer::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let (address, state, tasks) = (server.local_address(), Arc::new(State::default()), Tasks::new());
        let issuer = format!("http://{address}");
        let discovery = json!({ "issuer": issuer, "jwks_uri": format!("{issuer}/keys") });
        let x = URL_SAFE_NO_PAD.encode(key.public_key());
        let keys =
            json!({ "keys": [{ "kty": "OKP", "kid": "first", "crv": "Ed25519", "alg": "EdDSA", "x": x }] });
        let router = Router::new()
            .route("/.well-known/openid-configuration", document(discovery, &state))
            .route("/keys", document(keys, &state));
        let stop = tasks.soft_stop();
        tasks.spawn("provider", async move {
            server.serve(router, stop, Duration::ZERO).await;
            Ok::<(), std::convert::Infallible>(())
        });
        Self { key, address, state, tasks }
    }

    pub fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn set_down(&self) {
        self.state.is_down.store(true, Ordering::SeqCst);
    }

    /// The number of requests for a document.
    pub fn asked(&self) -> usize {
        self.state.asked.load(Ordering::SeqCst)
    }

    /// A token for this subject.
    pub fn token(&self, subject: &str, username: &str) -> String {
        self.token_with(&json!({ "alg": "EdDSA", "kid": "first" }), &self.claims(subject, username))
    }

    /// The claims of a token for this subject.
    pub fn claims(&self, subject: &str, username: &str) -> Value {
        let now_s = START_MS / 1000;
        json!({
            "iss": self.issuer(), "sub": subject, "aud": "onehop", "iat": now_s, "exp": now_s + 3600,
            "preferred_username": username,
        })
    }

    pub fn token_with(&self, header: &Value, claims: &Value) -> String {
        let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let message = format!("{header}.{claims}");
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(message.as_bytes()));
        format!("{message}.{signature}")
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

fn document(document: Value, state: &Arc<State>) -> axum::routing::MethodRouter {
    let state = Arc::clone(state);
    get(move || async move {
        state.asked.fetch_add(1, Ordering::SeqCst);
        if state.is_down.load(Ordering::SeqCst) { Err(StatusCode::BAD_GATEWAY) } else { Ok(Json(document)) }
    })
}
