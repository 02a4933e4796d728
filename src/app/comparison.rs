//! Databases of a comparison: one for each data model, in a directory or in an account. The comparison makes
//! them for itself alone; the requests are the caller's.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use azure_data_cosmos::CosmosClient;

use super::{App, AppOptions, OpenStore, container_specs};
use crate::accounts::password::HashingCost;
use crate::app::Member;
use crate::blog::reads::DataModel;
use onehop_change_feed::Sharing;
use onehop_store::Indexing;
use onehop_store::charges::Calibration;
use onehop_store::cosmos::provision::{self, DesiredState, Throughput, ThroughputScope};
use onehop_store::cosmos::{CosmosSettings, CosmosStore, Credential, client_of};
use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore};
use onehop_study::report::AccountSummary;

/// Retry budget of one throttled operation. A data set takes more than the throughput of most accounts, and a
/// comparison cannot be resumed.
const THROTTLED_WAIT_MAX: Duration = Duration::from_secs(600);
const THROTTLED_RETRIES_MAX: u32 = 10_000;

/// Where the databases are made, and how they index.
pub struct Databases {
    location: DatabaseLocation,
    indexing: Indexing,
}

enum DatabaseLocation {
    Directory { path: PathBuf, physical_partitions: u16, calibration: Arc<Calibration> },
    Account(Box<InAccount>),
}

struct InAccount {
    client: CosmosClient,
    settings: CosmosSettings,
    throughput: Option<(Throughput, ThroughputScope)>,
    /// Made by this comparison and not deleted yet.
    made: Vec<DataModel>,
}

impl Databases {
    /// In a directory that is not there yet, with this many physical partitions each.
    #[must_use]
    pub fn in_directory(
        path: &Path,
        physical_partitions: u16,
        indexing: Indexing,
        calibration: Arc<Calibration>,
    ) -> Self {
        Self {
            location: DatabaseLocation::Directory { path: path.to_owned(), physical_partitions, calibration },
            indexing,
        }
    }

    /// In an account, named after the database of the settings, which is left alone.
    ///
    /// # Errors
    /// A credential that may not create databases, an account that does not answer, a database that exists
    /// already.
    pub async fn in_account(
        mut settings: CosmosSettings,
        throughput: Option<(Throughput, ThroughputScope)>,
        indexing: Indexing,
    ) -> anyhow::Result<Self> {
        anyhow::ensure!(
            matches!(settings.credential, Credential::Key(_)),
            "a comparison creates databases, which Entra ID does not permit this client: give a key of the account \
             (--cosmos-key-file or ONEHOP_COSMOS_KEY)"
        );
        settings.retry_policy.throttled_wait_max = THROTTLED_WAIT_MAX;
        settings.retry_policy.throttled_retries_max = THROTTLED_RETRIES_MAX;
        // A fault's text holds its causes.
        let client = client_of(&settings).await.map_err(|fault| anyhow::anyhow!("{fault}"))?;
        let account = InAccount { client, settings, throughput, made: Vec::new() };
        for model in DataModel::ALL {
            account.refuse_existing(model).await?;
        }
        Ok(Self { location: DatabaseLocation::Account(Box::new(account)), indexing })
    }

    /// Makes the database of a data model and opens it.
    ///
    /// # Errors
    /// The database cannot be created or opened.
    pub async fn make(&mut self, model: DataModel) -> anyhow::Result<App> {
        // The cost of hashing a password is no part of a data model's cost.
        let options = AppOptions { hashing: HashingCost::CHEAP, ..AppOptions::default() };
        let (indexing, member) = (self.indexing, self.member());
        let store = match &mut self.location {
            DatabaseLocation::Directory { path, physical_partitions, calibration } => {
                let config = EmbeddedConfig {
                    physical_partitions: Some(*physical_partitions),
                    indexing,
                    calibration: Arc::clone(calibration),
                    ..EmbeddedConfig::new(path.join(name_of(model)))
                };
                let store =
                    EmbeddedStore::open_with(&config, &container_specs(), Arc::clone(&options.clock))?;
                OpenStore::Embedded(Arc::new(store))
            }
            DatabaseLocation::Account(account) => {
                OpenStore::Cosmos(Arc::new(account.make(model, indexing).await?))
            }
        };
        App::over(&store, member, options).await
    }

    /// The member that follows the change feed: on an account it shares leases as servers do, so that it is
    /// charged as they are.
    #[must_use]
    pub fn member(&self) -> Member {
        match &self.location {
            DatabaseLocation::Directory { .. } => Member::alone(),
            DatabaseLocation::Account(_) => {
                Member { owner: "compare".to_owned(), sharing: Sharing::with_others() }
            }
        }
    }

    /// The account that holds them; `None` in a directory.
    #[must_use]
    pub fn account(&self) -> Option<AccountSummary> {
        let DatabaseLocation::Account(account) = &self.location else { return None };
        let databases = DataModel::ALL.map(|model| account.database_of(model));
        Some(AccountSummary {
            endpoint: account.endpoint(),
            databases: databases.into(),
            of_operations: false,
        })
    }

    /// Deletes the database of a data model, where it was created and is closed.
    ///
    /// # Errors
    /// The service or the file system refused.
    pub async fn delete(&mut self, model: DataModel) -> anyhow::Result<()> {
        match &mut self.location {
            DatabaseLocation::Directory { path, .. } => {
                let directory = path.join(name_of(model));
                if directory.exists() {
                    std::fs::remove_dir_all(&directory)
                        .with_context(|| format!("{} cannot be deleted", directory.display()))?;
                }
            }
            DatabaseLocation::Account(account) if account.made.contains(&model) => {
                provision::delete_database(&account.client, &account.database_of(model)).await?;
                account.made.retain(|made| *made != model);
            }
            DatabaseLocation::Account(_) => {}
        }
        Ok(())
    }

    /// The names of the databases that are left in the account.
    #[must_use]
    pub fn left_in_account(&self) -> Vec<String> {
        match &self.location {
            DatabaseLocation::Directory { .. } => Vec::new(),
            DatabaseLocation::Account(account) => {
                account.made.iter().map(|model| account.database_of(*model)).collect()
            }
        }
    }
}

impl InAccount {
    fn database_of(&self, model: DataModel) -> String {
        format!("{}-{}", self.settings.database, name_of(model))
    }

    fn endpoint(&self) -> String {
        self.settings.endpoint.trim_end_matches('/').to_owned()
    }

    async fn refuse_existing(&self, model: DataModel) -> anyhow::Result<()> {
        let (database, endpoint) = (self.database_of(model), self.endpoint());
        let exists = provision::has_database(&self.client, &database).await;
        anyhow::ensure!(
            !exists.with_context(|| format!("the databases of {endpoint} cannot be listed"))?,
            "the database {database:?} of {endpoint} exists already, and a comparison creates its own: delete it, or \
             name another one with --cosmos-database, after which those of the comparison are named"
        );
        Ok(())
    }

    async fn make(&mut self, model: DataModel, indexing: Indexing) -> anyhow::Result<CosmosStore> {
        let (database, specs) = (self.database_of(model), container_specs());
        let wanted = DesiredState::new(&database, &specs, indexing, self.throughput);
        for step in &wanted.everything().steps {
            provision::apply(&self.client, &database, step).await?;
            // From the first step on: it fails where the database exists.
            if !self.made.contains(&model) {
                self.made.push(model);
            }
        }
        let CosmosSettings { consistency, retry_policy, .. } = self.settings;
        let opened =
            CosmosStore::with_client(self.client.clone(), &database, &specs, consistency, retry_policy).await;
        opened.map_err(|fault| anyhow::anyhow!("the database {database:?} cannot be opened: {fault}"))
    }
}

fn name_of(model: DataModel) -> String {
    format!("{model:?}").to_lowercase()
}
