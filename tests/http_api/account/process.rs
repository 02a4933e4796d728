//! The process of `onehop serve --store cosmos`, over a store of its own on the emulator.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use onehop::accounts::brute_force_protection::AttemptLimits;
use onehop::accounts::password::HashingCost;
use onehop::accounts::signing_secrets::SigningSecret;
use onehop::accounts::token::{ACCESS_TOKEN_LIFETIME_DEFAULT, Tokens};
use onehop::api::{ApiOptions, ApiParts, api_of};
use onehop::app::Member;
use onehop::app::{App, AppOptions, OpenStore};
use onehop::operations::{DiagnosisSources, serve_socket};
use onehop_change_feed::Sharing;
use onehop_graphql_server::server::Server;
use serde_json::{Value, json};

use onehop_testing::emulator::Emulator;

const SHARING: Sharing = Sharing::WithOthers {
    acquire: Duration::from_millis(50),
    expire: Duration::from_secs(2),
    renew: Duration::from_millis(400),
};

pub struct Process {
    pub app: Arc<App>,
    http: reqwest::Client,
    pub address: SocketAddr,
}

impl Process {
    /// A server whose projections run.
    pub async fn start(account: &Emulator, name: &str) -> Self {
        let process = Self::quiet(account, name).await;
        process.app.start(None);
        serve_socket(&process.app, true, DiagnosisSources::default()).expect("there is no socket to be made");
        process
    }

    /// A process whose projections run only on demand.
    pub async fn quiet(account: &Emulator, name: &str) -> Self {
        let store = OpenStore::Cosmos(Arc::new(account.open().await));
        let options = AppOptions {
            hashing: HashingCost::CHEAP,
            live_poll: Duration::from_millis(20),
            ..AppOptions::default()
        };
        let member = Member { owner: name.to_owned(), sharing: SHARING };
        let app = Arc::new(App::over(&store, member, options).await.unwrap());
        let secret = SigningSecret::from_bytes(vec![7; 48]).unwrap();
        let tokens = Tokens::new(&secret, ACCESS_TOKEN_LIFETIME_DEFAULT);
        // All users of a test have one address.
        let attempts = AttemptLimits { sign_ups_per_address: 0, ..AttemptLimits::default() };
        let options = ApiOptions { attempts, ..ApiOptions::default() };
        let parts = ApiParts { tokens, provider: None, options, telemetry: None };
        let router = api_of(&app, parts).unwrap().router;
        let listening = Server::bind((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
        let (address, stop) = (listening.local_address(), app.tasks.soft_stop());
        app.tasks.spawn("http", async move {
            listening.serve(router, stop, Duration::ZERO).await;
            Ok::<(), std::convert::Infallible>(())
        });
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { app, http, address }
    }

    pub async fn answer(&self, token: &str, query: &str, variables: Value) -> Value {
        let request = self.http.post(format!("http://{}/graphql", self.address)).json(&json!({
            "query": query,
            "variables": variables,
        }));
        let request = if token.is_empty() { request } else { request.bearer_auth(token) };
        request.send().await.unwrap().json().await.unwrap()
    }

    pub async fn data(&self, token: &str, query: &str, variables: Value) -> Value {
        let mut answer = self.answer(token, query, variables).await;
        assert!(answer["errors"].is_null(), "{answer}");
        answer["data"].take()
    }

    /// Signs a user up, and returns the access token.
    pub async fn sign_up(&self, username: &str) -> String {
        let query = "mutation($username: String!) {
            createUser(input: { username: $username, password: \"one and two\" }) { accessToken } }";
        let data = self.data("", query, json!({ "username": username })).await;
        data["createUser"]["accessToken"].as_str().unwrap().to_owned()
    }

    /// Writes a post, and returns its id.
    pub async fn post(&self, token: &str, title: &str) -> String {
        let query = "mutation($title: String!) {
            createPost(input: { title: $title, content: \"c\" }) { post { id } } }";
        let data = self.data(token, query, json!({ "title": title })).await;
        data["createPost"]["post"]["id"].as_str().unwrap().to_owned()
    }

    /// Waits until every process has projected all writes.
    pub async fn settle(&self) {
        self.app.processor.drain().await.unwrap();
    }

    pub async fn stop(self) {
        self.app.close().await;
    }
}
