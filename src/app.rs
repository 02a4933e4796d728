//! The composition root: puts the parts together, and is the only place that names an adapter.

pub mod demo_users;
mod engine;
mod engine_watch;
mod lease_throughput;
mod member;
mod model_record;
mod open_store;
mod operated;
pub mod operations;
mod partitions;
mod planned_domains;
mod predicted_costs;
pub mod provisioning;
pub mod read_model_costs;
mod served;
pub mod staff;
pub mod work;

pub use engine::{AppOptions, Engine, LIVE_POLL_DEFAULT, PROJECTION_POLL_DEFAULT};
use engine::{EngineContainers, tail_settings};
pub use lease_throughput::warn_of_shared_leases;
pub use member::Member;
use model_record::mark_built_in;
pub use model_record::{AcceptedChanges, RefusedChange};
pub use open_store::OpenStore;
pub use operated::{OperatedDomain, ServedDomain};
pub use planned_domains::{planned_domains, webstore_model};
pub use predicted_costs::PredictionError;
pub use served::ServedApp;

use std::ops::Deref;
use std::sync::Arc;

use crate::blog;
use crate::blog::commands::{CommandLimits, CommandParts, Commands};
use crate::blog::ids::RandomIds;
use crate::blog::live::{LiveEvents, LiveParts, LiveSettings};
use crate::blog::reads::ReadModels;
use crate::config::StoreChoice;
use crate::domain::containers::WrittenItems;
use crate::served::live::{ServedLive, ServedLiveParts};
use crate::webstore;
use crate::webstore::commands::{WebstoreCommands, WebstoreParts};
use crate::webstore::reads::WebstoreReads;
use onehop_change_feed::{Projection, Sharing};
use onehop_runtime::clock::Clock;
use onehop_store::{ContainerSpec, Fault, Ledger};

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

impl OpenStore {
    /// Opens the store with the containers of the built-in domains.
    ///
    /// # Errors
    /// When it cannot be opened, or holds the data of a served model.
    pub async fn open(choice: &StoreChoice, clock: &Arc<dyn Clock>) -> anyhow::Result<Self> {
        let open = Self::open_with(choice, &container_specs(), clock).await?;
        mark_built_in(&*open.recent()).await?;
        Ok(open)
    }
}

/// The items that commands of the built-in domains write.
pub fn write_side() -> impl Iterator<Item = WrittenItems> {
    blog::containers::WRITE_SIDE.iter().chain(webstore::containers::WRITE_SIDE).copied()
}

/// The parts of a process that works on the data of the built-in domains.
pub struct App {
    /// The parts that no domain has of its own.
    pub engine: Arc<Engine>,
    pub commands: Commands,
    pub reads: ReadModels,
    pub webstore_reads: WebstoreReads,
    pub webstore_commands: WebstoreCommands,
    /// Events of the blog, from all processes.
    pub live: LiveEvents,
    /// The changes of the web store's items.
    pub webstore_events: ServedLive,
}

impl Deref for App {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
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
        Self::projecting(open, member, projections(), options).await
    }

    /// As [`over`](Self::over) with some of the [`projections`]: a release that does not know the others, as
    /// in a rolling deployment.
    ///
    /// # Errors
    /// As [`over`](Self::over).
    pub async fn projecting(
        open: &OpenStore,
        member: Member,
        projections: Vec<Arc<dyn Projection>>,
        options: AppOptions,
    ) -> anyhow::Result<Self> {
        let live_poll = options.live_poll;
        let limits = match member.sharing {
            Sharing::Alone => CommandLimits::default(),
            Sharing::WithOthers { .. } => CommandLimits::on_account(),
        };
        let tail = tail_settings(&member, live_poll);
        let containers = EngineContainers {
            specs: &container_specs(),
            exposures: &partitions::KEY_EXPOSURES,
            with_deletions: Vec::new(),
        };
        let engine = Engine::over(open, member, projections, containers, options).await?;
        let (clock, passwords, tasks) = (&engine.clock, &engine.passwords, &engine.tasks);
        let commands = Commands::new(CommandParts {
            store: Arc::clone(&engine.decisive),
            latest: Arc::clone(&engine.latest),
            clock: Arc::clone(clock),
            ids: Arc::new(RandomIds),
            passwords: passwords.clone(),
            tasks: tasks.clone(),
            limits,
        });
        let webstore_commands = WebstoreCommands::new(WebstoreParts {
            store: Arc::clone(&engine.decisive),
            latest: Arc::clone(&engine.latest),
            sign_in_store: Arc::clone(&engine.store),
            clock: Arc::clone(clock),
            ids: Arc::new(RandomIds),
            passwords: passwords.clone(),
        });
        let live = LiveEvents::new(LiveParts {
            store: Arc::clone(&engine.recent),
            clock: Arc::clone(clock),
            tasks: tasks.clone(),
            settings: LiveSettings { tail, ..LiveSettings::default() },
        });
        let webstore_events = ServedLive::new(ServedLiveParts {
            store: Arc::clone(&engine.recent),
            model: webstore_model(),
            watches: Arc::clone(&engine.watches),
            tasks: tasks.clone(),
            tail,
        });
        Ok(Self {
            reads: ReadModels::new(&engine.store),
            webstore_reads: WebstoreReads::new(Arc::clone(&engine.store)),
            engine: Arc::new(engine),
            webstore_commands,
            live,
            webstore_events,
            commands,
        })
    }

    /// Whether the store is empty and always was.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn is_empty(&self) -> Result<bool, Fault> {
        for (container, _) in write_side() {
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
}
