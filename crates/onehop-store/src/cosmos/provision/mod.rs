//! Provisioning: creates the database and the containers of an account, or updates them.
//!
//! A [`ProvisionPlan`] is the difference between the account and its desired state; applying it to a complete
//! account does nothing. Through this client the service lets only an account key create databases and
//! containers: Entra ID grants that through Azure Resource Manager.

mod definition;
mod plan;
mod sharing;
mod throughput;

use azure_core::http::headers::{HeaderName, HeaderValue};
use azure_data_cosmos::models::ContainerProperties;
use azure_data_cosmos::options::{CreateContainerOptions, CreateDatabaseOptions, OperationOptions};
use azure_data_cosmos::{CosmosClient, CosmosError, DatabaseClient};

pub use definition::definition;
pub use plan::{Difference, ProvisionPlan, ProvisionStep};
pub use sharing::ThroughputSharing;
pub use throughput::{Throughput, ThroughputError, ThroughputScope};

use crate::{ContainerName, ContainerSpec, Indexing};

/// The desired state of an account.
#[derive(Debug, Clone)]
pub struct DesiredState {
    pub database: String,
    pub containers: Vec<ContainerProperties>,
    /// `None` leaves it to the account: serverless accounts have no throughput, others give each new
    /// container the least.
    pub throughput: Option<(Throughput, ThroughputScope)>,
    /// Containers with throughput of their own in a database whose other containers share one.
    pub dedicated: Vec<(String, Throughput)>,
}

/// Why an account could not be brought up to date.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    #[error(
        "the container {container} has the partition key {found} and should have {wanted}, which cannot be changed: \
         provision another database (--cosmos-database) and fill it with `onehop copy`, or delete the container"
    )]
    PartitionKey { container: String, found: String, wanted: String },
    #[error(
        "{of} has no throughput of its own (the account is serverless, or its database shares one), so none can be set"
    )]
    NoThroughput { of: String },
    #[error(
        "{of} has {found} throughput; switch it in Azure first (`az cosmosdb sql ... throughput migrate`), which this \
         client cannot"
    )]
    OtherThroughput { of: String, found: &'static str },
    #[error("{of} cannot have this throughput: {source}")]
    Throughput { of: String, source: ThroughputError },
    #[error(
        "Azure refused to {doing}. The lowest throughput that it permits grows with the storage (manual 1 RU/s for each GB, \
         autoscale maximum 10 for each GB) and with the highest that was ever provisioned (manual a hundredth of it, autoscale \
         a tenth)"
    )]
    ThroughputRefused { doing: String, source: Box<CosmosError> },
    #[error("the service could not {doing}")]
    Service { doing: String, source: Box<CosmosError> },
}

impl ProvisionError {
    fn service(doing: impl Into<String>) -> impl FnOnce(CosmosError) -> Self {
        move |source| Self::Service { doing: doing.into(), source: Box::new(source) }
    }
}

impl DesiredState {
    /// These containers in a database of this name.
    #[must_use]
    pub fn new(
        database: &str,
        specs: &[ContainerSpec],
        indexing: Indexing,
        throughput: Option<(Throughput, ThroughputScope)>,
    ) -> Self {
        let containers = specs.iter().map(|spec| definition(spec, indexing)).collect();
        Self { database: database.to_owned(), containers, throughput, dedicated: Vec::new() }
    }

    /// The same, with throughput of its own for a container where the others share one.
    #[must_use]
    pub fn with_dedicated(mut self, container: ContainerName, throughput: Throughput) -> Self {
        self.dedicated.push((container.as_str().to_owned(), throughput));
        self
    }

    /// The missing resources of an account without the database.
    #[must_use]
    pub fn everything(&self) -> ProvisionPlan {
        let is_shared = self.throughput_of(ThroughputScope::Database).is_some();
        let mut steps = vec![self.create_database()];
        steps.extend(self.containers.iter().map(|container| self.create_container(container, is_shared)));
        ProvisionPlan { steps, sharing: Vec::new() }
    }

    fn create_database(&self) -> ProvisionStep {
        let throughput = self.throughput_of(ThroughputScope::Database);
        ProvisionStep::CreateDatabase { database: self.database.clone(), throughput }
    }

    /// Creates a container in a database whose containers share their throughput, or do not.
    fn create_container(&self, container: &ContainerProperties, is_shared: bool) -> ProvisionStep {
        let dedicated = self.dedicated_to(container.id.as_ref()).filter(|_| is_shared);
        let throughput = self.throughput_of(ThroughputScope::Container).or(dedicated);
        ProvisionStep::CreateContainer { container: Box::new(container.clone()), throughput }
    }

    fn dedicated_to(&self, container: &str) -> Option<Throughput> {
        self.dedicated.iter().find(|(name, _)| name == container).map(|(_, throughput)| *throughput)
    }

    fn throughput_of(&self, scope: ThroughputScope) -> Option<Throughput> {
        self.throughput.filter(|(_, wanted)| *wanted == scope).map(|(throughput, _)| throughput)
    }
}

/// Takes one step.
///
/// # Errors
/// See [`ProvisionError`].
pub async fn apply(
    client: &CosmosClient,
    database: &str,
    step: &ProvisionStep,
) -> Result<(), ProvisionError> {
    let database_client = client.database_client(database.to_owned());
    let failed = |error| step.failure(error);
    match step {
        ProvisionStep::CreateDatabase { database, throughput } => {
            let options = CreateDatabaseOptions::default()
                .with_operation_options(throughput.map(shared_by_database).unwrap_or_default());
            client.create_database(database, Some(options)).await.map_err(failed)?;
        }
        ProvisionStep::CreateContainer { container, throughput } => {
            let mut options = CreateContainerOptions::default();
            if let Some(throughput) = throughput {
                options = options.with_throughput(throughput.properties());
            }
            let container = ContainerProperties::clone(container);
            database_client.create_container(container, Some(options)).await.map_err(failed)?;
        }
        ProvisionStep::ReplaceContainer { container, .. } => {
            let client = container_of(&database_client, &container.id).await?;
            client.replace(ContainerProperties::clone(container), None).await.map_err(failed)?;
        }
        ProvisionStep::AwaitIndex { .. } => {}
        ProvisionStep::ReplaceThroughput { container: Some(container), to, .. } => {
            let client = container_of(&database_client, container).await?;
            let replacing = client.begin_replace_throughput(to.properties(), None).await;
            match replacing {
                Ok(replacing) => replacing.await.map(drop).map_err(failed)?,
                Err(error) => return Err(failed(error)),
            }
        }
        ProvisionStep::ReplaceThroughput { container: None, to, .. } => {
            let replacing = database_client.begin_replace_throughput(to.properties(), None).await;
            match replacing {
                Ok(replacing) => replacing.await.map(drop).map_err(failed)?,
                Err(error) => return Err(failed(error)),
            }
        }
    }
    Ok(())
}

/// Whether the account has a database of this name.
///
/// # Errors
/// The service did not say.
pub async fn has_database(client: &CosmosClient, database: &str) -> Result<bool, ProvisionError> {
    match client.database_client(database.to_owned()).read(None).await {
        Ok(_) => Ok(true),
        Err(error) if error.status().is_not_found() => Ok(false),
        Err(error) => Err(ProvisionError::service(format!("read the database {database}"))(error)),
    }
}

/// Deletes a database with everything in it.
///
/// # Errors
/// The service refused.
pub async fn delete_database(client: &CosmosClient, database: &str) -> Result<(), ProvisionError> {
    let failed = ProvisionError::service(format!("delete the database {database}"));
    client.database_client(database.to_owned()).delete(None).await.map(drop).map_err(failed)
}

async fn container_of(
    database: &DatabaseClient,
    container: &str,
) -> Result<azure_data_cosmos::ContainerClient, ProvisionError> {
    let failed = ProvisionError::service(format!("open the container {container}"));
    database.container_client(container.to_owned(), None).await.map_err(failed)
}

/// The client has no option for the throughput of a new database, only headers of one's own. They belong to
/// the service's REST interface.
fn shared_by_database(throughput: Throughput) -> OperationOptions {
    let (name, value) = match throughput {
        Throughput::Manual { ru } => ("x-ms-offer-throughput", ru.to_string()),
        Throughput::Autoscale { max_ru } => {
            ("x-ms-cosmos-offer-autopilot-settings", format!("{{\"maxThroughput\":{max_ru}}}"))
        }
    };
    let mut options = OperationOptions::default();
    options.custom_headers = Some([(HeaderName::from_static(name), HeaderValue::from(value))].into());
    options
}
