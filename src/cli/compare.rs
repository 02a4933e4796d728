//! `onehop compare`: what each data model costs, on the article's data set at any size.

mod study;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, ValueEnum};
use tokio_util::sync::CancellationToken;

use super::Exit;
use super::progress::Bar;
use super::work::DEMO_PASSWORD;
use crate::accounts::password::{HashingCost, Password};
use crate::app::{App, AppOptions};
use crate::blog::projections::{self, Usernames};
use crate::blog::reads::DataModel;
use crate::changefeed::{Processor, Projection, Settings};
use crate::compare::article::ArticleRequest;
use crate::compare::dataset::{DEFAULT_END_MS, DEFAULT_RNG_SEED, Dataset, Texts};
use crate::compare::measure::{Database, Follower, Workload};
use crate::compare::metered::Metered;
use crate::compare::partitions::PartitionReport;
use crate::compare::report::{Report, Row};
use crate::compare::seed::{SeedProgress, Seeder};
use crate::compare::traffic::{Rate, Traffic, even_rates};
use crate::compare::writes::{Plain, WritePath};
use crate::compare::{html, show};
use crate::config::{Member, StoreChoice};
use crate::control::Progress;
use crate::store::embedded::{EmbeddedConfig, PHYSICAL_PARTITIONS_MAX};
use crate::store::{ChargeSource, Store};
use study::{Studied, study};

/// The directory within `--data` that this command makes and fills.
const DIRECTORY: &str = "compare";
const USERS_DEFAULT: u32 = 200;
/// As many as the charges of V2's Q3 and Q6 in the article imply, at some 2.8 RU each.
const PHYSICAL_PARTITIONS_DEFAULT: u16 = 70;

/// How the report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal
    Table,
    /// For a document
    Markdown,
    /// For a program
    Json,
    /// One file with charts, for a browser
    Html,
}

/// Writes the data set once for each data model, runs the article's ten requests on it, and prints what each did and
/// what it was charged, beside the article's figures. The report goes to standard output.
#[derive(Debug, Args)]
pub struct Compare {
    /// Directory in which the databases are made, under `compare` [default: a temporary one]
    #[arg(long, value_name = "DIRECTORY", env = "ONEHOP_DATA")]
    data: Option<PathBuf>,

    /// Users of the data set, each with 5 to 50 posts [default: 200]
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_USERS",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    users: Option<u32>,

    /// Seed of the random numbers
    #[arg(long, value_name = "NUMBER", env = "ONEHOP_RNG_SEED", default_value_t = DEFAULT_RNG_SEED)]
    rng_seed: u64,

    /// Physical partitions that the store models [default: 70]
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_PHYSICAL_PARTITIONS",
        value_parser = clap::value_parser!(u16).range(1..=i64::from(PHYSICAL_PARTITIONS_MAX))
    )]
    physical_partitions: Option<u16>,

    /// How often each request is run under each data model
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_SAMPLES",
        default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..=100_000)
    )]
    samples: u32,

    /// How the report is written
    #[arg(long, value_enum, env = "ONEHOP_FORMAT", default_value = "table")]
    format: Format,

    #[command(flatten)]
    traffic: TrafficSettings,
}

/// The traffic for which throughput and bill are worked out.
#[derive(Debug, Args)]
struct TrafficSettings {
    /// Reads for each write, one write a second, spread evenly over the requests
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_READS_PER_WRITE",
        conflicts_with = "rates",
        value_parser = non_negative
    )]
    reads_per_write: Option<f64>,

    /// Requests a second, like Q3=100,C2=1
    #[arg(long, value_name = "RATES", env = "ONEHOP_RATES", value_delimiter = ',')]
    rates: Vec<Rate>,

    /// Price of 100 RU/s for an hour, for a monthly bill
    #[arg(long, value_name = "PRICE", env = "ONEHOP_PRICE_PER_100_RU", value_parser = non_negative)]
    price_per_100_ru: Option<f64>,
}

impl Compare {
    pub async fn run(self) -> anyhow::Result<Exit> {
        let temporary;
        let parent = match &self.data {
            Some(directory) => directory.as_path(),
            None => {
                temporary = tempfile::tempdir().context("no temporary directory can be made")?;
                temporary.path()
            }
        };
        let directory = parent.join(DIRECTORY);
        anyhow::ensure!(
            !directory.exists(),
            "--data: {} is there already, and a comparison begins with nothing: remove it, or name another directory",
            directory.display()
        );
        let report = self.compare(&directory).await?;
        match self.format {
            Format::Table => print!("{}", show::table(&report)),
            Format::Markdown => print!("{}", show::markdown(&report)),
            Format::Json => println!("{}", serde_json::to_string_pretty(&report)?),
            Format::Html => print!("{}", html::page(&report)),
        }
        Ok(Exit::Success)
    }

    async fn compare(&self, directory: &Path) -> anyhow::Result<Report> {
        let users = self.users.unwrap_or(USERS_DEFAULT);
        let physical_partitions = self.physical_partitions.unwrap_or(PHYSICAL_PARTITIONS_DEFAULT);
        let workload = Workload::new(
            Dataset::new(users, self.rng_seed, DEFAULT_END_MS).with_texts(Texts::Long),
            self.samples as usize,
        );
        let (mut rows, mut studied) = (Vec::new(), Studied::default());
        let mut bar = Bar::new();
        for model in DataModel::ALL {
            let config = EmbeddedConfig {
                physical_partitions: Some(physical_partitions),
                ..EmbeddedConfig::new(directory.join(format!("{model:?}").to_lowercase()))
            };
            let measured = measure(model, config, &workload, &mut bar).await?;
            rows.extend(measured.rows);
            studied = measured.studied.unwrap_or(studied);
        }
        bar.clear();
        // As in the article's table: by request, then by data model.
        rows.sort_by_key(|row| ArticleRequest::ALL.iter().position(|request| *request == row.request));
        let rates = self.traffic.rates();
        Ok(Report {
            partitions: PartitionReport::of(&studied.survey, &studied.footprints, rates, &rows),
            traffic: self.traffic.of(&rows),
            rows,
            users,
            rng_seed: self.rng_seed,
            samples: workload.samples,
            physical_partitions: u32::from(physical_partitions),
            charge_source: ChargeSource::Estimated,
        })
    }
}

impl TrafficSettings {
    /// `None` where no traffic is given.
    fn rates(&self) -> Option<Vec<Rate>> {
        let given = (!self.rates.is_empty()).then(|| self.rates.clone());
        self.reads_per_write.map(even_rates).or(given)
    }

    fn of(&self, rows: &[Row]) -> Option<Traffic> {
        Some(Traffic::of(rows, self.rates()?, self.price_per_100_ru))
    }
}

/// What was found in one database.
struct Measured {
    rows: Vec<Row>,
    /// Of V3's database, which has every container; `None` for the others.
    studied: Option<Studied>,
}

/// Makes the database of a data model, runs the workload on it, and closes it.
async fn measure(
    model: DataModel,
    config: EmbeddedConfig,
    workload: &Workload,
    bar: &mut Bar,
) -> anyhow::Result<Measured> {
    // What hashing a password takes is no part of what a data model costs.
    let options = AppOptions { hashing: HashingCost::CHEAP, ..AppOptions::default() };
    let app = App::open_with(&StoreChoice::Embedded(config), options).await?;
    let measured = measure_on(&app, model, workload, bar).await;
    app.close().await;
    measured
}

async fn measure_on(
    app: &App,
    model: DataModel,
    workload: &Workload,
    bar: &mut Bar,
) -> anyhow::Result<Measured> {
    let hash = app.passwords.hash(Password::parse(DEMO_PASSWORD)?).await?;
    let seeder = Seeder {
        store: Arc::clone(&app.store),
        dataset: workload.dataset,
        demo_password_hash: hash.to_stored(),
    };
    let step = format!("{model:?}: writing");
    seeder
        .run(|SeedProgress { done, total }| {
            bar.show(&Progress { step: step.clone(), done, total: Some(total) });
        })
        .await?;
    if model == DataModel::V3 {
        bar.show(&Progress { step: format!("{model:?}: making the copies"), done: 0, total: None });
        app.processor.drain().await?;
        app.processor.release().await;
    }
    let database = Database {
        model,
        reads: app.reads.clone(),
        writes: writes_of(app, model),
        follower: follower(app, model, Metered::new(Arc::clone(&app.store))).await?,
    };
    let (step, total, mut done) = (format!("{model:?}: measuring"), workload.requests(model), 0);
    let rows = workload
        .run(&database, || {
            done += 1;
            bar.show(&Progress { step: step.clone(), done, total: Some(total) });
        })
        .await?;
    if let Some(follower) = database.follower {
        follower.processor.release().await;
    }
    let studied = match model {
        DataModel::V3 => {
            bar.show(&Progress { step: format!("{model:?}: its logical partitions"), done: 0, total: None });
            Some(study(app, workload).await?)
        }
        DataModel::V1 | DataModel::V2 => None,
    };
    Ok(Measured { rows, studied })
}

fn writes_of(app: &App, model: DataModel) -> WritePath {
    let plain = || Plain { store: Arc::clone(&app.store), clock: Arc::clone(&app.clock) };
    match model {
        DataModel::V1 => WritePath::SingleItems(plain()),
        DataModel::V2 => WritePath::Batches(plain()),
        DataModel::V3 => WritePath::Commands(Box::new(app.commands.clone())),
    }
}

/// What follows the writes of a data model: nothing in V1, the usernames in V2, everything in V3.
async fn follower(app: &App, model: DataModel, store: Metered) -> anyhow::Result<Option<Follower>> {
    let projections: Vec<Arc<dyn Projection>> = match model {
        DataModel::V1 => return Ok(None),
        DataModel::V2 => vec![Arc::new(Usernames)],
        DataModel::V3 => projections::all(),
    };
    let store = Arc::new(store);
    let settings = Settings::new(Member::alone().owner).without_delays();
    let port: Arc<dyn Store> = Arc::clone(&store) as _;
    let stop = CancellationToken::new();
    let processor = Processor::open(port, Arc::clone(&app.clock), projections, settings, stop).await?;
    Ok(Some(Follower { processor, store }))
}

/// A finite number that is not negative.
fn non_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err(format!("{text:?} is not a number of at least 0")),
    }
}
