//! `onehop charges measure`: measures an account's request charges, and writes them as a ledger with a
//! report.

mod all_versions;
mod application;
mod bodies;
mod case;
mod containers;
mod feed;
mod items;
mod report;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use clap::Args;
use clap::builder::BoolishValueParser;

use self::all_versions::AllVersions;
use self::application::ApplicationRun;
use self::case::Cases;
use self::containers::CONTAINERS;
use crate::accounts::password::HashingCost;
use crate::app::provisioning::require_key;
use crate::app::{App, AppOptions, Member, OpenStore, container_specs};
use crate::cli::{Exit, output};
use crate::config::{CalibrationSettings, CosmosSettings, Environment, ThroughputSettings};
use onehop_runtime::clock::{Clock, SystemClock};
use onehop_store::charges::Calibration;
use onehop_store::cosmos::provision::{self, DesiredState};
use onehop_store::cosmos::{self, CosmosStore, client_of};
use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore};
use onehop_store::{ContainerSpec, Indexing, RequestCharge};

/// The ending of the database's name.
const DATABASE_ENDING: &str = "charges";
const LEDGER_FILE: &str = "ledger.jsonl";
const REPORT_FILE: &str = "report.md";

const ON_AN_ACCOUNT: &str = "It makes one database, named after --cosmos-database with -charges, and refuses one that exists \
    already. The database remains, and its throughput is billed by the hour, until it is deleted, which --drop does. Needed \
    is a key of the account. The change feed of all versions and deletes is measured where the account keeps it.";

/// Arguments of `onehop charges measure`.
#[derive(Debug, Args)]
#[command(after_long_help = ON_AN_ACCOUNT)]
pub(super) struct Measure {
    /// Confirmation: without it, the budget is printed and nothing is measured
    #[arg(long, env = "ONEHOP_YES", value_parser = BoolishValueParser::new())]
    yes: bool,

    /// Directory for ledger.jsonl and report.md, which are replaced
    #[arg(long, value_name = "DIRECTORY", env = "ONEHOP_DIRECTORY", default_value = "account-run")]
    directory: PathBuf,

    /// Clean-up: delete the database in the end, also after a failure
    #[arg(long, env = "ONEHOP_DROP", value_parser = BoolishValueParser::new())]
    drop: bool,

    #[command(flatten)]
    calibration: CalibrationSettings,
    #[command(flatten)]
    cosmos: CosmosSettings,
    #[command(flatten)]
    throughput: ThroughputSettings,
}

/// The expected charges of a measurement.
struct Budget {
    /// Cases by their operation.
    operations: BTreeMap<&'static str, (usize, RequestCharge)>,
    application: ApplicationRun,
    total: RequestCharge,
}

/// The measured charges.
struct Measurement {
    cases: Cases,
    /// The cases, a line for each.
    ledger: String,
    application: ApplicationRun,
    /// `None` for a store that has no such feed.
    all_versions: Option<AllVersions>,
}

impl Measurement {
    /// Measures everything on an empty store.
    async fn of(open: &OpenStore, member: Member) -> anyhow::Result<Self> {
        // The cost of hashing a password is no request charge.
        let options = AppOptions { hashing: HashingCost::CHEAP, ..AppOptions::default() };
        let mut cases = Cases::new(SystemClock.now_ms());
        let app = App::over(open, member, options).await?;
        let measured = Self::run(open, &app, &mut cases).await;
        app.close().await;
        let (application, all_versions) = measured?;
        let lines: Result<Vec<_>, _> = cases.measured.iter().map(serde_json::to_string).collect();
        let ledger = lines?.iter().fold(String::new(), |text, line| text + line + "\n");
        Ok(Self { cases, ledger, application, all_versions })
    }

    async fn run(
        open: &OpenStore,
        app: &App,
        cases: &mut Cases,
    ) -> anyhow::Result<(ApplicationRun, Option<AllVersions>)> {
        items::measure(&*app.store, cases).await?;
        feed::measure(&*app.recent, cases).await?;
        let all_versions = match open {
            OpenStore::Cosmos(store) => Some(all_versions::measure(store, cases).await?),
            OpenStore::Embedded(_) | OpenStore::Shared { .. } => None,
        };
        Ok((application::measure(app).await?, all_versions))
    }

    fn total(&self) -> RequestCharge {
        self.cases.total + self.application.total()
    }
}

impl Budget {
    /// Runs the measurement on an embedded store, which estimates each charge.
    async fn estimated(calibration: Arc<Calibration>) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir().context("no temporary directory")?;
        let config = EmbeddedConfig {
            physical_partitions: Some(1),
            // No container indexes more.
            indexing: Indexing::All,
            calibration,
            ..EmbeddedConfig::new(directory.path().join("estimate"))
        };
        let store = EmbeddedStore::open_with(&config, &specs(), Arc::new(SystemClock))?;
        let estimated = Measurement::of(&OpenStore::Embedded(Arc::new(store)), Member::alone()).await?;
        let mut operations = BTreeMap::<_, (usize, RequestCharge)>::new();
        for case in &estimated.cases.measured {
            let (number, charge) = operations.entry(case.operation).or_default();
            *number += 1;
            *charge = *charge + RequestCharge(case.charge);
        }
        let total = estimated.total();
        Ok(Self { operations, application: estimated.application, total })
    }

    fn text(&self) -> String {
        let mut text = format!(
            "Budget: about {:.0} RU, estimated by the same run on the embedded store.\n",
            self.total.0
        );
        for (operation, (number, charge)) in &self.operations {
            let _ = writeln!(text, "  {number:>4} {operation:<12} {:>8.0} RU", charge.0);
        }
        for task in &self.application.charges {
            let _ = writeln!(text, "  {:>26.0} RU  {}", task.charge.0, task.task);
        }
        text.push_str("The throughput of the database is billed by the hour, whatever is measured.\n");
        text
    }
}

fn specs() -> Vec<ContainerSpec> {
    [container_specs(), CONTAINERS.map(|(spec, _)| spec).to_vec()].concat()
}

impl Measure {
    pub(super) async fn run(self) -> anyhow::Result<Exit> {
        let calibration = self.calibration.calibration();
        let mut account = self.cosmos.adapter(&Environment::of_process())?;
        require_key(&account)?;
        account.database = format!("{}-{DATABASE_ENDING}", account.database);
        let budget = Budget::estimated(Arc::clone(&calibration)).await?;
        output::write(&budget.text())?;
        if !self.yes {
            output::write("Nothing was measured: --yes goes on.\n")?;
            return Ok(Exit::Success);
        }
        std::fs::create_dir_all(&self.directory)
            .with_context(|| format!("{} cannot be created", self.directory.display()))?;
        let measurement = self.measure(&account).await?;
        let place = account.endpoint.trim_end_matches('/');
        let report = report::report(&measurement, &budget, place, &calibration)?;
        write(&self.directory, LEDGER_FILE, &measurement.ledger)?;
        write(&self.directory, REPORT_FILE, &report)?;
        let (charged, directory) = (measurement.total().0, self.directory.display());
        output::write(&format!(
            "Charged: {charged:.0} RU. {directory}/{LEDGER_FILE} and {directory}/{REPORT_FILE} are written.\n"
        ))?;
        ensure!(
            measurement.application.drifts == 0,
            "verification found {} drifts after the kills",
            measurement.application.drifts
        );
        Ok(Exit::Success)
    }

    /// Makes the database, measures, and deletes the database again where that is wanted.
    async fn measure(&self, account: &cosmos::CosmosSettings) -> anyhow::Result<Measurement> {
        // A fault's text holds its causes.
        let client = client_of(account).await.map_err(|fault| anyhow::anyhow!("{fault}"))?;
        let database = &account.database;
        let exists = provision::has_database(&client, database).await;
        ensure!(
            !exists.with_context(|| format!("the databases of {} cannot be listed", account.endpoint))?,
            "the database {database:?} exists already, and a measurement makes its own: delete it, or name another one \
             with --cosmos-database"
        );
        let measured = self.measure_in(&client, account).await;
        if self.drop && provision::has_database(&client, database).await? {
            provision::delete_database(&client, database).await?;
        }
        measured
    }

    async fn measure_in(
        &self,
        client: &azure_data_cosmos::CosmosClient,
        account: &cosmos::CosmosSettings,
    ) -> anyhow::Result<Measurement> {
        let (database, specs) = (&account.database, specs());
        let throughput = self.throughput.wanted(specs.len())?;
        let mut wanted = DesiredState::new(database, &container_specs(), Indexing::Needed, throughput);
        let definitions = CONTAINERS.iter().map(|(spec, indexing)| provision::definition(spec, *indexing));
        wanted.containers.extend(definitions);
        for step in &wanted.everything().steps {
            provision::apply(client, database, step).await?;
        }
        let store = CosmosStore::with_client(
            client.clone(),
            database,
            &specs,
            account.consistency,
            account.retry_policy,
        )
        .await
        .map_err(|fault| anyhow::anyhow!("the database {database:?} cannot be opened: {fault}"))?;
        Measurement::of(&OpenStore::Cosmos(Arc::new(store)), Member::alone()).await
    }
}

fn write(directory: &Path, file: &str, text: &str) -> anyhow::Result<()> {
    let path = directory.join(file);
    std::fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))
}
