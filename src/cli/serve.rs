//! `onehop serve`: the API, the playground and the web page, with the change feed processor beside them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use axum::http::HeaderValue;
use clap::Args;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Exit;
use super::progress::Bar;
use super::work::{AppWorker, DEMO_PASSWORD};
use crate::accounts::Authenticator;
use crate::accounts::oidc::{HttpDocuments, OidcVerifier};
use crate::accounts::secret::SigningSecret;
use crate::accounts::token::Tokens;
use crate::app::App;
use crate::blog::ids::RandomIds;
use crate::compare::dataset::{DEFAULT_RNG_SEED, DEMO_USERNAMES};
use crate::config::{AccountSettings, DataSettings, ServeSettings};
use crate::control::{ControlServer, PROGRESS_WAITING_MAX, Work, Worker};
use crate::graphql::{Executor, ProjectionStatus, ProjectionStatuses, Services, sdl};
use crate::http::graphql_http::{GraphqlEndpoint, RequestLimits};
use crate::http::health::{Readiness, UnreadyPart};
use crate::http::router::{HttpParts, router};
use crate::http::server::{Server, Stopped};
use crate::http::static_files::StaticFiles;
use crate::lifecycle::{Tasks, log_panics};
use crate::store::Fault;

/// Between two looks at the keys of the OpenID Connect provider.
const PROVIDER_REFRESH_INTERVAL: Duration = Duration::from_secs(600);
/// The part of the time for a graceful stop that requests have; the rest is for what works behind them.
const REQUESTS_STOP_SHARE: f64 = 0.75;

/// Serves until SIGTERM or SIGINT; a second signal stops at once.
#[derive(Debug, Args)]
pub struct Serve {
    #[command(flatten)]
    serve: ServeSettings,
    #[command(flatten)]
    data: DataSettings,
    #[command(flatten)]
    accounts: AccountSettings,
}

impl Serve {
    pub async fn run(self) -> anyhow::Result<Exit> {
        log_panics();
        let allowed_origins = self.allowed_origins()?;
        let app = Arc::new(App::open(&self.data).await?);
        let worker = Arc::new(AppWorker(Arc::clone(&app)));
        // The address is taken before a long seeding, so that one that is taken is told at once.
        let server = Server::bind(self.serve.listen).await.context("--listen")?;
        if self.serve.demo {
            self.seed_demo(&app, &worker).await?;
        }

        let tasks = app.tasks.clone();
        let provider = self.provider()?;
        let tokens = self.tokens(&app).await?;
        let executor = Executor::new(
            Services {
                reads: app.reads.clone(),
                commands: app.commands.clone(),
                tokens: tokens.clone(),
                projections: Arc::new(Statuses(Arc::clone(&app))),
                clock: Arc::clone(&app.clock),
                ids: Arc::new(RandomIds),
            },
            Authenticator::new(tokens, provider.clone()),
        );
        let graphql = GraphqlEndpoint::new(Arc::new(executor), &sdl(), RequestLimits::default())
            .context("the schema cannot be served")?;
        let router = router(HttpParts {
            graphql: Arc::new(graphql),
            readiness: Arc::new(Ready { app: Arc::clone(&app), stop: tasks.soft_stop() }),
            static_files: StaticFiles::embedded(),
            allowed_origins,
        });

        start_background(&app, &tasks, provider);
        let control =
            ControlServer::bind(app.data_directory()).context("the control socket cannot be made")?;
        let (control_tasks, control_stop) = (tasks.clone(), tasks.soft_stop());
        tasks.spawn("control", async move { control.serve(worker, control_tasks, control_stop).await });

        let address = server.local_address();
        let (stop, deadline) =
            (tasks.soft_stop(), self.serve.graceful_stop_max().mul_f64(REQUESTS_STOP_SHARE));
        tasks.spawn("http", async move {
            if let Stopped::DroppingConnections(connections) = server.serve(router, stop, deadline).await {
                tracing::warn!(connections, "connections were dropped at the deadline");
            }
            Ok::<(), std::io::Error>(())
        });
        println!("onehop listening on http://{address}");

        let outcome = tasks.run(self.serve.graceful_stop_max()).await;
        app.close().await;
        outcome?;
        tracing::info!("stopped");
        Ok(Exit::Success)
    }

    fn allowed_origins(&self) -> anyhow::Result<Vec<HeaderValue>> {
        let parse = |origin: &String| {
            let scheme_and_host = origin.split_once("://").filter(|(scheme, host)| {
                matches!(*scheme, "http" | "https") && !host.is_empty() && !host.contains('/')
            });
            scheme_and_host.with_context(|| {
                format!("--allow-origin {origin:?} is not an origin such as https://blog.example")
            })?;
            HeaderValue::from_str(origin)
                .with_context(|| format!("--allow-origin {origin:?} is not an origin"))
        };
        self.serve.allow_origins.iter().map(parse).collect()
    }

    async fn tokens(&self, app: &App) -> anyhow::Result<Tokens> {
        let directory = app.data_directory().to_owned();
        let secret = tokio::task::spawn_blocking(move || SigningSecret::load_or_create(&directory)).await??;
        let lifetime = Duration::from_secs(u64::from(self.accounts.token_hours) * 3600);
        Ok(Tokens::new(&secret, lifetime))
    }

    fn provider(&self) -> anyhow::Result<Option<Arc<OidcVerifier>>> {
        let Some(issuer) = &self.accounts.jwt_issuer else { return Ok(None) };
        let documents = HttpDocuments::new().context("the HTTP client cannot be set up")?;
        let verifier = OidcVerifier::new(issuer, self.accounts.jwt_audience.clone(), Arc::new(documents))
            .with_context(|| format!("--jwt-issuer {issuer:?}"))?;
        Ok(Some(Arc::new(verifier)))
    }

    /// Fills an empty directory; one with data is left as it is.
    async fn seed_demo(&self, app: &App, worker: &AppWorker) -> anyhow::Result<()> {
        if !app.is_empty().await? {
            return Ok(());
        }
        tracing::info!(users = self.serve.demo_users, "making the demo data set");
        let (sender, mut steps) = mpsc::channel(PROGRESS_WAITING_MAX);
        let mut bar = Bar::new();
        let work = Work::Seed { users: self.serve.demo_users, rng_seed: DEFAULT_RNG_SEED };
        let seeding = worker.perform(work, sender);
        tokio::pin!(seeding);
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut seeding => break outcome,
                Some(step) = steps.recv() => bar.show(&step),
            }
        };
        bar.clear();
        outcome.map_err(anyhow::Error::msg)?;
        let users: Vec<&str> = DEMO_USERNAMES.into_iter().take(self.serve.demo_users as usize).collect();
        println!("demo users {} have the password {DEMO_PASSWORD}", users.join(", "));
        Ok(())
    }
}

/// The readers of the change feed, the purging of expired items, and the keys of the provider.
fn start_background(app: &Arc<App>, tasks: &Tasks, provider: Option<Arc<OidcVerifier>>) {
    let (soft_stop, processor_stop) = (tasks.soft_stop(), app.processor_stop());
    tasks.spawn("processor stop", async move {
        soft_stop.cancelled().await;
        processor_stop.cancel();
        Ok::<(), std::io::Error>(())
    });
    for reader in app.processor.readers() {
        tasks.spawn(reader.projection(), async move {
            reader.run().await;
            Ok::<(), std::io::Error>(())
        });
    }
    let (purging, stop) = (Arc::clone(app), tasks.soft_stop());
    tasks.spawn("purge", async move { purging.purge_until(stop).await });
    if let Some(provider) = provider {
        let (clock, stop) = (Arc::clone(&app.clock), tasks.soft_stop());
        tasks.spawn("provider keys", async move {
            loop {
                if let Err(error) = provider.refresh(clock.now_ms()).await {
                    tracing::warn!(%error, "the keys of the OpenID Connect provider cannot be read");
                }
                if stop.run_until_cancelled(tokio::time::sleep(PROVIDER_REFRESH_INTERVAL)).await.is_none() {
                    return Ok::<(), std::io::Error>(());
                }
            }
        });
    }
}

/// Ready when the store answers and every projection runs; not any more when the process stops.
struct Ready {
    app: Arc<App>,
    stop: CancellationToken,
}

#[async_trait]
impl Readiness for Ready {
    async fn unready_parts(&self) -> Vec<UnreadyPart> {
        let mut parts = Vec::new();
        let mut unready = |part: &str, reason: &str| {
            parts.push(UnreadyPart { part: part.to_owned(), reason: reason.to_owned() });
        };
        if self.stop.is_cancelled() {
            unready("process", "it is stopping");
        }
        if self.app.store.ready().await.is_err() {
            unready("store", "it does not answer");
        }
        match self.app.processor.status().await {
            Ok(statuses) => {
                for status in statuses.iter().filter(|status| !status.running) {
                    unready(status.projection, "the projection does not run");
                }
            }
            Err(_) => unready("projections", "their state cannot be read"),
        }
        parts
    }
}

/// The processor's status in the words of the schema.
struct Statuses(Arc<App>);

#[async_trait]
impl ProjectionStatuses for Statuses {
    async fn statuses(&self) -> Result<Vec<ProjectionStatus>, Fault> {
        let statuses = self.0.processor.status().await?;
        Ok(statuses
            .into_iter()
            .map(|status| ProjectionStatus {
                name: status.projection.to_owned(),
                pending_changes: u32::try_from(status.pending_changes).unwrap_or(u32::MAX),
                lag_ms: status.lag_ms as f64,
                dead_letters: u32::try_from(status.dead_letters).unwrap_or(u32::MAX),
            })
            .collect())
    }
}
