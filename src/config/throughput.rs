//! Throughput settings: request units that `onehop provision` reserves.

use clap::{Args, ValueEnum};

use super::SettingError;
use onehop_store::cosmos::provision::{Throughput, ThroughputScope};

/// Scope of the throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThroughputScopeSetting {
    /// The containers of the database share it
    Database,
    /// Each container has as much
    Container,
}

/// Throughput of the container of leases in a database whose containers share theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LeasesThroughputSetting {
    /// Throughput of its own: autoscale up to 1,000 RU/s
    Dedicated,
    /// It shares the throughput of the database
    Shared,
}

/// Settings of the throughput. Neither kind is for serverless accounts.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Throughput of Azure Cosmos DB containers")]
pub struct ThroughputSettings {
    /// Autoscale throughput: maximum in RU/s, a multiple of 1,000. Neither this nor --throughput-manual is
    /// for serverless accounts [default: none]
    #[arg(
        long,
        value_name = "RU",
        env = "ONEHOP_THROUGHPUT_AUTOSCALE_MAX",
        value_parser = clap::value_parser!(u64).range(1000..=1_000_000)
    )]
    pub throughput_autoscale_max: Option<u64>,

    /// Manual throughput, in RU/s, a multiple of 100 [default: none]
    #[arg(
        long,
        value_name = "RU",
        env = "ONEHOP_THROUGHPUT_MANUAL",
        conflicts_with = "throughput_autoscale_max",
        value_parser = clap::value_parser!(u64).range(400..=1_000_000)
    )]
    pub throughput_manual: Option<u64>,

    /// Scope of the throughput
    #[arg(long, value_enum, env = "ONEHOP_THROUGHPUT_SCOPE", default_value = "database")]
    pub throughput_scope: ThroughputScopeSetting,
}

/// Setting of the container of leases.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Throughput of Azure Cosmos DB containers")]
pub struct LeasesThroughput {
    /// Throughput of the container of leases, where the containers of the database share theirs. If it
    /// shares, too, a burst of requests delays checkpoints and heartbeats
    #[arg(long, value_enum, env = "ONEHOP_THROUGHPUT_LEASES", default_value = "dedicated")]
    pub throughput_leases: LeasesThroughputSetting,
}

impl LeasesThroughput {
    /// Whether the container of leases shares the throughput of the database.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.throughput_leases == LeasesThroughputSetting::Shared
    }
}

impl ThroughputSettings {
    /// The throughput with its scope; `None` without either setting. This many containers share the
    /// throughput of a database.
    ///
    /// # Errors
    /// The service refuses a value; the text names the setting and the limit.
    pub fn wanted(
        &self,
        sharing_containers: usize,
    ) -> Result<Option<(Throughput, ThroughputScope)>, SettingError> {
        let (setting, throughput) = match (self.throughput_autoscale_max, self.throughput_manual) {
            (Some(max_ru), _) => ("--throughput-autoscale-max", Throughput::Autoscale { max_ru }),
            (None, Some(ru)) => ("--throughput-manual", Throughput::Manual { ru }),
            (None, None) => return Ok(None),
        };
        let (scope, checked) = match self.throughput_scope {
            ThroughputScopeSetting::Database => {
                (ThroughputScope::Database, throughput.check_shared(sharing_containers))
            }
            ThroughputScopeSetting::Container => (ThroughputScope::Container, throughput.check()),
        };
        match checked {
            Ok(throughput) => Ok(Some((throughput, scope))),
            Err(refusal) => Err(SettingError::new(format!("{setting}: {refusal}; Azure would refuse it"))),
        }
    }
}
