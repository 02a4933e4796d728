//! The composition root: puts the parts together, and is the only place that names an adapter.

pub mod comparison;
pub mod demo_users;
mod lease_throughput;
mod member;
pub mod operations;
mod partitions;
pub mod provisioning;
pub mod read_model_costs;
pub mod staff;
pub mod work;

pub use lease_throughput::warn_of_shared_leases;
pub use member::Member;

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
use crate::blog::live::{LiveEvents, LiveParts, LiveSettings};
use crate::blog::reads::ReadModels;
use crate::config::StoreChoice;
use crate::domain::containers::ACCOUNTS;
use crate::telemetry::{EmbeddedGauges, HotPartitions};
use crate::webstore;
use crate::webstore::commands::{WebstoreCommands, WebstoreParts};
use crate::webstore::reads::WebstoreReads;
use onehop_change_feed::{Processor, ProcessorError, Projection, Sharing, TailSettings};
use onehop_read_models::verify::Settle;
use onehop_runtime::blocking;
use onehop_runtime::clock::{Clock, SystemClock};
use onehop_runtime::tasks::Tasks;
use onehop_store::QuorumReads;
use onehop_store::charges::Calibration;
use onehop_store::cosmos::{Consistency, CosmosStore};
use onehop_store::embedded::{ConfirmedReads, EmbeddedStore};
use onehop_store::{
    BackgroundBudget, BackgroundStore, CertainAbsence, ContainerSpec, Fault, FaultKind, Ledger,
    ObservedStore, Store, StoreObserver,
};

/// Graceful shutdown timeout of commands in progress.
const COMMANDS_STOP_MAX: Duration = Duration::from_secs(5);
/// Items that one round of purging deletes.
const PURGE_ITEMS_MAX: usize = 1000;
/// The interval of purging.
const PURGE_INTERVAL: Duration = Duration::from_secs(60);

/// The default poll interval of the change feed for subscriptions.
pub const LIVE_POLL_DEFAULT: Duration = Duration::from_secs(1);
/// The default poll interval of the change feed for projections.
pub const PROJECTION_POLL_DEFAULT: Duration = Duration::from_secs(5);
/// The refresh interval of the OpenID Connect provider's keys.
const PROVIDER_REFRESH_INTERVAL: Duration = Duration::from_secs(600);

/// The specifications of all containers.
#[must_use]
pub fn container_specs() -> Vec<ContainerSpec> {
    [&blog::containers::SPECS, onehop_change_feed::SPECS, &webstore::containers::SPECS].concat()
}

/// The projections of all domains.
#[must_use]
pub fn projections() -> Vec<Arc<dyn Projection>> {
    let mut projections = blog::read_models::projections();
    projections.extend(webstore::read_models::read_models().projections());
    projections
}

/// Options of an app that the program chooses.
pub struct AppOptions {
    /// The cost of hashing one password.
    pub hashing: HashingCost,
    pub clock: Arc<dyn Clock>,
    /// The poll interval of the change feed, while there are subscribers.
    pub live_poll: Duration,
    /// The poll interval of the change feed for projections.
    pub projection_poll: Duration,
    /// Observers of every operation on the store.
    pub observers: Vec<Arc<dyn StoreObserver>>,
    /// The background tasks, on the executor that the process has.
    pub tasks: Tasks,
}

impl Default for AppOptions {
    fn default() -> Self {
        Self {
            hashing: HashingCost::OWASP,
            clock: Arc::new(SystemClock),
            live_poll: LIVE_POLL_DEFAULT,
            projection_poll: PROJECTION_POLL_DEFAULT,
            observers: Vec::new(),
            tasks: Tasks::new(),
        }
    }
}

/// An open store.
#[derive(Clone)]
pub enum OpenStore {
    /// A directory, which this process alone holds.
    Embedded(Arc<EmbeddedStore>),
    /// An account, which processes share.
    Cosmos(Arc<CosmosStore>),
    /// Another store that processes share: a model of an account, for example.
    Shared {
        store: Arc<dyn Store>,
        /// The same, which sees commits of other processes.
        recent: Arc<dyn Store>,
    },
}

impl OpenStore {
    /// Opens a data directory, or connects to an account.
    ///
    /// # Errors
    /// The directory or the account cannot be opened.
    pub async fn open(choice: &StoreChoice, clock: &Arc<dyn Clock>) -> anyhow::Result<Self> {
        match choice {
            StoreChoice::Embedded(config) => {
                let store = EmbeddedStore::open(config, &container_specs(), Arc::clone(clock))?;
                Ok(Self::Embedded(Arc::new(store)))
            }
            StoreChoice::Cosmos(account) => {
                // A fault's text holds its causes.
                let store = CosmosStore::connect(account, &container_specs()).await.map_err(|fault| {
                    let (database, endpoint) = (&account.database, &account.endpoint);
                    anyhow::anyhow!("the database {database:?} of {endpoint} cannot be opened: {fault}")
                })?;
                Ok(Self::Cosmos(Arc::new(store)))
            }
        }
    }

    /// The directory that holds the data; `None` where no directory of this machine does.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Embedded(store) => Some(store.path()),
            Self::Cosmos(_) | Self::Shared { .. } => None,
        }
    }

    /// The store, as recent as its settings say.
    #[must_use]
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Embedded(store) => Arc::clone(store) as _,
            Self::Cosmos(store) => Arc::clone(store) as _,
            Self::Shared { store, .. } => Arc::clone(store),
        }
    }

    /// The budget of background work; `None` without a limit.
    fn background_budget(&self) -> Option<Arc<BackgroundBudget>> {
        match self {
            Self::Embedded(_) | Self::Shared { .. } => None,
            Self::Cosmos(store) => store.background_budget(),
        }
    }

    /// The store for background work, which sees commits of other processes and yields to requests.
    #[must_use]
    pub fn background(&self) -> Arc<dyn Store> {
        Arc::new(BackgroundStore::for_background(self.recent(), self.background_budget()))
    }

    /// The store for work that must see commits of other processes: the change feed processor and the
    /// verification. Where processes share an account, that is a quorum read, and charged so everywhere.
    #[must_use]
    pub fn recent(&self) -> Arc<dyn Store> {
        match self {
            Self::Embedded(store) => {
                let embedded = Arc::clone(store) as Arc<dyn Store>;
                Arc::new(QuorumReads::new(embedded, store.calibration()))
            }
            Self::Cosmos(store) => Arc::new(store.with_consistency(Consistency::LatestCommitted)),
            Self::Shared { recent, .. } => Arc::clone(recent),
        }
    }
}

/// The parts of a process that works on the data.
pub struct App {
    /// The adapter. An embedded store does not delete expired items itself.
    adapter: OpenStore,
    pub store: Arc<dyn Store>,
    /// The same store for work that must see commits of other processes.
    pub recent: Arc<dyn Store>,
    /// The same for background work, which yields to requests.
    pub background: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub passwords: PasswordHasher,
    pub commands: Commands,
    pub reads: ReadModels,
    pub webstore_reads: WebstoreReads,
    pub webstore_commands: WebstoreCommands,
    /// Events of the blog, from all processes.
    pub live: LiveEvents,
    pub processor: Arc<Processor>,
    /// Hot partitions: request charges of this process by logical partition.
    pub partition_loads: Arc<HotPartitions>,
    /// The background tasks of this process.
    pub tasks: Tasks,
    processor_stop: CancellationToken,
    readers_started: AtomicBool,
}

impl App {
    /// Opens the data directory or connects to the account. Nothing runs in the background yet.
    ///
    /// # Errors
    /// When the store cannot be opened, or the change feed processor cannot read its state.
    pub async fn open(choice: &StoreChoice) -> anyhow::Result<Self> {
        Self::open_with(choice, AppOptions::default()).await
    }

    /// As [`open`](Self::open), with options.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_with(choice: &StoreChoice, options: AppOptions) -> anyhow::Result<Self> {
        let store = OpenStore::open(choice, &options.clock).await?;
        Self::over(&store, Member::of(choice), options).await
    }

    /// The parts over a store that is open already.
    ///
    /// # Errors
    /// When the change feed processor cannot read its state.
    pub async fn over(open: &OpenStore, member: Member, options: AppOptions) -> anyhow::Result<Self> {
        let AppOptions { hashing, clock, live_poll, projection_poll, mut observers, tasks } = options;
        let partition_loads = Arc::new(HotPartitions::new(partitions::KEY_EXPOSURES));
        observers.push(Arc::clone(&partition_loads) as _);
        let observers: Arc<[_]> = observers.into();
        if let OpenStore::Embedded(store) = open {
            store.observe_commits(Arc::clone(&observers));
        }
        let observed = |store: Arc<dyn Store>| -> Arc<dyn Store> {
            Arc::new(ObservedStore::new(store, Arc::clone(&observers)))
        };
        let (store, recent) = (observed(open.store()), observed(open.recent()));
        let budget = open.background_budget();
        let background = Arc::new(BackgroundStore::for_background(Arc::clone(&recent), budget.clone()));
        let recent: Arc<dyn Store> = Arc::new(BackgroundStore::new(recent, budget));
        let passwords = PasswordHasher::new(hashing, HashingLimits::default())
            .context("password hashing cannot be set up")?;
        // An embedded store has one process, and no replica that lags. What it shows may not be on the disk.
        let decisive: Arc<dyn Store> = match open {
            OpenStore::Embedded(embedded) => {
                Arc::new(ConfirmedReads::new(Arc::clone(&store), Arc::clone(embedded)))
            }
            OpenStore::Cosmos(_) | OpenStore::Shared { .. } => {
                Arc::new(CertainAbsence::new(Arc::clone(&store), Arc::clone(&recent), &[ACCOUNTS]))
            }
        };
        let commands = Commands::new(CommandParts {
            store: Arc::clone(&decisive),
            clock: Arc::clone(&clock),
            ids: Arc::new(RandomIds),
            passwords: passwords.clone(),
            tasks: tasks.clone(),
            limits: CommandLimits::default(),
        });
        let webstore_commands = WebstoreCommands::new(WebstoreParts {
            store: decisive,
            sign_in_store: Arc::clone(&store),
            clock: Arc::clone(&clock),
            ids: Arc::new(RandomIds),
            passwords: passwords.clone(),
        });
        let live = LiveEvents::new(LiveParts {
            store: Arc::clone(&recent),
            clock: Arc::clone(&clock),
            tasks: tasks.clone(),
            settings: live_settings(&member, live_poll),
        });
        let processor_stop = CancellationToken::new();
        let processor = Processor::open(
            Arc::clone(&recent),
            Arc::clone(&clock),
            projections(),
            member.processor_settings(projection_poll),
            processor_stop.clone(),
        )
        .await
        .context("the change feed processor cannot be opened")?;
        Ok(Self {
            adapter: open.clone(),
            reads: ReadModels::new(&store),
            webstore_reads: WebstoreReads::new(Arc::clone(&store)),
            webstore_commands,
            live,
            store,
            recent,
            background,
            clock,
            passwords,
            commands,
            processor: Arc::new(processor),
            partition_loads,
            tasks,
            processor_stop,
            readers_started: AtomicBool::new(false),
        })
    }

    /// The directory that holds the data; `None` where no directory of this machine does.
    #[must_use]
    pub fn data_directory(&self) -> Option<&Path> {
        self.adapter.directory()
    }

    /// The constants of estimated request charges; `None` where the service measures them.
    #[must_use]
    pub fn calibration(&self) -> Option<&Calibration> {
        self.embedded().map(|store| store.calibration())
    }

    fn embedded(&self) -> Option<&Arc<EmbeddedStore>> {
        match &self.adapter {
            OpenStore::Embedded(store) => Some(store),
            OpenStore::Cosmos(_) | OpenStore::Shared { .. } => None,
        }
    }

    /// Gauges of the embedded store; `None` on an account.
    #[must_use]
    pub fn embedded_gauges(&self) -> Option<EmbeddedGauges> {
        self.embedded().map(|store| EmbeddedGauges {
            statistics: store.statistics(),
            blocks: store.blocks(),
            disk_bytes: store.disk_bytes().unwrap_or(0),
            disk_free_bytes: store.disk_free_bytes(),
            disk_reserve_bytes: store.disk_reserve_bytes(),
            memory_bytes: store.memory_bytes(),
        })
    }

    /// The token that stops the readers of the change feed.
    #[must_use]
    pub fn processor_stop(&self) -> CancellationToken {
        self.processor_stop.clone()
    }

    /// Starts the background tasks, which run until the app stops: the readers of the change feed, the
    /// purging of expired items, and the refresh of the OpenID Connect provider's keys.
    pub fn start(self: &Arc<Self>, provider: Option<Arc<OidcVerifier>>) {
        self.start_readers();
        let stop = self.tasks.soft_stop();
        match self.adapter.clone() {
            OpenStore::Embedded(store) => {
                self.tasks.spawn("purge", async move { purge_until(stop, &store).await });
            }
            OpenStore::Cosmos(store) => self.tasks.spawn("lease throughput", async move {
                stop.run_until_cancelled(warn_of_shared_leases(&store)).await;
                Ok::<(), Infallible>(())
            }),
            OpenStore::Shared { .. } => {}
        }
        if let Some(provider) = provider {
            let (clock, stop) = (Arc::clone(&self.clock), self.tasks.soft_stop());
            self.tasks.spawn("provider keys", async move {
                refresh_until(stop, &provider, &*clock).await;
                Ok::<(), Infallible>(())
            });
        }
    }

    /// Starts the readers of the change feed, unless they run already.
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

    /// Whether the store is empty and always was.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn is_empty(&self) -> Result<bool, Fault> {
        let written = blog::containers::WRITE_SIDE.iter().chain(webstore::containers::WRITE_SIDE);
        for container in written.map(|(container, _)| *container) {
            for range in self.recent.feed_ranges(container).await? {
                let request = onehop_store::FeedRequest {
                    container,
                    range: &range,
                    continuation: None,
                    types: None,
                    limit: 1,
                };
                if self.recent.pending_changes(&request, 1, &Ledger::new()).await?.0 > 0 {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Stops the background tasks, waits for commands in progress, and releases the leases. The data
    /// directory is free when the last handle is dropped.
    pub async fn close(&self) {
        self.tasks.stop();
        self.processor_stop.cancel();
        let (_no_signals, signals) = tokio::sync::mpsc::channel(1);
        if let Err(error) = self.tasks.run_until(signals, COMMANDS_STOP_MAX).await {
            tracing::warn!(%error, "the shutdown was not graceful");
        }
        self.processor.release().await;
    }
}

/// Settings of subscriptions. A store without other writers signals every write, so nothing is polled.
fn live_settings(member: &Member, poll: Duration) -> LiveSettings {
    let poll = (member.sharing != Sharing::Alone).then_some(poll);
    LiveSettings { tail: TailSettings { poll, ..TailSettings::default() }, ..LiveSettings::default() }
}

/// Deletes expired items and writes the high-water mark at each interval, until `stop` fires.
async fn purge_until(stop: CancellationToken, store: &Arc<EmbeddedStore>) -> Result<(), Fault> {
    loop {
        loop {
            match store.purge_expired(PURGE_ITEMS_MAX).await {
                Ok(PURGE_ITEMS_MAX) => {}
                Ok(_) => break,
                // Expired items are invisible already, and a damaged one keeps no process from serving.
                Err(fault) if fault.kind.is_transient() || fault.kind == FaultKind::Corrupt => {
                    tracing::warn!(error = %fault, "expired items were not deleted; the next round tries again");
                    break;
                }
                Err(fault) => return Err(fault),
            }
        }
        let marked = Arc::clone(store);
        let marking = blocking::run(move || marked.write_high_water()).await;
        if let Ok(Err(error)) = marking {
            tracing::debug!(%error, "the high-water mark was not written");
        }
        if stop.run_until_cancelled(tokio::time::sleep(PURGE_INTERVAL)).await.is_none() {
            return Ok(());
        }
    }
}

/// Refreshes the keys of the provider at each interval, so that no request waits for them.
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
pub struct DrainedChangeFeed(pub Arc<Processor>);

#[async_trait]
impl Settle for DrainedChangeFeed {
    async fn settle(&self) -> Result<(), Fault> {
        // A repair may have written items that projections have cached.
        self.0.invalidate_cached_reads();
        match self.0.drain().await {
            Ok(()) => Ok(()),
            // A blog that never rests is looked at in its present state.
            Err(ProcessorError::NotDrained) => {
                tracing::warn!("the change feed was not drained: late changes may be reported as drifts");
                Ok(())
            }
            // Full scans report unreadable items.
            Err(error) if error.is_damage() => {
                tracing::warn!(%error, "the change feed was not drained");
                Ok(())
            }
            Err(error) => Err(Fault::new(FaultKind::Unavailable, error.to_string())),
        }
    }
}
