//! Throughput settings: request units that `onehop provision` reserves.

use clap::{Args, ValueEnum};

use onehop_store::cosmos::provision::{Throughput, ThroughputScope};

/// Scope of the throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThroughputScopeSetting {
    /// The containers of the database share it
    Database,
    /// Each container has as much
    Container,
}

/// Settings of the throughput. Neither kind is for serverless accounts.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Throughput of Azure Cosmos DB containers")]
pub struct ThroughputSettings {
    /// Autoscale throughput: maximum in RU/s. Neither this nor --throughput-manual is for serverless accounts
    /// [default: none]
    #[arg(
        long,
        value_name = "RU",
        env = "ONEHOP_THROUGHPUT_AUTOSCALE_MAX",
        value_parser = clap::value_parser!(u64).range(1000..=1_000_000)
    )]
    pub throughput_autoscale_max: Option<u64>,

    /// Manual throughput, in RU/s [default: none]
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

impl ThroughputSettings {
    /// The throughput with its scope; `None` without either setting.
    #[must_use]
    pub fn wanted(&self) -> Option<(Throughput, ThroughputScope)> {
        let autoscale = self.throughput_autoscale_max.map(|max_ru| Throughput::Autoscale { max_ru });
        let throughput = autoscale.or(self.throughput_manual.map(|ru| Throughput::Manual { ru }))?;
        let scope = match self.throughput_scope {
            ThroughputScopeSetting::Database => ThroughputScope::Database,
            ThroughputScopeSetting::Container => ThroughputScope::Container,
        };
        Some((throughput, scope))
    }
}
