//! A server of a model for a test: the program's own composition, with cheap password hashes. Read models
//! follow when a test says so, by [`ServedServer::settle`].

use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onehop::accounts::oidc::{HttpProviderDocuments, OidcVerifier};
use onehop::accounts::password::HashingCost;
use onehop::accounts::signing_secrets::{Secrets, SigningSecret};
use onehop::accounts::token::{ACCESS_TOKEN_LIFETIME_DEFAULT, Tokens};
use onehop::api::{ApiOptions, ServedApiParts, served_api_of};
use onehop::app::{AppOptions, Member, ServedApp};
use onehop::served::ServedModel;
use onehop_change_feed::Sharing;
use onehop_graphql_server::server::Server as HttpServer;
use onehop_model::Model;
use onehop_store::{ObservedOperation, OperationScope, PartitionKey, StoreObserver};
use serde_json::{Value, json};

use crate::support::store::{self, Keeper};
use crate::ticking_clock::TickingClock;

/// A model in a domain of its own, with most directives.
pub const BIRDS: &str = include_str!("../../fixtures/birds.graphql");
/// The password of all accounts of the tests.
pub const PASSWORD: &str = "a-secret-that-no-log-may-show";

/// A model as it is served.
pub fn served_model(text: &str) -> Arc<ServedModel> {
    let model = Model::read("test.graphql", text).unwrap_or_else(|errors| panic!("{errors}"));
    Arc::new(ServedModel::new(model).unwrap_or_else(|refused| panic!("{refused:#?}")))
}

/// Counts the reads of requests by their partition keys.
#[derive(Default)]
pub struct ReadCount(Mutex<HashMap<String, usize>>);

impl ReadCount {
    /// The number of reads in one logical partition.
    pub fn of(&self, partition: &str) -> usize {
        self.0.lock().unwrap().get(partition).copied().unwrap_or(0)
    }
}

impl StoreObserver for ReadCount {
    fn on_operation(&self, event: &ObservedOperation<'_>) {
        if event.kind.writes() {
            return;
        }
        let mut reads = self.0.lock().unwrap();
        let mut count = |key: &PartitionKey| *reads.entry(key.as_str().to_owned()).or_default() += 1;
        match event.scope {
            OperationScope::One(key) => count(key),
            OperationScope::Each(keys) => keys.iter().for_each(|(key, _)| count(key)),
            OperationScope::Across => {}
        }
    }
}

/// A client of a served model.
pub struct Client {
    http: reqwest::Client,
    address: SocketAddr,
}

pub struct ServedServer {
    pub app: ServedApp,
    client: Client,
    /// The time of the server.
    pub clock: Arc<TickingClock>,
    /// The reads of the store so far.
    pub reads: Arc<ReadCount>,
    _keeper: Keeper,
}

impl ServedServer {
    pub async fn start(text: &str) -> Self {
        Self::start_with_staff(text, &[]).await
    }

    /// A server with accounts of the model of birds that are staff, by their e-mail addresses.
    pub async fn start_with_staff(text: &str, staff: &[&str]) -> Self {
        let model = served_model(text);
        let keeper = store::keep(model.containers());
        let clock = Arc::new(TickingClock::at(1_800_000_000_000));
        let reads = Arc::<ReadCount>::default();
        let options = AppOptions {
            hashing: HashingCost::CHEAP,
            clock: Arc::clone(&clock) as _,
            live_poll: Duration::from_millis(20),
            observers: vec![Arc::clone(&reads) as _],
            ..AppOptions::default()
        };
        let open = keeper.open(model.containers(), Arc::clone(&options.clock)).await;
        let member = match &keeper {
            Keeper::Directory(_) => Member::alone(),
            Keeper::Emulator(_) => Member { owner: "test".to_owned(), sharing: Sharing::with_others() },
        };
        let app = ServedApp::over(model, &open, member, options).await.unwrap();
        let mut server =
            Self { client: Client::of(&app, HashSet::new()).await, app, clock, reads, _keeper: keeper };
        for email in staff {
            server.sign_up("Staff", email).await;
        }
        let staff: Vec<String> = staff.iter().map(|email| (*email).to_owned()).collect();
        let staff = server.app.staff(&staff, true).await.unwrap();
        server.client = Client::of(&server.app, staff).await;
        server
    }
}

impl Deref for ServedServer {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Client {
    /// A client of an app, which is served with these accounts as staff.
    pub async fn of(app: &ServedApp, staff: HashSet<uuid::Uuid>) -> Self {
        Self::with_options(app, staff, |_| {}).await
    }

    /// The same, with further options.
    pub async fn with_options(
        app: &ServedApp,
        staff: HashSet<uuid::Uuid>,
        change: impl FnOnce(&mut ApiOptions),
    ) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { address: listen(app, staff, None, change).await, http }
    }

    /// A client of an app that accepts the tokens of a provider.
    pub async fn with_provider(app: &ServedApp, issuer: &str) -> Self {
        let documents = Arc::new(HttpProviderDocuments::new().unwrap());
        let provider = Arc::new(OidcVerifier::new(issuer, None, documents).unwrap());
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { address: listen(app, HashSet::new(), Some(provider), |_| {}).await, http }
    }

    /// The response of the operations API, with this token: the status and the body.
    pub async fn ask_operations(&self, token: Option<&str>, query: &str) -> (u16, String) {
        let request = self.http.post(format!("http://{}/operations/graphql", self.address));
        let request = token.into_iter().fold(request, |request, token| request.bearer_auth(token));
        let response = request.json(&json!({ "query": query })).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    /// The address of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The response to a request.
    pub async fn send(&self, token: Option<&str>, query: &str, variables: Value) -> Value {
        self.post(token, json!({ "query": query, "variables": variables })).await
    }

    /// The response to an operation of a document with several.
    pub async fn operation(&self, token: Option<&str>, query: &str, name: &str, variables: Value) -> Value {
        self.post(token, json!({ "query": query, "operationName": name, "variables": variables })).await
    }

    async fn post(&self, token: Option<&str>, body: Value) -> Value {
        let request = self.http.post(format!("http://{}/graphql", self.address));
        let request = token.into_iter().fold(request, |request, token| request.bearer_auth(token));
        let request = request.header("content-type", "application/json");
        let text = request.body(body.to_string()).send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
    }

    /// The data of a response without errors.
    pub async fn data(&self, token: Option<&str>, query: &str, variables: Value) -> Value {
        let mut response = self.send(token, query, variables).await;
        assert_eq!(response.get("errors"), None, "{query}");
        response["data"].take()
    }

    /// The code of the only error of a response, and its field.
    pub async fn refusal(&self, token: Option<&str>, query: &str, variables: Value) -> (String, Value) {
        let response = self.send(token, query, variables).await;
        assert_eq!(response["errors"].as_array().map(Vec::len), Some(1), "{response}");
        let extensions = &response["errors"][0]["extensions"];
        (extensions["code"].as_str().unwrap().to_owned(), extensions["field"].clone())
    }

    /// Signs up an observer: the access token and the id.
    pub async fn sign_up(&self, name: &str, email: &str) -> (String, String) {
        let query = "mutation($input: CreateObserverInput!) { createObserver(input: $input) { accessToken observer { id } } }";
        let input = json!({ "input": { "name": name, "email": email, "password": PASSWORD } });
        let data = self.data(None, query, input).await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&data["createObserver"]["accessToken"]), text(&data["createObserver"]["observer"]["id"]))
    }

    /// Creates a site with this name: its id.
    pub async fn create_site(&self, token: &str, name: &str) -> String {
        let query = "mutation($input: CreateSiteInput!) { createSite(input: $input) { site { id } } }";
        let data = self.data(Some(token), query, json!({ "input": site(name) })).await;
        data["createSite"]["site"]["id"].as_str().unwrap().to_owned()
    }
}

impl ServedServer {
    /// Brings the read models up to the writes so far.
    pub async fn settle(&self) {
        self.app.engine.processor.drain().await.unwrap();
    }
}

/// The input of a site.
pub fn site(name: &str) -> Value {
    let location = json!({ "latitude": 51.5, "longitude": -2.25 });
    json!({ "name": name, "code": "AB-123", "location": location, "hides": [{ "label": "North", "seats": 4 }] })
}

/// The access tokens of all servers of the tests.
pub fn tokens() -> Tokens {
    let secrets = Secrets::from(&SigningSecret::from_bytes(vec![7; 48]).unwrap());
    Tokens::new(secrets, ACCESS_TOKEN_LIFETIME_DEFAULT)
}

async fn listen(
    app: &ServedApp,
    staff: HashSet<uuid::Uuid>,
    provider: Option<Arc<OidcVerifier>>,
    change: impl FnOnce(&mut ApiOptions),
) -> SocketAddr {
    let mut options = ApiOptions::default();
    // Nothing reads the change feed in the background.
    options.limits.positions.sessions_max = 0;
    options.attempts.sign_ups_per_address = 0;
    change(&mut options);
    let parts = ServedApiParts { tokens: tokens(), staff, provider, options, telemetry: None };
    let router = served_api_of(app, parts).unwrap().router;
    let listening = HttpServer::bind((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
    let (address, stop) = (listening.local_address(), app.engine.tasks.soft_stop());
    app.engine.tasks.spawn("http", async move {
        listening.serve(router, stop, Duration::ZERO).await;
        Ok::<(), std::convert::Infallible>(())
    });
    address
}
