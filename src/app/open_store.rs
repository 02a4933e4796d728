//! Open store: the adapter that a process works on, and its views for requests and background work.

use std::path::Path;
use std::sync::Arc;

use crate::config::StoreChoice;
use onehop_runtime::clock::Clock;
use onehop_store::cosmos::{Consistency, CosmosStore};
use onehop_store::embedded::EmbeddedStore;
use onehop_store::{BackgroundBudget, BackgroundStore, ContainerSpec, QuorumReads, Store};

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
    pub async fn open_with(
        choice: &StoreChoice,
        specs: &[ContainerSpec],
        clock: &Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        match choice {
            StoreChoice::Embedded(config) => {
                let store = EmbeddedStore::open_with(config, specs, Arc::clone(clock))?;
                Ok(Self::Embedded(Arc::new(store)))
            }
            StoreChoice::Cosmos(account) => {
                // A fault's text holds its causes.
                let store = CosmosStore::connect(account, specs).await.map_err(|fault| {
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
    pub(super) fn background_budget(&self) -> Option<Arc<BackgroundBudget>> {
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
