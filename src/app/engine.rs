//! Engine: the parts of a process that no domain has of its own. These are the store, the change feed
//! processor, password hashing, and background tasks.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::engine_watch::watch_until;
use super::lease_throughput::warn_of_shared_leases;
use super::member::Member;
use super::open_store::OpenStore;
use crate::accounts::oidc::OidcVerifier;
use crate::accounts::password::{HashingCost, HashingLimits, PasswordHasher};
use crate::domain::containers::ACCOUNTS;
use crate::telemetry::{EmbeddedGauges, HotPartitions, PartitionKeyExposure};
use onehop_change_feed::{Processor, Projection, Sharing, TailSettings, WriteWatches};
use onehop_runtime::blocking;
use onehop_runtime::clock::{Clock, SystemClock};
use onehop_runtime::tasks::Tasks;
use onehop_store::charges::Calibration;
use onehop_store::embedded::{ConfirmedReads, EmbeddedStore, OpenedAfter};
use onehop_store::{
    BackgroundStore, CircuitBreakerStore, CircuitBreakers, CircuitSettings, ContainerName, ContainerSpec,
    DecisiveReads, Fault, FaultKind, MarkedContainers, ObservedStore, Store, StoreObserver,
};

/// Graceful shutdown timeout of commands in progress.
const COMMANDS_STOP_MAX: Duration = Duration::from_secs(5);
/// Items that one round of purging deletes.
const PURGE_ITEMS_MAX: usize = 1000;
/// The interval of purging.
const PURGE_INTERVAL: Duration = Duration::from_secs(60);
/// The interval of copying the log into its archive.
const ARCHIVE_INTERVAL: Duration = Duration::from_secs(1);
/// The refresh interval of the OpenID Connect provider's keys.
const PROVIDER_REFRESH_INTERVAL: Duration = Duration::from_secs(600);

/// The default poll interval of the change feed for subscriptions.
pub const LIVE_POLL_DEFAULT: Duration = Duration::from_secs(1);
/// The default poll interval of the change feed for projections.
pub const PROJECTION_POLL_DEFAULT: Duration = Duration::from_secs(5);

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
    /// The circuit breaker of the store; `None` lets every operation wait for the store.
    pub circuits: Option<CircuitSettings>,
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
            circuits: None,
        }
    }
}

/// Settings of the tails behind subscriptions. A store without other writers signals every write, so nothing
/// is polled.
#[must_use]
pub fn tail_settings(member: &Member, poll: Duration) -> TailSettings {
    let poll = (member.sharing != Sharing::Alone).then_some(poll);
    TailSettings { poll, ..TailSettings::default() }
}

/// The containers that requests read: all but the state of the change feed processor.
fn read_by_requests(containers: &[ContainerSpec]) -> Vec<ContainerName> {
    let own = onehop_change_feed::SPECS.iter().map(|spec| spec.name).collect::<Vec<_>>();
    containers.iter().map(|spec| spec.name).filter(|name| !own.contains(name)).collect()
}

/// The containers of a store, for an engine.
pub struct EngineContainers<'a> {
    /// All of them.
    pub specs: &'a [ContainerSpec],
    /// The partition keys that may be shown.
    pub exposures: &'a [(ContainerName, PartitionKeyExposure)],
    /// The containers with deletions by commands, or with items that expire. Projections name theirs.
    pub with_deletions: Vec<ContainerName>,
}

/// The parts of a process beside its domains.
pub struct Engine {
    /// The adapter. An embedded store does not delete expired items itself.
    adapter: OpenStore,
    pub store: Arc<dyn Store>,
    /// The same store for work that must see commits of other processes.
    pub recent: Arc<dyn Store>,
    /// The same for background work, which yields to requests.
    pub background: Arc<dyn Store>,
    /// The same, whose reads decide about writes.
    pub decisive: Arc<dyn Store>,
    /// The same, whose reads see the latest commit of all processes.
    pub latest: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub passwords: PasswordHasher,
    pub processor: Arc<Processor>,
    /// The writes of all processes, for live queries.
    pub watches: Arc<WriteWatches>,
    /// Hot partitions: request charges of this process by logical partition.
    pub partition_loads: Arc<HotPartitions>,
    /// The background tasks of this process.
    pub tasks: Tasks,
    /// The circuit breaker of the store, if there is one.
    pub circuits: Option<Arc<CircuitBreakers>>,
    processor_stop: CancellationToken,
    readers_started: AtomicBool,
}

impl Engine {
    /// The parts over a store that is open already, with these projections. Requests read these containers.
    ///
    /// # Errors
    /// When the change feed processor cannot read its state.
    pub async fn over(
        open: &OpenStore,
        member: Member,
        projections: Vec<Arc<dyn Projection>>,
        containers: EngineContainers<'_>,
        options: AppOptions,
    ) -> anyhow::Result<Self> {
        let AppOptions { hashing, clock, live_poll, projection_poll, mut observers, tasks, circuits } =
            options;
        let EngineContainers { specs, exposures, mut with_deletions } = containers;
        with_deletions.extend(projections.iter().filter_map(|projection| projection.deletes_from()));
        let marked =
            MarkedContainers { all: read_by_requests(specs).into(), with_deletions: with_deletions.into() };
        let circuits = circuits.map(|settings| CircuitBreakers::new(specs, settings));
        let partition_loads = Arc::new(HotPartitions::new(exposures.iter().copied()));
        observers.push(Arc::clone(&partition_loads) as _);
        let observers: Arc<[_]> = observers.into();
        if let OpenStore::Embedded(store) = open {
            store.observe_commits(Arc::clone(&observers));
        }
        let observed = |store: Arc<dyn Store>| -> Arc<dyn Store> {
            let store = match &circuits {
                Some(circuits) => Arc::new(CircuitBreakerStore::new(store, Arc::clone(circuits))),
                None => store,
            };
            Arc::new(ObservedStore::new(store, Arc::clone(&observers)))
        };
        let recent = observed(open.recent());
        let watches = {
            let tail = tail_settings(&member, live_poll);
            WriteWatches::new(Arc::clone(&recent), marked, tail, tasks.clone())
        };
        let (store, recent) = (watches.marked(observed(open.store())), watches.marked(recent));
        let budget = open.background_budget();
        let background = Arc::new(BackgroundStore::for_background(Arc::clone(&recent), budget.clone()));
        let recent: Arc<dyn Store> = Arc::new(BackgroundStore::new(recent, budget));
        let passwords = PasswordHasher::new(hashing, HashingLimits::default())
            .context("password hashing cannot be set up")?;
        // An embedded store has one process, and no replica that lags. Its data may not be on the disk.
        let decisive: Arc<dyn Store> = match open {
            OpenStore::Embedded(embedded) => {
                Arc::new(ConfirmedReads::new(Arc::clone(&store), Arc::clone(embedded)))
            }
            OpenStore::Cosmos(_) | OpenStore::Shared { .. } => {
                Arc::new(DecisiveReads::new(Arc::clone(&store), Arc::clone(&recent), &[ACCOUNTS]))
            }
        };
        let latest = match open {
            OpenStore::Embedded(_) => Arc::clone(&decisive),
            OpenStore::Cosmos(_) | OpenStore::Shared { .. } => Arc::clone(&recent),
        };
        let processor_stop = CancellationToken::new();
        let processor = Processor::open(
            Arc::clone(&recent),
            Arc::clone(&clock),
            projections,
            member.processor_settings(projection_poll),
            processor_stop.clone(),
        )
        .await
        .context("the change feed processor cannot be opened")?;
        Ok(Self {
            adapter: open.clone(),
            store,
            recent,
            background,
            decisive,
            latest,
            clock,
            passwords,
            processor: Arc::new(processor),
            watches,
            partition_loads,
            tasks,
            circuits,
            processor_stop,
            readers_started: AtomicBool::new(false),
        })
    }

    /// The directory that holds the data; `None` where no directory of this machine does.
    #[must_use]
    pub fn data_directory(&self) -> Option<&Path> {
        self.adapter.directory()
    }

    /// The state in which the last process left the data directory, in words.
    #[must_use]
    pub fn recovery(&self) -> &'static str {
        match self.embedded().map(|store| store.opened_after()) {
            None => "none is needed",
            Some(OpenedAfter::Nothing) => "the directory is new",
            Some(OpenedAfter::Close) => "none: the last process closed the directory",
            Some(OpenedAfter::Crash) => {
                "the journal was replayed: the last process did not close the directory"
            }
        }
    }

    /// The constants of estimated request charges; `None` where the service measures them.
    #[must_use]
    pub fn calibration(&self) -> Option<&Calibration> {
        self.embedded().map(|store| store.calibration())
    }

    pub(crate) fn embedded(&self) -> Option<&Arc<EmbeddedStore>> {
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
            archive_age_ms: store.archive_age_ms(),
        })
    }

    /// The token that stops the readers of the change feed.
    #[must_use]
    pub fn processor_stop(&self) -> CancellationToken {
        self.processor_stop.clone()
    }

    /// Starts the background tasks, which run until the app stops: the readers of the change feed, the
    /// purging of expired items, and the refresh of the OpenID Connect provider's keys.
    pub fn start(&self, provider: Option<Arc<OidcVerifier>>) {
        self.start_readers();
        let stop = self.tasks.soft_stop();
        match self.adapter.clone() {
            OpenStore::Embedded(store) => {
                let watched = Arc::clone(&store);
                let is_open = move || watched.is_open();
                self.tasks.spawn("storage engine", watch_until(stop.clone(), is_open));
                if store.unarchived_commits().is_some() {
                    let archived = Arc::clone(&store);
                    self.tasks.spawn("log archive", archive_until(stop.clone(), archived));
                }
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
        // After the last request: a query that waits for its user's own write waits for a projection.
        let (background_stop, processor_stop) = (self.tasks.background_stop(), self.processor_stop());
        self.tasks.spawn("processor stop", async move {
            background_stop.cancelled().await;
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

    /// Stops the background tasks, waits for commands in progress, and releases the leases. The data
    /// directory is free when the last handle is dropped.
    pub async fn close(&self) {
        self.tasks.stop();
        let (_no_signals, signals) = tokio::sync::mpsc::channel(1);
        if let Err(error) = self.tasks.run_until(signals, COMMANDS_STOP_MAX).await {
            tracing::warn!(%error, "the shutdown was not graceful");
        }
        self.processor_stop.cancel();
        self.processor.release().await;
    }
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

/// Copies the log into its archive at each interval, until `stop` fires. Failures are logged and tried again:
/// writes go on.
async fn archive_until(stop: CancellationToken, store: Arc<EmbeddedStore>) -> Result<(), Infallible> {
    while stop.run_until_cancelled(tokio::time::sleep(ARCHIVE_INTERVAL)).await.is_some() {
        let archived = Arc::clone(&store);
        if let Ok(Err(error)) = blocking::run(move || archived.archive_log()).await {
            tracing::warn!(%error, "the log is not archived; the next round tries again");
        }
    }
    Ok(())
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
