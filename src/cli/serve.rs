//! `onehop serve`: the API, the playground and the web page, with the change feed processor beside them.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use super::Exit;
use super::given_settings::GivenSettings;
use super::model::{ServedFile, served_model};
use super::progress::perform_on;
use crate::accounts::audience::Audience;
use crate::accounts::key_directory::KeyDirectory;
use crate::accounts::key_reload::KeyReload;
use crate::accounts::oidc::{HttpProviderDocuments, OidcVerifier};
use crate::accounts::staff::Staff;
use crate::accounts::token::Tokens;
use crate::api::{Api, ApiOptions, ApiParts, ServedApiParts, api_of, served_api_of};
use crate::app::demo_users::refuse_demo_accounts;
use crate::app::staff::resolve_staff;
use crate::app::work::DEMO_PASSWORD;
use crate::app::{AcceptedChanges, App, AppOptions, Engine, ServedApp};
use crate::blog::study::dataset::{DEFAULT_RNG_SEED, DEMO_USERNAMES, Texts};
use crate::config::memory_limits::{MEMORY_BYTES_MIN, MemoryLimits, split_connections};
use crate::config::{
    AccountSettings, CallerSettings, DocumentSettings, Environment, ExposureSettings, GivenKeys,
    LimitSettings, LogFormat, ProcessLog, RequestLogArguments, ServeSettings, StoreChoice, StoreSettings,
    SubscriptionSettings, TOKEN_SECRET_VARIABLE, TraceExportSettings, WebstoreSettings,
};
use crate::graphql::SchemaOptions;
use crate::http::static_files::StaticFiles;
use crate::operations::{self, DiagnosisSources, OperatorKey};
use crate::telemetry::{EVERY_LINE, LeftOut, RecentLines, RepeatedLines, RequestLog, Telemetry, Traces};
use onehop_graphql_server::open_files::raise_open_files;
use onehop_graphql_server::router::metrics_alone;
use onehop_graphql_server::server::{ConnectionLimits, Server, Stopped};
use onehop_runtime::memory::memory_bytes;
use onehop_runtime::tasks::{REQUESTS_STOP_SHARE, StopTimes, Tasks, log_panics};
use onehop_store::CircuitSettings;

/// The interval of summaries in the log.
const SUMMARY_INTERVAL: Duration = Duration::from_secs(60);

/// Arguments of `onehop serve`.
#[derive(Debug, Args)]
pub struct Serve {
    #[command(flatten)]
    serve: ServeSettings,
    #[command(flatten)]
    store: StoreSettings,
    #[command(flatten)]
    accounts: AccountSettings,
    #[command(flatten)]
    exposure: ExposureSettings,
    #[command(flatten)]
    limits: LimitSettings,
    #[command(flatten)]
    callers: CallerSettings,
    #[command(flatten)]
    documents: DocumentSettings,
    #[command(flatten)]
    live: SubscriptionSettings,
    #[command(flatten)]
    webstore: WebstoreSettings,
    #[command(flatten)]
    traces: TraceExportSettings,
    #[command(flatten)]
    requests: RequestLogArguments,
    /// The settings that differ from the defaults.
    #[arg(skip)]
    pub given: GivenSettings,
}

/// The log of a server.
struct ServerLog {
    format: LogFormat,
    repeated: RepeatedLines,
    recent: RecentLines,
    /// Where the data is.
    store: String,
    /// The key in the address of `/browse`, which is printed once.
    operator_key: Option<OperatorKey>,
}

/// The settings that the built-in domains and a served model share, checked.
struct Given {
    choice: StoreChoice,
    keys: Option<GivenKeys>,
    options: ApiOptions,
    provider: Option<Arc<OidcVerifier>>,
    telemetry: Arc<Telemetry>,
    log: ServerLog,
}

/// The servers, each with its address.
struct Servers {
    api: Server,
    metrics: Option<Server>,
}

impl Serve {
    pub async fn run(mut self, format: LogFormat, log: ProcessLog) -> anyhow::Result<Exit> {
        let ProcessLog { repeated, recent } = log;
        log_panics();
        self.exposure.refuse_dangers(&self.serve, &self.store, &self.accounts)?;
        // A model with mistakes is refused before any data is touched.
        let model = self.serve.model.as_deref().map(served_model).transpose()?;
        let (options, provider) = (self.options()?, self.provider()?);
        let environment = Environment::of_process();
        let mut choice = self.store.choice(&environment)?;
        self.fit_memory(&mut choice);
        let given_keys = self.accounts.signing_keys(&environment)?;
        if matches!(choice, StoreChoice::Cosmos(_)) && given_keys.is_none() {
            anyhow::bail!(
                "--store cosmos needs a secret for access tokens that all processes share: write the output of \
                 `openssl rand -base64 48` to a file for --token-secret-file, or to {TOKEN_SECRET_VARIABLE}"
            );
        }
        let traces = self.traces.settings(&choice)?;
        let traces =
            traces.map(|settings| Traces::start(&settings)).transpose().context("--otlp-endpoint")?;
        let requests = RequestLog::new(self.requests.settings());
        let telemetry = Arc::new(Telemetry { traces, requests, ..Telemetry::default() });
        let log = ServerLog { format, repeated, recent, store: choice.to_string(), operator_key: None };
        let given = Given { choice, keys: given_keys, options, provider, telemetry, log };
        match model {
            Some(model) => self.serve_model(model, given).await,
            None => self.serve_domains(given).await,
        }
    }

    /// Serves the built-in domains.
    async fn serve_domains(&self, given: Given) -> anyhow::Result<Exit> {
        let Given { choice, keys, mut options, provider, telemetry, log } = given;
        let app = Arc::new(App::open_with(&choice, self.app_options(&telemetry)).await?);
        if self.exposure.production {
            refuse_demo_accounts(&app).await?;
        }
        // The address is taken before a long seeding, so that an address in use is reported at once.
        let servers = self.bind().await?;
        if self.serve.demo {
            self.seed_demo(&app).await?;
        }
        let listed = self.webstore.listed(self.serve.demo)?;
        options.staff = resolve_staff(&app, &listed, self.exposure.production).await?;
        let tokens = self.reloaded_tokens(&app.engine, &choice, keys).await?;
        let parts =
            ApiParts { tokens, provider: provider.clone(), options, telemetry: Some(Arc::clone(&telemetry)) };
        let api = api_of(&app, parts)?;
        app.start(provider);
        let sources = self.diagnosis(&log, &api);
        operations::serve_socket(&app, !self.exposure.production, sources)
            .context("the operations socket cannot be created")?;
        if !StaticFiles::embedded().has_pages() {
            tracing::warn!("the pages are not part of this build: `make web` builds them");
        }
        self.listen(&app.engine, api, servers, (telemetry, log)).await
    }

    /// Serves the domain of a model.
    async fn serve_model(&self, served: ServedFile, given: Given) -> anyhow::Result<Exit> {
        let Given { choice, keys, mut options, provider, telemetry, log } = given;
        if let (Some(_), Some(account)) = (&provider, served.model.account()) {
            let name = served.model.ty(account).name;
            anyhow::bail!("--jwt-issuer: the model has accounts of its own alone, by @account on {name}");
        }
        let accepted = match self.serve.accept_breaking {
            true => AcceptedChanges::Breaking,
            false => AcceptedChanges::Compatible,
        };
        let model = Arc::clone(&served.model);
        let app = ServedApp::open(model, &choice, accepted, self.app_options(&telemetry)).await;
        let app = app.map_err(|error| served.explained(error))?;
        let servers = self.bind().await?;
        if self.exposure.browse(servers.api.local_address()) {
            let key = OperatorKey::random().context("the operator key cannot be made")?;
            options.operator_key = Some(key);
        }
        let operator_key = options.operator_key.clone();
        let staff = app.staff(&self.webstore.staff, self.exposure.production).await?;
        let tokens = self.reloaded_tokens(&app.engine, &choice, keys).await?;
        let telemetry_of = Some(Arc::clone(&telemetry));
        let parts =
            ServedApiParts { tokens, staff, provider: provider.clone(), options, telemetry: telemetry_of };
        let api = served_api_of(&app, parts)?;
        app.engine.start(provider);
        let sources = self.diagnosis(&log, &api);
        operations::serve_socket(&app, false, sources).context("the operations socket cannot be created")?;
        app.start_building();
        let log = ServerLog { operator_key, ..log };
        self.listen(&app.engine, api, servers, (telemetry, log)).await
    }

    fn app_options(&self, telemetry: &Arc<Telemetry>) -> AppOptions {
        AppOptions {
            live_poll: self.live.poll(),
            projection_poll: self.serve.projection_poll(),
            observers: vec![Arc::clone(telemetry) as _],
            circuits: Some(CircuitSettings::default()),
            ..AppOptions::default()
        }
    }

    /// The sources of `onehop diagnose`.
    fn diagnosis(&self, log: &ServerLog, api: &Api) -> DiagnosisSources {
        let (log, metrics) = (log.recent.clone(), api.metrics.clone());
        DiagnosisSources { settings: self.given.line(), log, metrics }
    }

    /// Takes the addresses.
    async fn bind(&self) -> anyhow::Result<Servers> {
        let api = Server::bind(self.serve.listen).await.context("--listen")?;
        let metrics = match self.exposure.metrics_listen {
            Some(address) => Some(Server::bind(address).await.context("--metrics-listen")?),
            None => None,
        };
        Ok(Servers { api: api.with_limits(self.connection_limits()), metrics })
    }

    /// Tokens, whose keys are read again while the server runs.
    async fn reloaded_tokens(
        &self,
        engine: &Engine,
        choice: &StoreChoice,
        given: Option<GivenKeys>,
    ) -> anyhow::Result<Tokens> {
        let (tokens, directory) = self.tokens(engine, choice, given).await?;
        if let Some(directory) = directory {
            let reload = KeyReload::new(directory, tokens.clone(), Arc::clone(&engine.clock));
            let stop = engine.tasks.soft_stop();
            engine.tasks.spawn("signing keys", async move {
                reload.run_until(stop).await;
                Ok::<(), Infallible>(())
            });
        }
        Ok(tokens)
    }

    /// Listens until a signal, and stops gracefully.
    async fn listen(
        &self,
        engine: &Engine,
        api: Api,
        servers: Servers,
        (telemetry, log): (Arc<Telemetry>, ServerLog),
    ) -> anyhow::Result<Exit> {
        let Api { router, metrics } = api;
        self.log_start(engine, &servers, &log.store);
        let tasks = engine.tasks.clone();
        let address = servers.api.local_address();
        let times = StopTimes { drain: self.serve.drain(), graceful_max: self.serve.graceful_stop_max() };
        let (stop, deadline) = (tasks.soft_stop(), times.graceful_max.mul_f64(REQUESTS_STOP_SHARE));
        let server = servers.api.with_drain(tasks.draining());
        tasks.spawn_serving("http", async move {
            if let Stopped::DroppingConnections(connections) = server.serve(router, stop, deadline).await {
                tracing::warn!(connections, "connections were dropped at the shutdown deadline");
            }
            Ok::<(), std::io::Error>(())
        });
        if let (Some(server), Some(metrics)) = (servers.metrics, metrics) {
            let (stop, address) = (tasks.soft_stop(), server.local_address());
            let hosts = self.exposure.exposure(address)?.hosts;
            tasks.spawn("metrics", async move {
                server.serve(metrics_alone(metrics, hosts), stop, deadline).await;
                Ok::<(), std::io::Error>(())
            });
            log.format.print("onehop metrics on", &format!("http://{address}/metrics"));
        }
        // A reader of the line may send a request at once.
        let signals = tasks.listen_to_signals()?;
        if let Some(key) = &log.operator_key {
            log.format.print("onehop browse at", &format!("http://{address}/browse#key={}", key.reveal()));
        }
        log.format.print("onehop listening on", &format!("http://{address}"));
        summarise_until(&tasks, &telemetry, log.repeated.clone());

        let outcome = tasks.run_until(signals, times).await;
        engine.close().await;
        summarise(&telemetry, &log.repeated);
        stop_traces(telemetry).await;
        outcome?;
        tracing::info!("stopped");
        Ok(Exit::Success)
    }

    /// The first line of the log: the served model, the store, the settings and the limits.
    fn log_start(&self, engine: &Engine, servers: &Servers, store: &str) {
        let limits = servers.api.limits();
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            store,
            recovery = engine.recovery(),
            settings = self.given.line(),
            connections_max = limits.connections_max,
            executing_max = self.limits.executing_max,
            live_connections = self.live.connections,
            responses_in_flight_bytes_max = self.limits.responses_in_flight_bytes_max,
            bodies_in_flight_bytes_max = self.limits.bodies_in_flight_bytes_max,
            "starting"
        );
    }

    /// Lowers the limits that take memory to the memory that the process may take.
    fn fit_memory(&mut self, choice: &mut StoreChoice) {
        let (cache_bytes, memtable_bytes) = match choice {
            StoreChoice::Embedded(config) => (config.cache_bytes, config.memtable_bytes),
            StoreChoice::Cosmos(_) => (0, 0),
        };
        let fitted = MemoryLimits {
            cache_bytes,
            memtable_bytes,
            responses_bytes: self.limits.responses_in_flight_bytes_max as u64,
            bodies_bytes: self.limits.bodies_in_flight_bytes_max as u64,
            connections: self.limits.connections_max.saturating_add(self.live.connections) as u64,
        }
        .fitting(memory_bytes());
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        if let StoreChoice::Embedded(config) = choice {
            config.cache_bytes = fitted.limits.cache_bytes;
            config.memtable_bytes = fitted.limits.memtable_bytes;
        }
        self.limits.responses_in_flight_bytes_max = count(fitted.limits.responses_bytes);
        self.limits.bodies_in_flight_bytes_max = count(fitted.limits.bodies_bytes);
        let connections = count(fitted.limits.connections);
        (self.limits.connections_max, self.live.connections) =
            split_connections(connections, self.limits.connections_max, self.live.connections);
        for lowered in &fitted.lowered {
            tracing::warn!(%lowered, "a limit is lowered to fit into the memory");
        }
        let (sum_bytes, available_bytes) = (fitted.sum, fitted.available.unwrap_or(0));
        if fitted.is_too_small() {
            tracing::error!(
                sum_bytes,
                available_bytes,
                least_bytes = MEMORY_BYTES_MIN,
                "the memory is too small: the process may be killed"
            );
        } else {
            tracing::info!(sum_bytes, available_bytes, "the limits fit into the memory");
        }
    }

    /// The connection limits, lowered to the limit of open files, which is raised first. Behind proxies the
    /// peer of each connection is a proxy, so the connections of one network are not limited.
    fn connection_limits(&self) -> ConnectionLimits {
        let live = self.limits.live(&self.live);
        let limits = self.limits.connections().beside(live.connections_max, live.connections_per_network_max);
        let limits = match self.callers.trusted_proxies {
            0 => limits,
            _ => ConnectionLimits { connections_per_network_max: 0, ..limits },
        };
        let fitting = limits.at_most(raise_open_files());
        if fitting.connections_max < limits.connections_max {
            let (wanted, max) = (limits.connections_max, fitting.connections_max);
            tracing::warn!(
                wanted,
                max,
                "the limit of open files lowers the connection limit: raise `ulimit -Hn`"
            );
        }
        fitting
    }

    fn options(&self) -> anyhow::Result<ApiOptions> {
        Ok(ApiOptions {
            limits: self.limits.requests(&self.callers),
            attempts: self.callers.attempts(),
            writes: self.callers.writes(),
            live: self.limits.live(&self.live),
            schema: SchemaOptions {
                complexity_max: self.limits.complexity_max,
                introspection: self.exposure.introspection(),
                suggestions: self.exposure.introspection(),
                operations: self.exposure.operations(),
            },
            trusted: self.documents.trusted()?,
            trusted_only: self.documents.trusted_only,
            exposure: self.exposure.exposure(self.serve.listen)?,
            public_origin: self.exposure.public_origin()?,
            playground: self.exposure.playground(),
            metrics: self.exposure.metrics(),
            operations: self.exposure.operations(),
            operator_key: None,
            sessions: self.accounts.sessions(),
            staff: Staff::default(),
        })
    }

    /// Tokens under the given keys, or else under the keys of the data directory; and the directory that they
    /// come from.
    async fn tokens(
        &self,
        app: &Engine,
        choice: &StoreChoice,
        given: Option<GivenKeys>,
    ) -> anyhow::Result<(Tokens, Option<KeyDirectory>)> {
        let now_ms = app.clock.now_ms();
        let GivenKeys { keys, directory } = match (given, app.data_directory()) {
            (Some(given), _) => given,
            (None, Some(directory)) => {
                let directory = KeyDirectory::in_data_directory(directory);
                let making = directory.clone();
                let keys = tokio::task::spawn_blocking(move || making.read_or_create(now_ms)).await??;
                GivenKeys { keys, directory: Some(directory) }
            }
            (None, None) => anyhow::bail!("there is no secret for access tokens: --token-secret-file"),
        };
        let audience = self.audience(app, choice).await?;
        let tokens = Tokens::new(keys.secrets(now_ms), self.accounts.token_lifetime());
        Ok((tokens.for_audience(audience), directory))
    }

    /// The audience of access tokens and sessions.
    async fn audience(&self, app: &Engine, choice: &StoreChoice) -> anyhow::Result<Audience> {
        if let Some(audience) = self.accounts.audience()? {
            return Ok(audience);
        }
        match (choice, app.data_directory().map(Path::to_owned)) {
            (StoreChoice::Cosmos(account), _) => {
                Ok(Audience::of_database(&account.endpoint, &account.database))
            }
            (StoreChoice::Embedded(_), Some(directory)) => {
                Ok(tokio::task::spawn_blocking(move || Audience::of_directory(&directory)).await??)
            }
            (StoreChoice::Embedded(_), None) => anyhow::bail!("there is no data directory"),
        }
    }

    fn provider(&self) -> anyhow::Result<Option<Arc<OidcVerifier>>> {
        let Some(issuer) = &self.accounts.jwt_issuer else { return Ok(None) };
        let documents = HttpProviderDocuments::new().context("the HTTP client cannot be set up")?;
        let verifier = OidcVerifier::new(issuer, self.accounts.jwt_audience.clone(), Arc::new(documents))
            .with_context(|| format!("--jwt-issuer {issuer:?}"))?;
        Ok(Some(Arc::new(verifier)))
    }

    /// Fills an empty store; one with data is left unchanged.
    async fn seed_demo(&self, app: &Arc<App>) -> anyhow::Result<()> {
        if !app.is_empty().await? {
            return Ok(());
        }
        tracing::info!(users = self.serve.demo_users, "writing the demo data set");
        let users = self.serve.demo_users;
        perform_on(app, &operations::seeding(users, DEFAULT_RNG_SEED, Texts::Short, true)).await?;
        perform_on(app, &operations::webstore_seeding(users, DEFAULT_RNG_SEED)).await?;
        let users: Vec<&str> = DEMO_USERNAMES.into_iter().take(self.serve.demo_users as usize).collect();
        println!("demo users {} have the password {DEMO_PASSWORD}", users.join(", "));
        Ok(())
    }
}

/// Writes a summary of refusals and of repeated lines at each interval, until the process stops.
fn summarise_until(tasks: &Tasks, telemetry: &Arc<Telemetry>, repeated: RepeatedLines) {
    repeated.begin();
    let (telemetry, stop) = (Arc::clone(telemetry), tasks.soft_stop());
    tasks.spawn("log summaries", async move {
        while stop.run_until_cancelled(tokio::time::sleep(SUMMARY_INTERVAL)).await.is_some() {
            summarise(&telemetry, &repeated);
        }
        Ok::<(), Infallible>(())
    });
}

fn summarise(telemetry: &Telemetry, repeated: &RepeatedLines) {
    telemetry.requests.summarise();
    for LeftOut { message, count, .. } in repeated.ended_window() {
        tracing::warn!(target: EVERY_LINE, count, message_repeated = message, "repeated lines were left out");
    }
}

/// Sends the last spans.
async fn stop_traces(telemetry: Arc<Telemetry>) {
    let stopping =
        tokio::task::spawn_blocking(move || telemetry.traces.as_ref().map_or(Ok(()), Traces::stop));
    if let Ok(Err(error)) = stopping.await {
        tracing::warn!(%error, "the last spans were not sent");
    }
}
