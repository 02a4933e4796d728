//! A server for a test: the program's own composition over a directory of its own, with a clock that the test
//! moves and cheap password hashes. Read models follow when a test says so, by [`Server::settle`].

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onehop::accounts::Username;
use onehop::accounts::brute_force_protection::AttemptLimits;
use onehop::accounts::hashing_queue::HashingCaller;
use onehop::accounts::key_directory::KeyDirectory;
use onehop::accounts::oidc::{HttpProviderDocuments, OidcVerifier};
use onehop::accounts::password::HashingCost;
use onehop::accounts::signing_secrets::{Secrets, SigningSecret};
use onehop::accounts::staff::Staff;
use onehop::accounts::token::{ACCESS_TOKEN_LIFETIME_DEFAULT, Tokens};
use onehop::api::{ApiOptions, ApiParts, api_of};
use onehop::app::staff::resolve_staff;
use onehop::app::{App, AppOptions, container_specs};
use onehop::blog::commands::{CreateUser, ListedUser};
use onehop::blog::containers::POSTS;
use onehop::blog::reads::ReadModels;
use onehop::blog::verify::verifier;
use onehop::operations::{DiagnosisSources, serve_socket};
use onehop::telemetry::{Telemetry, TraceSettings, Traces};
use onehop::webstore::reads::WebstoreReads;
use onehop_graphql_server::server::Server as HttpServer;
use onehop_read_models::verify::VerificationReport;
use onehop_runtime::clock::Clock;
use onehop_store::{Ledger, Store};
use serde_json::{Value, json};

use crate::api::caller::Caller;
use crate::support::store::{self, Keeper};
use crate::ticking_clock::TickingClock;

/// The first time of the clock: in 2027.
pub const START_MS: i64 = 1_800_000_000_000;
/// The password of all users of the tests.
pub const PASSWORD: &str = "a-secret-that-no-log-may-show";

/// Wraps a store in a decorator.
pub type Decorate = Box<dyn Fn(Arc<dyn Store>) -> Arc<dyn Store>>;

/// The differences between servers.
#[derive(Default)]
pub struct Setup {
    /// The OpenID Connect provider whose tokens are accepted.
    pub issuer: Option<String>,
    pub options: ApiOptions,
    /// Where spans go.
    pub traces: Option<TraceSettings>,
    /// Whether the readers of the change feed run, and the operations socket listens.
    pub in_background: bool,
    /// Whether queries of signed-in users wait for their last write, as in production. Without readers in the
    /// background each would wait for as long as it may.
    pub waits_for_last_write: bool,
    /// Usernames of staff: these users are there from the start.
    pub staff: &'static [&'static str],
    /// Usernames of staff that no user has.
    pub missing_staff: &'static [&'static str],
    /// Decorates the store beneath the reads and sessions of the API.
    pub decorate: Option<Decorate>,
}

pub struct Server {
    pub app: Arc<App>,
    pub clock: Arc<TickingClock>,
    pub tokens: Tokens,
    pub http: reqwest::Client,
    address: SocketAddr,
    telemetry: Arc<Telemetry>,
    keeper: Arc<Keeper>,
}

impl Server {
    pub async fn start() -> Self {
        Self::start_with(Setup::default()).await
    }

    pub async fn start_with(mut setup: Setup) -> Self {
        if !setup.in_background && !setup.waits_for_last_write {
            setup.options.limits.positions.sessions_max = 0;
        }
        if setup.options.attempts == AttemptLimits::default() {
            // Tests sign up many users at one address and at one time.
            setup.options.attempts.sign_ups_per_address = 0;
        }
        let keeper = Arc::new(store::keep(&container_specs()));
        let clock = Arc::new(TickingClock::at(START_MS));
        let ticking: Arc<dyn Clock> = Arc::clone(&clock) as _;
        let traces = setup.traces.map(|settings| Traces::start(&settings).unwrap());
        let telemetry = Arc::new(Telemetry { traces, ..Telemetry::default() });
        let options = AppOptions {
            hashing: HashingCost::CHEAP,
            clock: ticking,
            observers: vec![Arc::clone(&telemetry) as _],
            ..AppOptions::default()
        };
        let mut app = keeper.app(options).await;
        if let Some(decorate) = setup.decorate.take() {
            let store = decorate(Arc::clone(&app.store));
            app.reads = ReadModels::new(&store);
            app.webstore_reads = WebstoreReads::new(store);
            let recent = decorate(Arc::clone(&app.recent));
            Arc::get_mut(&mut app.engine).expect("nobody else has the engine yet").recent = recent;
        }
        let app = Arc::new(app);
        setup.options.staff = staff(&app, setup.staff, setup.missing_staff).await;
        let secrets = match app.data_directory() {
            Some(directory) => {
                let keys = KeyDirectory::in_data_directory(directory).read_or_create(START_MS).unwrap();
                keys.secrets(START_MS)
            }
            None => Secrets::from(&SigningSecret::from_bytes(vec![7; 48]).unwrap()),
        };
        let tokens = Tokens::new(&secrets, ACCESS_TOKEN_LIFETIME_DEFAULT);
        let provider = setup.issuer.map(|issuer| {
            let documents = Arc::new(HttpProviderDocuments::new().unwrap());
            Arc::new(OidcVerifier::new(&issuer, Some("onehop".to_owned()), documents).unwrap())
        });
        let parts = ApiParts {
            tokens: tokens.clone(),
            provider,
            options: setup.options,
            telemetry: Some(Arc::clone(&telemetry)),
        };
        let router = api_of(&app, parts).unwrap().router;
        if setup.in_background {
            app.start(None);
            serve_socket(&app, true, DiagnosisSources::default()).unwrap();
        }
        let address = listen(&app, router).await;
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { app, clock, tokens, http, address, telemetry, keeper }
    }

    /// The server as it is after a restart: the same data and secrets, and nothing in memory.
    pub async fn restarted(&self, options: ApiOptions) -> Self {
        let parts = ApiParts { tokens: self.tokens.clone(), provider: None, options, telemetry: None };
        let address = listen(&self.app, api_of(&self.app, parts).unwrap().router).await;
        Self {
            app: Arc::clone(&self.app),
            clock: Arc::clone(&self.clock),
            tokens: self.tokens.clone(),
            http: self.http.clone(),
            address,
            telemetry: Arc::clone(&self.telemetry),
            keeper: Arc::clone(&self.keeper),
        }
    }

    /// Has all spans sent, and no more afterwards.
    pub async fn stop_traces(&self) {
        let telemetry = Arc::clone(&self.telemetry);
        let stopping = tokio::task::spawn_blocking(move || telemetry.traces.as_ref().unwrap().stop());
        stopping.await.unwrap().unwrap();
    }

    /// Brings the read models up to the writes so far.
    pub async fn settle(&self) {
        self.app.processor.drain().await.unwrap();
    }

    /// The findings of a verification.
    pub async fn verify(&self) -> VerificationReport {
        let settle = Arc::clone(&self.app.processor) as _;
        verifier(Arc::clone(&self.app.store), settle).verify(|_| {}).await.unwrap()
    }

    /// Whether the store knows where its change feeds end.
    pub fn has_end_at_hand(&self) -> bool {
        self.app.store.local_feed_end(POSTS).unwrap().is_some()
    }

    pub fn data(&self) -> &Path {
        self.keeper.directory()
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Asks the operations API on the public listener; the status and the body.
    pub async fn ask_operations(&self, query: &str) -> (u16, Value) {
        let request = self.http.post(self.url("/operations/graphql")).json(&json!({ "query": query }));
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// The data of the operations API, without errors.
    pub async fn operations(&self, query: &str) -> Value {
        let (status, mut body) = self.ask_operations(query).await;
        assert!(status == 200 && body.get("errors").is_none(), "{query}: {body}");
        body["data"].take()
    }

    /// A caller without a token.
    pub fn anonymous(&self) -> Caller<'_> {
        Caller::new(self, None)
    }

    /// A caller with this token, valid or not.
    pub fn bearing(&self, token: &str) -> Caller<'_> {
        Caller::new(self, Some(token.to_owned()))
    }

    /// A user who is there, signed in.
    pub async fn sign_in(&self, username: &str) -> Caller<'_> {
        let credentials = json!({ "username": username, "password": PASSWORD });
        let query = "mutation($i: SignInInput!) { signIn(input: $i) { accessToken user { id } } }";
        let data = self.anonymous().data(query, json!({ "i": credentials })).await["signIn"].take();
        let mut caller = self.bearing(data["accessToken"].as_str().unwrap());
        caller.id = data["user"]["id"].as_str().unwrap().to_owned();
        caller
    }

    /// A new user, signed in.
    pub async fn sign_up(&self, username: &str) -> Caller<'_> {
        let data = self.anonymous().sign_up(username, PASSWORD).await;
        let mut caller = self.bearing(data["accessToken"].as_str().unwrap());
        caller.id = data["user"]["id"].as_str().unwrap().to_owned();
        caller
    }
}

/// Signs these users up, and makes them staff beside the missing ones.
async fn staff(app: &App, usernames: &[&str], missing: &[&str]) -> Staff {
    for username in usernames {
        let input = CreateUser {
            username: (*username).to_owned(),
            password: PASSWORD.to_owned(),
            idempotency_key: None,
            caller: HashingCaller::default(),
        };
        app.commands.create_user(input, &Ledger::new()).await.unwrap();
    }
    let listed = usernames.iter().chain(missing).map(|name| ListedUser::Name(Username::parse(name).unwrap()));
    resolve_staff(app, &listed.collect::<Vec<_>>(), false).await.unwrap()
}

/// Longer than any test.
const LONG: Duration = Duration::from_secs(3600);

/// Serves routes in the background, and returns their address.
async fn listen(app: &App, router: axum::Router) -> SocketAddr {
    let listening = HttpServer::bind((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
    let (address, stop) = (listening.local_address(), app.tasks.soft_stop());
    let listening = listening.with_drain(app.tasks.draining());
    app.tasks.spawn_serving("http", async move {
        listening.serve(router, stop, LONG).await;
        Ok::<(), std::convert::Infallible>(())
    });
    address
}
