//! Settings of the adapter: account, credential, consistency and retry policy.

use std::fmt;
use std::time::Duration;

/// An account, a database in it, and how it is used.
#[derive(Debug, Clone)]
pub struct CosmosSettings {
    /// The account's URL, for example `https://name.documents.azure.com`. Plain HTTP is for emulators on this
    /// machine.
    pub endpoint: String,
    /// The database that holds the containers.
    pub database: String,
    pub credential: Credential,
    /// Azure regions in the order in which they are asked; empty leaves it to the account.
    pub preferred_regions: Vec<String>,
    pub consistency: Consistency,
    /// Whether items travel in the service's binary form of JSON. Some emulators know text only.
    pub binary_encoding: bool,
    pub retry_policy: RetryPolicy,
    pub background: BackgroundSettings,
}

/// Limits of background work: rebuilds, verification, copies.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BackgroundSettings {
    /// The budget in request units for each second; `None` for no limit.
    pub ru_per_second: Option<f64>,
    /// The throughput bucket of each container that its requests name, 1 to 5; `None` for none.
    pub throughput_bucket: Option<u32>,
}

/// The credential for the account.
#[derive(Clone)]
pub enum Credential {
    /// One of the account's keys.
    Key(String),
    /// The managed identity of the machine: the user-assigned one with this client id, or the system-assigned
    /// one.
    ManagedIdentity { client_id: Option<String> },
    /// The identity that Kubernetes projects into the pod.
    WorkloadIdentity,
    /// The user that is signed in to the Azure CLI or the Azure Developer CLI.
    DeveloperTools,
}

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Key(_) => "Key(..)",
            Self::ManagedIdentity { .. } => "ManagedIdentity",
            Self::WorkloadIdentity => "WorkloadIdentity",
            Self::DeveloperTools => "DeveloperTools",
        })
    }
}

/// The consistency level of reads. A read can be made stronger than the account's default and weaker, see
/// <https://learn.microsoft.com/azure/cosmos-db/consistency-levels>.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consistency {
    /// As the account says. With `Session`, the session tokens of this client are sent.
    Account,
    /// The version of the nearest replica.
    Eventual,
    /// This client reads its own writes.
    Session,
    /// The latest version that any client committed in the region that is read: a quorum read, which is
    /// charged twice.
    LatestCommitted,
}

/// Retry policy: how long and how often the adapter retries before it returns a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// All waiting of one operation that was refused for its rate (429).
    pub throttled_wait_max: Duration,
    /// Retries of one operation that was throttled.
    pub throttled_retries_max: u32,
    /// All of one operation, with every retry; at least a second.
    pub operation_max: Duration,
    /// Retries of an operation while its physical partition moves (410).
    pub moved_retries_max: u32,
    /// Retries of a write while another one to the same item is under way (449).
    pub contended_retries_max: u32,
    /// Before the first retry, where the service names no delay; it doubles with each.
    pub wait_first: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            throttled_wait_max: Duration::from_secs(5),
            throttled_retries_max: 9,
            operation_max: Duration::from_secs(10),
            moved_retries_max: 8,
            contended_retries_max: 1,
            wait_first: Duration::from_millis(25),
        }
    }
}
