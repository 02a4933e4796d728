//! Store settings: which store holds the data, and the identity of this process among those that share it.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::environment::Environment;
use super::{CosmosSettings, DataSettings, SettingError};
use onehop_change_feed::Sharing;
use onehop_store::{cosmos, embedded};

/// Which store holds the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StoreKind {
    /// Directory on this machine, for one process at a time
    Embedded,
    /// Account on Azure Cosmos DB for NoSQL, for any number of processes
    Cosmos,
}

/// Settings of the store, whichever it is.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Store")]
pub struct StoreSettings {
    /// Store that holds the data
    #[arg(long, value_enum, env = "ONEHOP_STORE", default_value = "embedded")]
    pub store: StoreKind,
    #[command(flatten)]
    pub data: DataSettings,
    #[command(flatten)]
    pub cosmos: CosmosSettings,
    #[command(flatten)]
    pub sharing: SharingSettings,
}

/// How processes share the change feed.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Leases of the change feed")]
pub struct SharingSettings {
    /// Owner name under which this process holds leases [default: the host's name and a random suffix]
    #[arg(long, value_name = "NAME", env = "ONEHOP_INSTANCE")]
    pub instance: Option<String>,

    /// Acquire interval of the change feed's leases, in milliseconds: how often a process looks for leases to
    /// take
    #[arg(
        long,
        value_name = "MS",
        env = "ONEHOP_LEASE_ACQUIRE_MS",
        default_value_t = 17_000,
        value_parser = clap::value_parser!(u64).range(10..=3_600_000)
    )]
    pub lease_acquire_ms: u64,

    /// Expiry of a lease, in milliseconds without renewal. Then another process takes it over. It must be
    /// greater than --lease-renew-ms
    #[arg(
        long,
        value_name = "MS",
        env = "ONEHOP_LEASE_EXPIRE_MS",
        default_value_t = 60_000,
        value_parser = clap::value_parser!(u64).range(10..=3_600_000)
    )]
    pub lease_expire_ms: u64,

    /// Renewal interval of leases, in milliseconds
    #[arg(
        long,
        value_name = "MS",
        env = "ONEHOP_LEASE_RENEW_MS",
        default_value_t = 13_000,
        value_parser = clap::value_parser!(u64).range(10..=3_600_000)
    )]
    pub lease_renew_ms: u64,
}

/// A store and how it is used, checked.
#[derive(Debug, Clone)]
pub enum StoreChoice {
    Embedded(embedded::EmbeddedConfig),
    Cosmos(Box<CosmosChoice>),
}

/// An account, and who this process is among those that share it.
#[derive(Debug, Clone)]
pub struct CosmosChoice {
    pub account: cosmos::CosmosSettings,
    pub member: Member,
}

/// Who this process is among those that share the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Holds leases under this name.
    pub owner: String,
    pub sharing: Sharing,
}

impl Member {
    /// The only process there is.
    #[must_use]
    pub fn alone() -> Self {
        Self { owner: "embedded".to_owned(), sharing: Sharing::Alone }
    }

    /// Another member on the same terms, for a command that runs beside a server of the same name: two owners of one
    /// name would take each other's leases.
    #[must_use]
    pub fn beside(self) -> Self {
        Self { owner: format!("{}~{}", self.owner, random_suffix()), ..self }
    }
}

impl StoreSettings {
    /// The chosen store. What spans several settings is checked here and nowhere else.
    ///
    /// # Errors
    /// The text names the setting.
    pub fn choice(&self, environment: &Environment) -> Result<StoreChoice, SettingError> {
        match self.store {
            StoreKind::Embedded => Ok(StoreChoice::Embedded(self.data.embedded())),
            StoreKind::Cosmos => {
                let account = self.cosmos.adapter(environment)?;
                let member = self.sharing.member()?;
                Ok(StoreChoice::Cosmos(Box::new(CosmosChoice { account, member })))
            }
        }
    }
}

impl SharingSettings {
    /// # Errors
    /// Intervals under which a lease would be lost although its owner lives.
    pub fn member(&self) -> Result<Member, SettingError> {
        if self.lease_expire_ms <= self.lease_renew_ms {
            return Err(SettingError::new("--lease-expire-ms must be greater than --lease-renew-ms"));
        }
        let owner = match &self.instance {
            Some(name) if name.trim().is_empty() => {
                return Err(SettingError::new("--instance must not be empty"));
            }
            Some(name) => name.clone(),
            None => format!("{}~{}", host_name(), random_suffix()),
        };
        let sharing = Sharing::WithOthers {
            acquire: Duration::from_millis(self.lease_acquire_ms),
            expire: Duration::from_millis(self.lease_expire_ms),
            renew: Duration::from_millis(self.lease_renew_ms),
        };
        Ok(Member { owner, sharing })
    }
}

fn host_name() -> String {
    let file = PathBuf::from("/proc/sys/kernel/hostname");
    let name = std::fs::read_to_string(file).ok().or_else(|| std::env::var("HOSTNAME").ok());
    let name = name.unwrap_or_default().trim().to_owned();
    if name.is_empty() { "onehop".to_owned() } else { name }
}

/// Eight hexadecimal digits. Without random bytes the number of the process has to do.
fn random_suffix() -> String {
    let mut bytes = [0; 4];
    if getrandom::fill(&mut bytes).is_err() {
        bytes = std::process::id().to_be_bytes();
    }
    format!("{:08x}", u32::from_be_bytes(bytes))
}
