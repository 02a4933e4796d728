//! Provisioning of an account: the containers that the program needs, and the steps that create or update
//! them.

use anyhow::Context;
use azure_data_cosmos::CosmosClient;

use onehop_change_feed::LEASES;
use onehop_store::cosmos::provision::{self, DesiredState, ProvisionPlan, Throughput, ThroughputScope};
use onehop_store::cosmos::{CosmosSettings, Credential, client_of};
use onehop_store::{ContainerSpec, Indexing};

/// The properties of containers; those of the built-in domains are in `deploy/containers.json`.
///
/// # Errors
/// Never: they are plain values.
pub fn container_definitions(specs: &[ContainerSpec]) -> anyhow::Result<String> {
    let wanted = desired_state("", specs, &ThroughputPlan::default());
    Ok(serde_json::to_string_pretty(&wanted.containers)? + "\n")
}

/// The dedicated throughput of the container of leases: the least that the service sells, and a tenth of it
/// at rest. Checkpoints and heartbeats write to it while a burst of requests spends the throughput shared by
/// the other containers.
pub const LEASES_THROUGHPUT: Throughput = Throughput::Autoscale { max_ru: 1000 };

/// The throughput that is wanted of an account.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThroughputPlan {
    /// `None` leaves it to the account.
    pub provisioned: Option<(Throughput, ThroughputScope)>,
    /// Whether the container of leases shares the throughput of a database, too, in place of
    /// [`LEASES_THROUGHPUT`].
    pub leases_share: bool,
}

/// Creates and updates the containers of an account.
pub struct Provisioner {
    client: CosmosClient,
    wanted: DesiredState,
}

impl Provisioner {
    /// Connects to the account.
    ///
    /// # Errors
    /// It cannot be reached, or refuses the credentials.
    pub async fn connect(
        account: &CosmosSettings,
        specs: &[ContainerSpec],
        throughput: &ThroughputPlan,
    ) -> anyhow::Result<Self> {
        // A fault's text holds its causes.
        let client = client_of(account).await.map_err(|fault| anyhow::anyhow!("{fault}"))?;
        Ok(Self::over(client, &account.database, specs, throughput))
    }

    /// Over a client that is connected already.
    #[must_use]
    pub fn over(
        client: CosmosClient,
        database: &str,
        specs: &[ContainerSpec],
        throughput: &ThroughputPlan,
    ) -> Self {
        Self { client, wanted: desired_state(database, specs, throughput) }
    }

    /// The steps that the account needs. Nothing is changed.
    ///
    /// # Errors
    /// See [`provision::ProvisionError`].
    pub async fn plan(&self) -> Result<ProvisionPlan, provision::ProvisionError> {
        ProvisionPlan::of(&self.client, &self.wanted).await
    }

    /// Takes the steps of a plan, and reports each one after it was taken.
    ///
    /// # Errors
    /// The step that failed; earlier steps were taken, and the same command goes on from there.
    pub async fn apply(&self, plan: &ProvisionPlan, mut done: impl FnMut(&str)) -> anyhow::Result<()> {
        for step in &plan.steps {
            provision::apply(&self.client, &self.wanted.database, step).await.map_err(with_cause)?;
            done(&step.to_string());
        }
        Ok(())
    }
}

/// The steps that an empty account needs.
#[must_use]
pub fn plan_of_everything(
    database: &str,
    specs: &[ContainerSpec],
    throughput: &ThroughputPlan,
) -> ProvisionPlan {
    desired_state(database, specs, throughput).everything()
}

fn desired_state(database: &str, specs: &[ContainerSpec], throughput: &ThroughputPlan) -> DesiredState {
    let wanted = DesiredState::new(database, specs, Indexing::Needed, throughput.provisioned);
    if throughput.leases_share { wanted } else { wanted.with_dedicated(LEASES, LEASES_THROUGHPUT) }
}

/// Refuses a credential that may not create containers.
///
/// # Errors
/// The credential is no account key.
pub fn require_key(account: &CosmosSettings) -> anyhow::Result<()> {
    if matches!(account.credential, Credential::Key(_)) {
        return Ok(());
    }
    anyhow::bail!(
        "Entra ID does not permit this client to create databases and containers: give a key of the account \
         (--cosmos-key-file or ONEHOP_COSMOS_KEY), or deploy deploy/main.bicep"
    )
}

fn with_cause(error: provision::ProvisionError) -> anyhow::Error {
    anyhow::Error::new(error).context("the account was not provisioned")
}

/// The plan in words, a line for each step.
#[must_use]
pub fn in_words(plan: &ProvisionPlan) -> String {
    plan.steps.iter().map(|step| format!("{step}\n")).collect()
}

/// Differences that the plan cannot change, a line for each.
#[must_use]
pub fn warnings(plan: &ProvisionPlan) -> String {
    let warning = |container: &String| {
        format!(
            "warning: the container {container} shares the throughput of the database, so a burst of requests delays what it \
             stores. The service cannot change that: with all processes stopped, delete the container and run this command \
             again, which creates it with {LEASES_THROUGHPUT}; the projections then read the change feed from the beginning. \
             Or accept it with --throughput-leases shared\n"
        )
    };
    plan.sharing.iter().map(warning).collect()
}

/// The plan of an account, or the plan of an empty one where it cannot be reached.
///
/// # Errors
/// The account answers, and its containers cannot be updated.
pub async fn plan_without_changes(
    account: &CosmosSettings,
    specs: &[ContainerSpec],
    throughput: &ThroughputPlan,
) -> anyhow::Result<(ProvisionPlan, bool)> {
    match Provisioner::connect(account, specs, throughput).await {
        Ok(provisioner) => {
            let plan = provisioner.plan().await.context("the account cannot be compared")?;
            Ok((plan, true))
        }
        Err(error) => {
            tracing::warn!(error = format!("{error:#}"), "the account cannot be reached");
            Ok((plan_of_everything(&account.database, specs, throughput), false))
        }
    }
}
