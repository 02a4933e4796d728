//! `onehop compare`: measures each data model on the article's data set at any size.

mod database;
mod model_follower;
mod settings;
mod survey;
mod write_path;

use anyhow::Context;
use clap::{Args, ValueEnum};

use super::Exit;
use super::progress::Bar;
use crate::app::comparison::Databases;
use crate::app::container_specs;
use crate::blog::reads::DataModel;
use crate::blog::study::dataset::{DEFAULT_END_MS, Dataset, Texts};
use crate::blog::study::measure::Workload;
use crate::blog::study::report::{self, StudyFindings};
use crate::config::{Environment, StoreKind};
use database::{Measured, Measuring};
use onehop_study::render;
use onehop_study::report::{KnownPartitions, StudyReport};
use settings::{PlaceSettings, SizeSettings, TrafficSettings};

pub(super) use settings::IndexingSetting;

/// The directory within `--data` that this command creates.
const DIRECTORY: &str = "compare";

const ON_AN_ACCOUNT: &str = "With --store cosmos an account is measured, which needs one of its keys and \
    costs money. \
    The comparison makes three databases, named after --cosmos-database with -v1, -v2 and -v3; it refuses \
    one that \
    exists already, and leaves the configured one alone. Each user of the data set takes about 55,000 RU, \
    the three \
    databases together. They remain, and their throughput is billed by the hour, until they are deleted, \
    which --drop \
    does. Without --throughput-autoscale-max or --throughput-manual, an account that is not serverless \
    gives each of \
    their 18 containers the least there is, 400 RU/s.";

/// The format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Table for a terminal
    Table,
    /// Tables in Markdown
    Markdown,
    /// One line of Markdown for each request
    Summary,
    /// JSON, with the fields of docs/comparison-json.md
    Json,
    /// One HTML file with charts, plans and sortable tables; it needs no other file
    Html,
}

/// Arguments of `onehop compare`.
#[derive(Debug, Args)]
#[command(after_long_help = ON_AN_ACCOUNT)]
pub struct Compare {
    /// Format of the report
    #[arg(long, value_enum, env = "ONEHOP_FORMAT", default_value = "table")]
    format: Format,

    #[command(flatten)]
    size: SizeSettings,
    #[command(flatten)]
    place: PlaceSettings,
    #[command(flatten)]
    traffic: TrafficSettings,
}

impl Compare {
    pub async fn run(self) -> anyhow::Result<Exit> {
        let environment = Environment::of_process();
        self.place.check(&environment)?;
        let report = match self.place.store {
            StoreKind::Embedded => self.compare_embedded().await?,
            StoreKind::Cosmos => self.compare_account(&environment).await?,
        };
        match self.format {
            Format::Table => print!("{}", render::table(&report)),
            Format::Markdown => print!("{}", render::markdown(&report)),
            Format::Summary => print!("{}", render::summary(&report)),
            Format::Json => println!("{}", serde_json::to_string_pretty(&report::json(&report)?)?),
            Format::Html => print!("{}", render::page(&report)),
        }
        Ok(Exit::Success)
    }

    async fn compare_embedded(&self) -> anyhow::Result<StudyReport> {
        let temporary;
        let parent = match &self.place.data {
            Some(directory) => directory.as_path(),
            None => {
                temporary = temporary_directory()?;
                temporary.path()
            }
        };
        let directory = parent.join(DIRECTORY);
        anyhow::ensure!(
            !directory.exists(),
            "--data: {} exists already, and a comparison creates it: remove it, or name another directory",
            directory.display()
        );
        let physical_partitions = self.place.physical_partitions();
        let (indexing, calibration) = (self.place.indexing(), self.place.calibration());
        let mut databases = Databases::in_directory(&directory, physical_partitions, indexing, calibration);
        self.compare(&mut databases).await
    }

    async fn compare_account(&self, environment: &Environment) -> anyhow::Result<StudyReport> {
        let PlaceSettings { cosmos, throughput, .. } = &self.place;
        let (account, indexing) = (cosmos.adapter(environment)?, self.place.indexing());
        let throughput = throughput.wanted(container_specs().len())?;
        let mut databases = Databases::in_account(account, throughput, indexing).await?;
        let report = self.compare(&mut databases).await;
        let left = databases.left_in_account();
        if !left.is_empty() {
            eprintln!("left in the account until they are deleted: {}", left.join(", "));
        }
        report
    }

    async fn compare(&self, databases: &mut Databases) -> anyhow::Result<StudyReport> {
        let SizeSettings { rng_seed, samples, .. } = self.size;
        let users = self.size.users();
        let dataset = Dataset::new(users, rng_seed, DEFAULT_END_MS).with_texts(Texts::Long);
        let workload = Workload::new(dataset, samples as usize);
        let (mut rows, mut concurrent) = (Vec::new(), Vec::new());
        let (mut surveyed, mut physical_partitions) = (Vec::new(), 0);
        let mut bar = Bar::new();
        for model in DataModel::ALL {
            let measured = self.measure(model, databases, &workload, &mut bar).await?;
            rows.extend(measured.rows);
            concurrent.extend(measured.concurrent);
            surveyed.extend(measured.surveyed);
            physical_partitions = physical_partitions.max(measured.physical_partitions);
        }
        bar.clear();
        let findings = StudyFindings {
            rows,
            concurrent,
            surveyed,
            users,
            rng_seed,
            samples: workload.samples,
            physical_partitions,
            known_partitions: self.known_partitions(),
            indexing: self.place.indexing(),
            calibration: self.place.calibration(),
            account: databases.account(),
            rates: self.traffic.rates(),
            provisioning: self.traffic.provisioning(),
        };
        Ok(findings.report())
    }

    fn known_partitions(&self) -> KnownPartitions {
        match self.place.store {
            StoreKind::Cosmos => KnownPartitions::OfAccount,
            StoreKind::Embedded if self.place.as_the_article => KnownPartitions::AsTheArticle,
            StoreKind::Embedded => KnownPartitions::Derived,
        }
    }

    /// Measures one data model, with estimates beside the charges and the database deleted afterwards if that
    /// is wanted.
    async fn measure(
        &self,
        model: DataModel,
        databases: &mut Databases,
        workload: &Workload,
        bar: &mut Bar,
    ) -> anyhow::Result<Measured> {
        let measured = Measuring { model, workload, with_survey: true }.run(databases, bar).await;
        let deleted = if self.place.deletes() { databases.delete(model).await } else { Ok(()) };
        let mut measured = measured?;
        deleted?;
        if self.place.estimate_error {
            let temporary = temporary_directory()?;
            // The same, with as many physical partitions; more than the embedded store models are refused
            // there.
            let physical_partitions = u16::try_from(measured.physical_partitions).unwrap_or(u16::MAX);
            let (indexing, calibration) = (self.place.indexing(), self.place.calibration());
            let mut databases =
                Databases::in_directory(temporary.path(), physical_partitions, indexing, calibration);
            let estimated = Measuring { model, workload, with_survey: false }.run(&mut databases, bar).await;
            let estimated = estimated.context("--estimate-error")?;
            measured.rows.iter_mut().for_each(|row| row.put_beside(&estimated.rows));
        }
        Ok(measured)
    }
}

fn temporary_directory() -> anyhow::Result<tempfile::TempDir> {
    tempfile::tempdir().context("no temporary directory can be created")
}
