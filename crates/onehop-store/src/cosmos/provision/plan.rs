//! Provisioning plan: the differences between an account and its desired state, as text and as steps.

use std::fmt;

use azure_core::http::headers::{HeaderName, HeaderValue};
use azure_data_cosmos::models::{CompositeIndex, ContainerProperties, IndexingPolicy, TimeToLive};
use azure_data_cosmos::options::{OperationOptions, ReadContainerOptions};
use azure_data_cosmos::{ContainerClient, CosmosClient, CosmosError, DatabaseClient};
use serde_json::Value;

use super::sharing::throughput_in;
use super::{DesiredState, ProvisionError, Throughput, ThroughputScope, container_of, has_database};

/// Steps in the order in which they are taken.
#[derive(Debug, Clone, Default)]
pub struct ProvisionPlan {
    pub steps: Vec<ProvisionStep>,
    /// Containers that share the throughput of the database and should have their own. No step can change it.
    pub sharing: Vec<String>,
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
    /// Nothing is changed: former composite indexes stay until the service has built their replacements.
    AwaitIndex {
        container: String,
    },
    /// The throughput of a container, or the shared throughput of a database.
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
        let mut plan = Self::default();
        let shared = shared_throughput(&database, wanted).await?;
        if let Some(to) = wanted.throughput_of(ThroughputScope::Database) {
            let of = format!("the database {}", wanted.database);
            plan.steps.extend(throughput_step(None, &of, shared, to)?);
        }
        for container in &wanted.containers {
            plan.add_container(&database, wanted, container, shared.is_some()).await?;
        }
        Ok(plan)
    }

    async fn add_container(
        &mut self,
        database: &DatabaseClient,
        wanted: &DesiredState,
        container: &ContainerProperties,
        is_shared: bool,
    ) -> Result<(), ProvisionError> {
        let name = container.id.as_ref();
        let client = match container_of(database, name).await {
            Ok(client) => client,
            Err(ProvisionError::Service { source, .. }) if source.status().is_not_found() => {
                self.steps.push(wanted.create_container(container, is_shared));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let failed = |error| ProvisionError::service(format!("read the container {name}"))(error);
        let found = client.read(Some(with_index_progress())).await.map_err(failed)?;
        let index_progress = found.headers().collection_index_transformation_progress();
        let found = found.into_model().map_err(failed)?;
        self.steps.extend(replace_steps(found, container, index_progress)?);
        let of = format!("the container {name}");
        if let Some(to) = wanted.throughput_of(ThroughputScope::Container) {
            let found = throughput_of(&client, &of).await?;
            self.steps.extend(throughput_step(Some(name), &of, found, to)?);
        } else if is_shared
            && wanted.dedicated_to(name).is_some()
            && throughput_of(&client, &of).await?.is_none()
        {
            self.sharing.push(name.to_owned());
        }
        Ok(())
    }
}

/// The throughput that the containers of a database share. It is read where a setting or a container asks for
/// it.
async fn shared_throughput(
    database: &DatabaseClient,
    wanted: &DesiredState,
) -> Result<Option<Throughput>, ProvisionError> {
    if wanted.throughput_of(ThroughputScope::Database).is_none() && wanted.dedicated.is_empty() {
        return Ok(None);
    }
    let doing = format!("read the throughput of the database {}", wanted.database);
    throughput_in(database.read_throughput(None).await).map_err(ProvisionError::service(doing))
}

async fn throughput_of(container: &ContainerClient, of: &str) -> Result<Option<Throughput>, ProvisionError> {
    let failed = ProvisionError::service(format!("read the throughput of {of}"));
    throughput_in(container.read_throughput(None).await).map_err(failed)
}

/// The service says how much of an index it has built only where it is asked for the container's quota.
fn with_index_progress() -> ReadContainerOptions {
    let name = HeaderName::from_static("x-ms-documentdb-populatequotainfo");
    let mut options = OperationOptions::default();
    options.custom_headers = Some([(name, HeaderValue::from_static("true"))].into());
    ReadContainerOptions::default().with_operation_options(options)
}

/// Replaces the differing properties of the container. All other properties stay.
fn replace_steps(
    mut found: ContainerProperties,
    wanted: &ContainerProperties,
    index_progress: Option<i64>,
) -> Result<Vec<ProvisionStep>, ProvisionError> {
    if found.partition_key != wanted.partition_key {
        return Err(ProvisionError::PartitionKey {
            container: wanted.id.to_string(),
            found: json(&found.partition_key).to_string(),
            wanted: json(&wanted.partition_key).to_string(),
        });
    }
    let mut differences = Vec::new();
    let kept = kept_indexes(&found, wanted, index_progress);
    let await_index =
        (!kept.is_empty()).then(|| ProvisionStep::AwaitIndex { container: wanted.id.to_string() });
    let mut policy = wanted.indexing_policy.clone();
    if let Some(policy) = &mut policy {
        policy.composite_indexes.extend(kept);
    }
    let (found_policy, wanted_policy) =
        [&found.indexing_policy, &policy].map(|policy| shape(policy.as_ref())).into();
    if found_policy != wanted_policy {
        let (found, wanted) = (found_policy.to_string(), wanted_policy.to_string());
        differences.push(Difference { part: "indexing policy", found, wanted });
    }
    if found.default_ttl != wanted.default_ttl {
        let (found, wanted) = (words(&found.default_ttl), words(&wanted.default_ttl));
        differences.push(Difference { part: "time to live", found, wanted });
    }
    let mut steps = Vec::new();
    if !differences.is_empty() {
        found.indexing_policy = policy;
        found.default_ttl.clone_from(&wanted.default_ttl);
        steps.push(ProvisionStep::ReplaceContainer { container: Box::new(found), differences });
    }
    steps.extend(await_index);
    Ok(steps)
}

/// Composite indexes that are not wanted and stay for now. A removal takes effect at once, and the service
/// refuses an order by several properties without a composite index. So the indexes of an earlier release
/// stay until their replacements are built, in percent.
fn kept_indexes(
    found: &ContainerProperties,
    wanted: &ContainerProperties,
    index_progress: Option<i64>,
) -> Vec<CompositeIndex> {
    let indexes = |of: &ContainerProperties| {
        of.indexing_policy.as_ref().map_or_else(Vec::new, |policy| policy.composite_indexes.clone())
    };
    let (found, wanted) = (indexes(found), indexes(wanted));
    let is_in =
        |all: &[CompositeIndex], index: &CompositeIndex| all.iter().any(|other| json(other) == json(index));
    let are_all_found = wanted.iter().all(|index| is_in(&found, index));
    let are_built = index_progress.is_none_or(|percent| !(0..100).contains(&percent));
    if are_all_found && are_built {
        return Vec::new();
    }
    found.into_iter().filter(|index| !is_in(&wanted, index)).collect()
}

/// A policy without irrelevant differences: the order of its paths, and properties that this program does not
/// set.
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
    found: Option<Throughput>,
    to: Throughput,
) -> Result<Option<ProvisionStep>, ProvisionError> {
    let Some(from) = found else { return Err(ProvisionError::NoThroughput { of: of.to_owned() }) };
    let other = |found| Err(ProvisionError::OtherThroughput { of: of.to_owned(), found });
    match (from, to) {
        (Throughput::Autoscale { .. }, Throughput::Manual { .. }) => return other("autoscale"),
        (Throughput::Manual { .. }, Throughput::Autoscale { .. }) => return other("manual"),
        _ => {}
    }
    to.check_after(from).map_err(|source| ProvisionError::Throughput { of: of.to_owned(), source })?;
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
    /// The error of this step. The service refuses a throughput with 400, and says why in its own words.
    pub(super) fn failure(&self, error: CosmosError) -> ProvisionError {
        let sets_throughput = match self {
            Self::CreateDatabase { throughput, .. } | Self::CreateContainer { throughput, .. } => {
                throughput.is_some()
            }
            Self::ReplaceContainer { .. } | Self::AwaitIndex { .. } => false,
            Self::ReplaceThroughput { .. } => true,
        };
        if sets_throughput && u16::from(error.status().status_code()) == 400 {
            return ProvisionError::ThroughputRefused { doing: self.to_string(), source: Box::new(error) };
        }
        ProvisionError::service(self.doing())(error)
    }

    /// The step as the end of "the service could not ...".
    pub(super) fn doing(&self) -> String {
        match self {
            Self::CreateDatabase { database, .. } => format!("create the database {database}"),
            Self::CreateContainer { container, .. } => format!("create the container {}", container.id),
            Self::ReplaceContainer { container, .. } => format!("replace the container {}", container.id),
            Self::AwaitIndex { container } => {
                format!("keep the former composite indexes of the container {container}")
            }
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
            Self::AwaitIndex { .. } => formatter.write_str(
                " until the service has built those that take their place; another `onehop provision` removes them",
            )?,
            Self::ReplaceThroughput { from, to, .. } => write!(formatter, " from {from} to {to}")?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cosmos::provision::definition;
    use crate::{ContainerName, ContainerSpec, Indexing};

    const POSTS: ContainerSpec = ContainerSpec {
        name: ContainerName("posts"),
        partition_key: "postId",
        order_by: Some("date"),
        orders: &[],
        ttl_s: None,
        equality: &[],
        newest_types: &[],
        soft_deletes: true,
    };

    /// The container as an earlier release left it, and as it should be.
    fn former_and_wanted() -> [ContainerProperties; 2] {
        let wanted = definition(&POSTS, Indexing::Needed);
        let former = definition(
            &ContainerSpec { order_by: Some("time"), orders: &[], ttl_s: None, ..POSTS },
            Indexing::Needed,
        );
        [former, wanted]
    }

    /// The number of composite indexes of the container after each step; `None` for a step that changes
    /// nothing.
    fn indexes(steps: &[ProvisionStep]) -> Vec<Option<usize>> {
        let of = |step: &ProvisionStep| match step {
            ProvisionStep::ReplaceContainer { container, .. } => {
                Some(container.indexing_policy.as_ref()?.composite_indexes.len())
            }
            _ => None,
        };
        steps.iter().map(of).collect()
    }

    #[test]
    fn a_former_composite_index_stays_until_the_new_one_is_built() {
        let [former, wanted] = former_and_wanted();
        let steps = replace_steps(former, &wanted, Some(100)).expect("steps");
        assert_eq!(indexes(&steps), [Some(2), None]);
        let ProvisionStep::ReplaceContainer { container: both, .. } = &steps[0] else { panic!("{steps:?}") };
        for (percent, expected) in [(Some(40), vec![None]), (Some(100), vec![Some(1)]), (None, vec![Some(1)])]
        {
            let steps = replace_steps(ContainerProperties::clone(both), &wanted, percent).expect("steps");
            assert_eq!(indexes(&steps), expected, "{percent:?}");
        }
        assert!(replace_steps(wanted.clone(), &wanted, Some(40)).expect("steps").is_empty());
    }
}
