//! Provisioning plan: the differences between an account and its desired state, as text and as steps.

use std::fmt;

use azure_data_cosmos::models::{ContainerProperties, IndexingPolicy, ThroughputProperties, TimeToLive};
use azure_data_cosmos::{CosmosClient, DatabaseClient};
use serde_json::Value;

use super::{DesiredState, ProvisionError, Throughput, ThroughputScope, container_of, has_database};

/// Steps in the order in which they are taken.
#[derive(Debug, Clone, Default)]
pub struct ProvisionPlan {
    pub steps: Vec<ProvisionStep>,
}

/// One change of an account.
#[derive(Debug, Clone)]
pub enum ProvisionStep {
    CreateDatabase {
        database: String,
        throughput: Option<Throughput>,
    },
    CreateContainer {
        container: Box<ContainerProperties>,
        throughput: Option<Throughput>,
    },
    /// The present container, with the differences replaced.
    ReplaceContainer {
        container: Box<ContainerProperties>,
        differences: Vec<Difference>,
    },
    /// That of a container, or that which a database shares.
    ReplaceThroughput {
        container: Option<String>,
        from: Throughput,
        to: Throughput,
    },
}

/// A part of a container that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub part: &'static str,
    pub found: String,
    pub wanted: String,
}

impl ProvisionPlan {
    /// Looks at an account. Nothing is changed.
    ///
    /// # Errors
    /// See [`ProvisionError`].
    pub async fn of(client: &CosmosClient, wanted: &DesiredState) -> Result<Self, ProvisionError> {
        if !has_database(client, &wanted.database).await? {
            return Ok(wanted.everything());
        }
        let database = client.database_client(wanted.database.clone());
        let mut steps = Vec::new();
        if let Some(to) = wanted.throughput_of(ThroughputScope::Database) {
            let of = format!("the database {}", wanted.database);
            let failed = ProvisionError::service(format!("read the throughput of {of}"));
            let found = database.read_throughput(None).await.map_err(failed)?;
            steps.extend(throughput_step(None, &of, found, to)?);
        }
        for container in &wanted.containers {
            steps.extend(container_steps(&database, wanted, container).await?);
        }
        Ok(Self { steps })
    }
}

async fn container_steps(
    database: &DatabaseClient,
    wanted: &DesiredState,
    container: &ContainerProperties,
) -> Result<Vec<ProvisionStep>, ProvisionError> {
    let name = container.id.as_ref();
    let client = match container_of(database, name).await {
        Ok(client) => client,
        Err(ProvisionError::Service { source, .. }) if source.status().is_not_found() => {
            return Ok(vec![wanted.create_container(container)]);
        }
        Err(error) => return Err(error),
    };
    let failed = |error| ProvisionError::service(format!("read the container {name}"))(error);
    let found = client.read(None).await.and_then(|response| response.into_model()).map_err(failed)?;
    let mut steps = Vec::new();
    if let Some((container, differences)) = brought_up_to_date(found, container)? {
        steps.push(ProvisionStep::ReplaceContainer { container: Box::new(container), differences });
    }
    if let Some(to) = wanted.throughput_of(ThroughputScope::Container) {
        let of = format!("the container {name}");
        let failed = ProvisionError::service(format!("read the throughput of {of}"));
        let found = client.read_throughput(None).await.map_err(failed)?;
        steps.extend(throughput_step(Some(name), &of, found, to)?);
    }
    Ok(steps)
}

/// The container that was found with what differs replaced, and what that is; `None` when nothing does. Whatever else
/// was set on it otherwise stays.
fn brought_up_to_date(
    mut found: ContainerProperties,
    wanted: &ContainerProperties,
) -> Result<Option<(ContainerProperties, Vec<Difference>)>, ProvisionError> {
    if found.partition_key != wanted.partition_key {
        return Err(ProvisionError::PartitionKey {
            container: wanted.id.to_string(),
            found: json(&found.partition_key).to_string(),
            wanted: json(&wanted.partition_key).to_string(),
        });
    }
    let mut differences = Vec::new();
    let (found_policy, wanted_policy) = [&found, wanted].map(|of| shape(of.indexing_policy.as_ref())).into();
    if found_policy != wanted_policy {
        let (found, wanted) = (found_policy.to_string(), wanted_policy.to_string());
        differences.push(Difference { part: "indexing policy", found, wanted });
    }
    if found.default_ttl != wanted.default_ttl {
        let (found, wanted) = (words(&found.default_ttl), words(&wanted.default_ttl));
        differences.push(Difference { part: "time to live", found, wanted });
    }
    if differences.is_empty() {
        return Ok(None);
    }
    found.indexing_policy.clone_from(&wanted.indexing_policy);
    found.default_ttl.clone_from(&wanted.default_ttl);
    Ok(Some((found, differences)))
}

/// A policy without what does not matter: the order of its paths, and properties that this program does not set.
fn shape(policy: Option<&IndexingPolicy>) -> Value {
    const MATTERS: [&str; 5] =
        ["automatic", "indexingMode", "includedPaths", "excludedPaths", "compositeIndexes"];
    let Some(policy) = policy else { return Value::Null };
    let mut shape = json(policy);
    if let Value::Object(properties) = &mut shape {
        properties.retain(|name, _| MATTERS.contains(&name.as_str()));
        for paths in properties.values_mut().filter_map(Value::as_array_mut) {
            paths.sort_by_key(Value::to_string);
        }
    }
    shape
}

fn throughput_step(
    container: Option<&str>,
    of: &str,
    found: Option<ThroughputProperties>,
    to: Throughput,
) -> Result<Option<ProvisionStep>, ProvisionError> {
    let Some(found) = found else { return Err(ProvisionError::NoThroughput { of: of.to_owned() }) };
    let other = |found| Err(ProvisionError::OtherThroughput { of: of.to_owned(), found });
    let from = match (found.autoscale_maximum(), found.throughput(), to) {
        (Some(max_ru), _, Throughput::Autoscale { .. }) => Throughput::Autoscale { max_ru },
        (Some(_), _, Throughput::Manual { .. }) => return other("autoscale"),
        (None, Some(ru), Throughput::Manual { .. }) => Throughput::Manual { ru },
        (None, _, _) => return other("manual"),
    };
    Ok((from != to).then(|| ProvisionStep::ReplaceThroughput {
        container: container.map(str::to_owned),
        from,
        to,
    }))
}

fn json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

fn words(ttl: &TimeToLive) -> String {
    match ttl {
        TimeToLive::NoDefault => "on, without a default".to_owned(),
        TimeToLive::Seconds(seconds) => format!("{seconds} s"),
        _ => "off".to_owned(),
    }
}

impl ProvisionStep {
    /// The step as the end of "the service could not ...".
    pub(super) fn doing(&self) -> String {
        match self {
            Self::CreateDatabase { database, .. } => format!("create the database {database}"),
            Self::CreateContainer { container, .. } => format!("create the container {}", container.id),
            Self::ReplaceContainer { container, .. } => format!("replace the container {}", container.id),
            Self::ReplaceThroughput { container: Some(container), .. } => {
                format!("change the throughput of the container {container}")
            }
            Self::ReplaceThroughput { container: None, .. } => {
                "change the throughput of the database".to_owned()
            }
        }
    }
}

impl fmt::Display for ProvisionStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.doing())?;
        match self {
            Self::CreateDatabase { throughput, .. } | Self::CreateContainer { throughput, .. } => {
                if let Some(throughput) = throughput {
                    write!(formatter, " with {throughput}")?;
                }
            }
            Self::ReplaceContainer { differences, .. } => {
                for Difference { part, found, wanted } in differences {
                    write!(formatter, "\n  {part}: is {found}\n  {:1$} should be {wanted}", "", part.len())?;
                }
            }
            Self::ReplaceThroughput { from, to, .. } => write!(formatter, " from {from} to {to}")?,
        }
        Ok(())
    }
}

impl fmt::Display for Throughput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Autoscale { max_ru } => write!(formatter, "autoscale up to {max_ru} RU/s"),
            Self::Manual { ru } => write!(formatter, "{ru} RU/s"),
        }
    }
}
