//! `onehop read-models`: the declared read models as diagrams, and the request charge of each kind of change.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use onehop_change_feed::{IdleCharges, Settings, Sharing};
use onehop_read_models::ReadModels;
use onehop_read_models::cost::{self, CostCharges};
use onehop_store::Indexing;
use onehop_store::charges::Calibration;
use onehop_store::embedded::PHYSICAL_PARTITIONS_MAX;

use super::Exit;
use super::model::served_model;
use crate::app::read_model_costs::{CostData, DomainCosts, costs_of_copy};
use crate::blog::study::dataset::DEFAULT_RNG_SEED;
use crate::config::CalibrationSettings;
use crate::served::ServedModel;
use crate::{app, blog, webstore};

/// Users and customers of the default data. The feed and the ranking are full, and some items are behind
/// their last.
const USERS_DEFAULT: u32 = 8;
const CUSTOMERS_DEFAULT: u32 = 200;
const PHYSICAL_PARTITIONS_DEFAULT: u16 = 1;
/// Physical partitions of each container for which the idle charge is shown.
const IDLE_PARTITIONS: [u64; 3] = [1, 4, 70];
/// Processes for which the idle charge is shown.
const IDLE_PROCESSES: [u64; 3] = [1, 2, 3];

/// Arguments of `onehop read-models`.
#[derive(Debug, Args)]
pub struct PrintReadModels {
    /// Request charges: print the cost of each kind of change, predicted and measured, instead of the
    /// diagrams. They are measured on a data set in a temporary directory
    #[arg(long, env = "ONEHOP_COSTS", value_parser = BoolishValueParser::new())]
    costs: bool,

    /// Users of the blog's data set, with --costs. A list of the newest that is not full is left out
    /// [default: 8]
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_USERS",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    users: Option<u32>,

    /// Customers of the web store's data set, with --costs. A ranking that is not full is left out [default:
    /// 200]
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_CUSTOMERS",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    customers: Option<u32>,

    /// Seed of the random number generator, with --costs. The same seed makes the same data set
    #[arg(long, value_name = "NUMBER", env = "ONEHOP_RNG_SEED", default_value_t = DEFAULT_RNG_SEED)]
    rng_seed: u64,

    /// Physical partitions of each container, with --costs: a query across logical partitions visits each
    /// [default: 1]
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_PHYSICAL_PARTITIONS",
        value_parser = clap::value_parser!(u16).range(1..=i64::from(PHYSICAL_PARTITIONS_MAX))
    )]
    physical_partitions: Option<u16>,

    /// Indexing policy, with --costs, which decides the charge of a write
    #[arg(long, value_enum, env = "ONEHOP_INDEXING", default_value = "needed")]
    indexing: IndexingSetting,

    #[command(flatten)]
    calibration: CalibrationSettings,

    /// Model file: the read models of the domain that it declares, in place of the built-in domains
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL")]
    model: Option<PathBuf>,

    /// Data directory of the model, with --model and --costs. Charges are measured on a copy of it. No server
    /// may run on it
    #[arg(long, value_name = "DIRECTORY", env = "ONEHOP_DATA")]
    data: Option<PathBuf>,
}

/// The indexing policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IndexingSetting {
    /// Every property: Cosmos DB's default, and the article's setting
    All,
    /// Properties that queries need, as `onehop provision` creates them
    Needed,
}

impl From<IndexingSetting> for Indexing {
    fn from(setting: IndexingSetting) -> Self {
        match setting {
            IndexingSetting::All => Self::All,
            IndexingSetting::Needed => Self::Needed,
        }
    }
}

impl PrintReadModels {
    pub async fn run(self) -> anyhow::Result<Exit> {
        if let Some(file) = &self.model {
            let model = served_model(file)?.model;
            match self.costs {
                true => print!("{}", self.measured(&model).await?),
                false => print!("{}", model.read_models().mermaid()),
            }
            return Ok(Exit::Success);
        }
        if !self.costs {
            print!("{}", diagrams());
            return Ok(Exit::Success);
        }
        let directory = tempfile::tempdir().context("no temporary directory can be created")?;
        let data = self.data();
        let domains = data.measure(directory.path()).await?;
        print!("{}", cost_tables(&domains, &data.calibration));
        Ok(Exit::Success)
    }

    /// A table of the request charges of a model, measured on a copy of its data.
    async fn measured(&self, model: &Arc<ServedModel>) -> anyhow::Result<String> {
        let data = self.data.as_ref().context("--costs of a model needs its data: --data DIRECTORY")?;
        let directory = tempfile::tempdir().context("no temporary directory can be created")?;
        let calibration = self.calibration.calibration();
        let charges = CostCharges { indexing: self.indexing.into(), calibration };
        let costs = costs_of_copy(model, data, directory.path(), &charges).await?;
        Ok(cost::markdown(&costs))
    }

    fn data(&self) -> CostData {
        CostData {
            users: self.users.unwrap_or(USERS_DEFAULT),
            customers: self.customers.unwrap_or(CUSTOMERS_DEFAULT),
            rng_seed: self.rng_seed,
            physical_partitions: self.physical_partitions.unwrap_or(PHYSICAL_PARTITIONS_DEFAULT),
            indexing: self.indexing.into(),
            calibration: self.calibration.calibration(),
        }
    }
}

/// A Mermaid flowchart for each domain, in Markdown.
#[must_use]
pub fn diagrams() -> String {
    let domains =
        [("Blog", blog::read_models::read_models()), ("Web store", webstore::read_models::read_models())];
    let diagram = |(title, declared): (&str, &ReadModels)| {
        format!("## {title}\n\n```mermaid\n{}```\n", declared.mermaid())
    };
    domains.map(diagram).join("\n")
}

/// The data of the tables in the documentation.
#[must_use]
pub fn documented_data() -> CostData {
    CostData {
        users: USERS_DEFAULT,
        customers: CUSTOMERS_DEFAULT,
        rng_seed: DEFAULT_RNG_SEED,
        physical_partitions: PHYSICAL_PARTITIONS_DEFAULT,
        indexing: IndexingSetting::Needed.into(),
        calibration: Calibration::current(),
    }
}

/// A table of request charges for each domain, and the idle charge, in Markdown.
#[must_use]
pub fn cost_tables(domains: &[DomainCosts], calibration: &Calibration) -> String {
    let mut text = String::new();
    for DomainCosts { title, costs } in domains {
        let _ = writeln!(text, "## {title}\n\n{}", cost::markdown(costs));
    }
    text.push_str(&idle_charges(calibration));
    text
}

/// The idle charge, by physical partitions of each source container and processes that share them.
fn idle_charges(calibration: &Calibration) -> String {
    let settings = Settings { sharing: Sharing::with_others(), ..Settings::new("idle") };
    let idle = IdleCharges::of(&settings, calibration);
    let sources: BTreeSet<_> = app::projections().iter().map(|projection| projection.source()).collect();
    let processes = IDLE_PROCESSES.map(|processes| format!("RU/s, processes: {processes}")).join(" | ");
    let mut text = format!(
        "## Idle charge\n\n| physical partitions | feed ranges | {processes} |\n|---:|---:{}|\n",
        "|---:".repeat(IDLE_PROCESSES.len())
    );
    for partitions in IDLE_PARTITIONS {
        let feed_ranges = partitions * sources.len() as u64;
        let charge = |processes| format!("{:.2}", idle.total(feed_ranges, processes).0);
        let charges = IDLE_PROCESSES.map(charge).join(" | ");
        let _ = writeln!(text, "| {partitions} | {feed_ranges} | {charges} |");
    }
    text
}
