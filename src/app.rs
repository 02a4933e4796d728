//! The composition root: puts the parts together, and is the only place that names an adapter.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::accounts::oidc::OidcVerifier;
use crate::accounts::password::{HashingCost, HashingLimits, PasswordHasher};
use crate::blog;
use crate::blog::commands::{CommandLimits, CommandParts, Commands};
use crate::blog::ids::RandomIds;
use crate::blog::reads::ReadModels;
use crate::blog::verify::Settle;
use crate::changefeed::{self, Processor};
use crate::config::DataSettings;
use crate::lifecycle::Tasks;
use crate::store::embedded::EmbeddedStore;
use crate::store::{Clock, ContainerSpec, Fault, Store, SystemClock};

/// How long commands that are under way have when the process stops.
const COMMANDS_STOP_MAX: Duration = Duration::from_secs(5);
/// Items that one round of purging deletes.
const PURGE_ITEMS_MAX: usize = 1000;
/// Between two rounds of purging.
const PURGE_INTERVAL: Duration = Duration::from_secs(60);

/// Between two looks at the keys of the OpenID Connect provider.
const PROVIDER_REFRESH_INTERVAL: Duration = Duration::from_secs(600);

/// Every container there is.
#[must_use]
pub fn container_specs() -> Vec<ContainerSpec> {
    [blog::containers::SPECS, changefeed::SPECS].concat()
}

/// What the program chooses for itself and no setting changes.
pub struct AppOptions {
    /// What hashing one password takes.
    pub hashing: HashingCost,
    pub clock: Arc<dyn Clock>,
}

impl Default for AppOptions {
    fn default() -> Self {
        Self { hashing: HashingCost::OWASP, clock: Arc::new(SystemClock) }
    }
}

/// The parts of a process that holds the data.
pub struct App {
    embedded: Arc<EmbeddedStore>,
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub passwords: PasswordHasher,
    pub commands: Commands,
    pub reads: ReadModels,
    pub processor: Arc<Processor>,
    /// Everything that runs in the background of this process.
    pub tasks: Tasks,
    processor_stop: CancellationToken,
    readers_started: AtomicBool,
}

impl App {
    /// Opens the data directory. Nothing runs in the background yet.
    ///
    /// # Errors
    /// When the directory cannot be opened, or the change feed processor cannot read its state.
    pub async fn open(data: &DataSettings) -> anyhow::Result<Self> {
        Self::open_with(data, AppOptions::default()).await
    }

    /// As [`open`](Self::open), with other choices than those of the program.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_with(data: &DataSettings, options: AppOptions) -> anyhow::Result<Self> {
        let AppOptions { hashing, clock } = options;
        let embedded =
            Arc::new(EmbeddedStore::open(&data.embedded(), &container_specs(), Arc::clone(&clock))?);
        let store: Arc<dyn Store> = Arc::clone(&embedded) as Arc<dyn Store>;
        let passwords = PasswordHasher::new(hashing, HashingLimits::default())
            .context("password hashing cannot be set up")?;
        let tasks = Tasks::new();
        let commands = Commands::new(CommandParts {
            store: Arc::clone(&store),
            clock: Arc::clone(&clock),
            ids: Arc::new(RandomIds),
            passwords: passwords.clone(),
            tasks: tasks.clone(),
            limits: CommandLimits::default(),
        });
        let processor_stop = CancellationToken::new();
        let processor = Processor::open(
            Arc::clone(&store),
            Arc::clone(&clock),
            blog::projections::all(),
            changefeed::Settings::new("embedded"),
            processor_stop.clone(),
        )
        .await
        .context("the change feed processor cannot be opened")?;
        Ok(Self {
            reads: ReadModels::new(&store),
            embedded,
            store,
            clock,
            passwords,
            commands,
            processor: Arc::new(processor),
            tasks,
            processor_stop,
            readers_started: AtomicBool::new(false),
        })
    }

    /// The directory that holds the data.
    #[must_use]
    pub fn data_directory(&self) -> &Path {
        self.embedded.path()
    }

    /// Ends the readers of the change feed when it is cancelled.
    #[must_use]
    pub fn processor_stop(&self) -> CancellationToken {
        self.processor_stop.clone()
    }

    /// Starts what runs in the background until the app stops: the readers of the change feed, the purging of expired
    /// items, and a look at the keys of the OpenID Connect provider now and then.
    pub fn start(self: &Arc<Self>, provider: Option<Arc<OidcVerifier>>) {
        self.start_readers();
        let (app, stop) = (Arc::clone(self), self.tasks.soft_stop());
        self.tasks.spawn("purge", async move { app.purge_until(stop).await });
        if let Some(provider) = provider {
            let (clock, stop) = (Arc::clone(&self.clock), self.tasks.soft_stop());
            self.tasks.spawn("provider keys", async move {
                refresh_until(stop, &provider, &*clock).await;
                Ok::<(), Infallible>(())
            });
        }
    }

    /// Has the projections follow the change feed from now on, if they do not already.
    pub fn start_readers(&self) {
        if self.readers_started.swap(true, Ordering::Relaxed) {
            return;
        }
        let (soft_stop, processor_stop) = (self.tasks.soft_stop(), self.processor_stop());
        self.tasks.spawn("processor stop", async move {
            soft_stop.cancelled().await;
            processor_stop.cancel();
            Ok::<(), Infallible>(())
        });
        let (processor, tasks) = (Arc::clone(&self.processor), self.tasks.clone());
        self.tasks.spawn("change feed", async move {
            let spawn = |projection, reader: BoxFuture<'static, ()>| {
                tasks.spawn(projection, reader.map(Ok::<(), Infallible>));
            };
            processor.run(spawn).await;
            Ok::<(), Infallible>(())
        });
    }

    /// Whether nothing was ever written.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn is_empty(&self) -> Result<bool, Fault> {
        for container in [blog::containers::ACCOUNTS, blog::containers::USERS, blog::containers::POSTS] {
            for range in self.store.feed_ranges(container).await? {
                let request = crate::store::FeedRequest {
                    container,
                    range: &range,
                    continuation: None,
                    types: None,
                    limit: 1,
                };
                if self.store.pending_changes(&request, 1).await?.0 > 0 {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Deletes expired items now and then, until `stop` fires.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn purge_until(&self, stop: CancellationToken) -> Result<(), Fault> {
        loop {
            while self.embedded.purge_expired(PURGE_ITEMS_MAX).await? == PURGE_ITEMS_MAX {}
            if stop.run_until_cancelled(tokio::time::sleep(PURGE_INTERVAL)).await.is_none() {
                return Ok(());
            }
        }
    }

    /// Stops what runs in the background, waits for commands that are under way, and gives up the leases. The data
    /// directory is free when the last handle is dropped.
    pub async fn close(&self) {
        self.tasks.stop();
        self.processor_stop.cancel();
        let (_no_signals, signals) = tokio::sync::mpsc::channel(1);
        if let Err(error) = self.tasks.run_until(signals, COMMANDS_STOP_MAX).await {
            tracing::warn!(%error, "the stop was not orderly");
        }
        self.processor.release().await;
    }
}

/// Reads the keys of the provider again now and then, so that no request waits for them.
async fn refresh_until(stop: CancellationToken, provider: &OidcVerifier, clock: &dyn Clock) {
    loop {
        if let Err(error) = provider.refresh(clock.now_ms()).await {
            tracing::warn!(%error, "the keys of the OpenID Connect provider cannot be read");
        }
        if stop.run_until_cancelled(tokio::time::sleep(PROVIDER_REFRESH_INTERVAL)).await.is_none() {
            return;
        }
    }
}

/// Settles by draining the change feed.
pub struct Drained(pub Arc<Processor>);

#[async_trait]
impl Settle for Drained {
    async fn settle(&self) -> Result<(), Fault> {
        match self.0.drain().await {
            // A blog that never rests is looked at as it is.
            Ok(()) | Err(changefeed::ProcessorError::NotDrained) => Ok(()),
            Err(error) => Err(Fault::new(crate::store::FaultKind::Unavailable, error.to_string())),
        }
    }
}
