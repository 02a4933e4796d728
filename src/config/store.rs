//! Store settings: which store holds the data.

use std::fmt;

use clap::{Args, ValueEnum};

use super::environment::Environment;
use super::{CosmosSettings, DataSettings, SettingError};
use onehop_store::{cosmos, embedded};

/// The kind of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StoreKind {
    /// Directory on this machine, for one process at a time
    Embedded,
    /// Account on Azure Cosmos DB for NoSQL, for any number of processes
    Cosmos,
}

/// Settings of the store.
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
}

/// The chosen store with its settings, checked.
#[derive(Debug, Clone)]
pub enum StoreChoice {
    Embedded(embedded::EmbeddedConfig),
    Cosmos(Box<cosmos::CosmosSettings>),
}

/// Where the data is.
impl fmt::Display for StoreChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(config) => write!(formatter, "directory {}", config.path.display()),
            Self::Cosmos(account) => {
                write!(formatter, "database {} of {}", account.database, account.endpoint)
            }
        }
    }
}

impl StoreSettings {
    /// The chosen store.
    ///
    /// # Errors
    /// The text names the setting.
    pub fn choice(&self, environment: &Environment) -> Result<StoreChoice, SettingError> {
        match self.store {
            StoreKind::Embedded => Ok(StoreChoice::Embedded(self.data.embedded())),
            StoreKind::Cosmos => Ok(StoreChoice::Cosmos(Box::new(self.cosmos.adapter(environment)?))),
        }
    }
}
