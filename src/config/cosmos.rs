//! Account settings of Azure Cosmos DB: endpoint, credential, regions, consistency and timeout. An account
//! key comes from a file or from the environment and never from the command line, which every process of the
//! machine can read.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::SettingError;
use super::environment::Environment;
use onehop_runtime::private_files::check_private;
use onehop_store::cosmos;

/// The environment variable that holds an account key.
pub const KEY_VARIABLE: &str = "ONEHOP_COSMOS_KEY";
/// Variables that Kubernetes sets in a pod with a workload identity; all three are needed.
const WORKLOAD_IDENTITY_VARIABLES: [&str; 3] =
    ["AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE"];
/// The variable that App Service, Functions and Container Apps set; a virtual machine does not set it.
const MANAGED_IDENTITY_VARIABLE: &str = "IDENTITY_ENDPOINT";

/// Credential (authentication) of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CredentialSetting {
    /// The first that is found: a key; a workload identity (AZURE_CLIENT_ID, AZURE_TENANT_ID and
    /// AZURE_FEDERATED_TOKEN_FILE are set); a managed identity (IDENTITY_ENDPOINT or --cosmos-client-id is
    /// set); the developer tools
    Auto,
    /// Account key
    Key,
    /// Managed identity of the virtual machine or the app
    ManagedIdentity,
    /// Workload identity of the Kubernetes pod
    WorkloadIdentity,
    /// User who is signed in to the Azure CLI or the Azure Developer CLI
    DeveloperTools,
}

/// Consistency level of reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ConsistencySetting {
    /// Default consistency of the account
    Account,
    /// Eventual: any replica answers
    Eventual,
    /// Session: this process reads its own writes
    Session,
    /// Latest committed version in the region: a quorum read, charged twice
    LatestCommitted,
}

/// Settings of the store on Azure Cosmos DB.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Azure Cosmos DB account")]
pub struct CosmosSettings {
    /// URL of the account, such as https://name.documents.azure.com. Needed with --store cosmos. Plain http
    /// is accepted for an emulator on this machine, with items in text instead of binary JSON
    #[arg(long, value_name = "URL", env = "ONEHOP_COSMOS_ENDPOINT")]
    pub cosmos_endpoint: Option<String>,

    /// Database that holds the containers
    #[arg(long, value_name = "NAME", env = "ONEHOP_COSMOS_DATABASE", default_value = "onehop")]
    pub cosmos_database: String,

    /// Credential (authentication) of this process at the account
    #[arg(long, value_enum, env = "ONEHOP_COSMOS_CREDENTIAL", default_value = "auto")]
    pub cosmos_credential: CredentialSetting,

    /// File that holds a key of the account; or the environment variable ONEHOP_COSMOS_KEY holds the key
    /// [default: none]
    #[arg(long, value_name = "FILE", env = "ONEHOP_COSMOS_KEY_FILE")]
    pub cosmos_key_file: Option<PathBuf>,

    /// Client id of a user-assigned managed identity [default: none]
    #[arg(long, value_name = "ID", env = "ONEHOP_COSMOS_CLIENT_ID")]
    pub cosmos_client_id: Option<String>,

    /// Preferred Azure regions, in this order and separated by commas, such as "North Europe,West Europe"
    /// [default: none]
    #[arg(long, value_name = "REGIONS", env = "ONEHOP_COSMOS_REGIONS", value_delimiter = ',')]
    pub cosmos_regions: Vec<String>,

    /// Consistency level of reads
    #[arg(long, value_enum, env = "ONEHOP_COSMOS_CONSISTENCY", default_value = "account")]
    pub cosmos_consistency: ConsistencySetting,

    /// Timeout of one operation with all its retries, in milliseconds, and half of it for an operation that
    /// is throttled (429). Then the operation fails with UNAVAILABLE
    #[arg(
        long,
        value_name = "MS",
        env = "ONEHOP_COSMOS_TIMEOUT_MS",
        default_value_t = 10_000,
        value_parser = clap::value_parser!(u64).range(1_000..=600_000)
    )]
    pub cosmos_timeout_ms: u64,

    /// Budget of background work (rebuilds, verification, copies), in request units for each second. It runs
    /// at low priority, and waits once it has spent its budget [default: no limit]
    #[arg(
        long,
        value_name = "RU",
        env = "ONEHOP_BACKGROUND_RU_PER_SECOND",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub background_ru_per_second: Option<u32>,

    /// Throughput bucket of background work (rebuilds, verification, copies): 1 to 5. The bucket's limit is
    /// configured for each container in Azure. Requests beyond it are throttled (429) and retried [default:
    /// none]
    #[arg(
        long,
        value_name = "BUCKET",
        env = "ONEHOP_BACKGROUND_THROUGHPUT_BUCKET",
        value_parser = clap::value_parser!(u32).range(1..=5)
    )]
    pub background_throughput_bucket: Option<u32>,
}

impl CosmosSettings {
    /// The settings of the adapter.
    ///
    /// # Errors
    /// A setting that is missing, cannot be used, or contradicts another one; the text names it.
    pub fn adapter(&self, environment: &Environment) -> Result<cosmos::CosmosSettings, SettingError> {
        let endpoint = self.cosmos_endpoint.clone().unwrap_or_default();
        if endpoint.is_empty() {
            return Err(SettingError::new("--cosmos-endpoint is needed with --store cosmos"));
        }
        check_endpoint(&endpoint)?;
        if self.cosmos_database.is_empty() || self.cosmos_database.contains(['/', '\\', '?', '#']) {
            let text = "--cosmos-database must not be empty, nor contain any of / \\ ? #";
            return Err(SettingError::new(text));
        }
        let operation_max = Duration::from_millis(self.cosmos_timeout_ms);
        let regions = self.cosmos_regions.iter().map(|region| region.trim().to_owned());
        Ok(cosmos::CosmosSettings {
            database: self.cosmos_database.clone(),
            credential: self.credential(environment)?,
            preferred_regions: regions.filter(|region| !region.is_empty()).collect(),
            consistency: match self.cosmos_consistency {
                ConsistencySetting::Account => cosmos::Consistency::Account,
                ConsistencySetting::Eventual => cosmos::Consistency::Eventual,
                ConsistencySetting::Session => cosmos::Consistency::Session,
                ConsistencySetting::LatestCommitted => cosmos::Consistency::LatestCommitted,
            },
            // Microsoft's Linux emulator reads text only.
            binary_encoding: endpoint.starts_with("https:"),
            endpoint,
            background: cosmos::BackgroundSettings {
                ru_per_second: self.background_ru_per_second.map(f64::from),
                throughput_bucket: self.background_throughput_bucket,
            },
            retry_policy: cosmos::RetryPolicy {
                throttled_wait_max: operation_max / 2,
                operation_max,
                ..cosmos::RetryPolicy::default()
            },
        })
    }

    fn credential(&self, environment: &Environment) -> Result<cosmos::Credential, SettingError> {
        let key = self.key(environment)?;
        let managed_identity =
            || cosmos::Credential::ManagedIdentity { client_id: self.cosmos_client_id.clone() };
        if key.is_some()
            && !matches!(self.cosmos_credential, CredentialSetting::Auto | CredentialSetting::Key)
        {
            return Err(SettingError::new(format!(
                "an account key is given, which --cosmos-credential {} does not use: leave out \
                 --cosmos-key-file and {KEY_VARIABLE}",
                name_of(self.cosmos_credential)
            )));
        }
        let credential = match (self.cosmos_credential, key) {
            (CredentialSetting::Auto | CredentialSetting::Key, Some(key)) => cosmos::Credential::Key(key.0),
            (CredentialSetting::Key, None) => {
                return Err(SettingError::new(format!(
                    "--cosmos-credential key needs --cosmos-key-file or the environment variable {KEY_VARIABLE}"
                )));
            }
            (CredentialSetting::ManagedIdentity, _) => managed_identity(),
            (CredentialSetting::WorkloadIdentity, _) => cosmos::Credential::WorkloadIdentity,
            (CredentialSetting::DeveloperTools, _) => cosmos::Credential::DeveloperTools,
            (CredentialSetting::Auto, None) => {
                if WORKLOAD_IDENTITY_VARIABLES.iter().all(|name| environment.has(name)) {
                    cosmos::Credential::WorkloadIdentity
                } else if self.cosmos_client_id.is_some() || environment.has(MANAGED_IDENTITY_VARIABLE) {
                    managed_identity()
                } else {
                    cosmos::Credential::DeveloperTools
                }
            }
        };
        let is_managed = matches!(credential, cosmos::Credential::ManagedIdentity { .. });
        if self.cosmos_client_id.is_some() && !is_managed {
            let text = "--cosmos-client-id is for a managed identity: it goes with --cosmos-credential managed-identity";
            return Err(SettingError::new(text));
        }
        Ok(credential)
    }

    fn key(&self, environment: &Environment) -> Result<Option<AccountKey>, SettingError> {
        let (text, source) = match (&self.cosmos_key_file, environment.get(KEY_VARIABLE)) {
            (Some(_), Some(_)) => {
                let text = format!("--cosmos-key-file and {KEY_VARIABLE} both give a key: leave one out");
                return Err(SettingError::new(text));
            }
            (Some(file), None) => (read_key(file)?, format!("--cosmos-key-file {}", file.display())),
            (None, Some(text)) => (text, KEY_VARIABLE.to_owned()),
            (None, None) => return Ok(None),
        };
        AccountKey::parse(&text)
            .map(Some)
            .ok_or_else(|| SettingError::new(format!("{source}: an account key is a text in base64")))
    }
}

/// An account key, which `Debug` leaves out.
struct AccountKey(String);

impl AccountKey {
    fn parse(text: &str) -> Option<Self> {
        use base64::Engine as _;
        let text = text.trim();
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
        (!bytes.is_empty()).then(|| Self(text.to_owned()))
    }
}

impl fmt::Debug for AccountKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AccountKey(..)")
    }
}

/// Reads a key file. An error has its kind only, since its text could quote the file.
fn read_key(path: &Path) -> Result<String, SettingError> {
    let unreadable = |error: io::Error| {
        SettingError::new(format!("--cosmos-key-file {} cannot be read: {}", path.display(), error.kind()))
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let checked = check_private(&file, path).map_err(unreadable)?;
    checked.map_err(|shared| SettingError::new(format!("--cosmos-key-file: {shared}")))?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

/// Refuses plain HTTP, except to this machine: a key or a token would be sent unencrypted.
fn check_endpoint(endpoint: &str) -> Result<(), SettingError> {
    let wrong = |reason: &str| Err(SettingError::new(format!("--cosmos-endpoint {endpoint:?} {reason}")));
    let Ok(url) = reqwest::Url::parse(endpoint) else {
        return wrong("is not a URL such as https://name.documents.azure.com");
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(SettingError::new("--cosmos-endpoint must hold no user name and no password"));
    }
    match (url.scheme(), url.host_str()) {
        ("https", Some(_)) => Ok(()),
        ("http", Some("localhost" | "127.0.0.1" | "[::1]")) => Ok(()),
        ("http", Some(_)) => wrong("must be an https URL; http is for an emulator on this machine"),
        _ => wrong("is not a URL such as https://name.documents.azure.com"),
    }
}

fn name_of(credential: CredentialSetting) -> String {
    credential.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}
