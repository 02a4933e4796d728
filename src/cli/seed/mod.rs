//! `onehop seed`: writes the article's data set at any size, or sample data of any model.

mod rows;
mod values;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use self::rows::SampleRows;
use super::Exit;
use super::import::{ImportOutcome, import_directory};
use super::model::open_served;
use super::progress::perform;
use crate::app::ServedApp;
use crate::blog::study::dataset::{DEFAULT_RNG_SEED, Texts};
use crate::config::StoreSettings;
use crate::operations;
use crate::served::import::TypeReport;

/// The accounts of a model that get a password: its hash takes a tenth of a second.
const ACCOUNTS_WITH_PASSWORD: usize = 3;
/// The random bytes of that password.
const PASSWORD_BYTES: usize = 12;

/// Arguments of `onehop seed`.
#[derive(Debug, Args)]
pub struct Seed {
    /// Domain of the data set
    #[arg(long, value_enum, env = "ONEHOP_DOMAIN", default_value = "blog")]
    domain: SeedDomain,

    /// Users of the blog to create, each with 5 to 50 posts; each post gets up to 25 comments and up to 100
    /// likes
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_USERS",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000),
        required_unless_present_any = ["customers", "model"]
    )]
    users: Option<u32>,

    /// Customers of the web store to create, each with 1 to 28 orders; products and tags grow with them
    /// [default: as many as users]
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_CUSTOMERS",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    customers: Option<u32>,

    /// Seed of the random number generator. The same seed makes the same data set, to the byte
    #[arg(long, value_name = "NUMBER", env = "ONEHOP_RNG_SEED", default_value_t = DEFAULT_RNG_SEED)]
    rng_seed: u64,

    /// Model file: write sample data of its types. No server may run on the data directory
    #[arg(
        long,
        value_name = "FILE",
        env = "ONEHOP_MODEL",
        requires = "items",
        conflicts_with_all = ["domain", "users", "customers", "texts"]
    )]
    model: Option<PathBuf>,

    /// Items of each type of the model without references; types that refer to others have five times as
    /// many
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_ITEMS",
        value_parser = clap::value_parser!(u64).range(1..=10_000_000),
        requires = "model"
    )]
    items: Option<u64>,

    /// Length of the texts
    #[arg(long, value_enum, env = "ONEHOP_TEXTS", default_value = "short")]
    texts: Texts,

    #[command(flatten)]
    store: StoreSettings,
}

/// The outcome of seeding.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeedOutcome {
    pub items: u64,
    pub seconds: f64,
    pub demo_users: Vec<String>,
    pub demo_password: String,
}

/// The domains that have data sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SeedDomain {
    /// The blog
    Blog,
    /// The web store
    Webstore,
    /// Both
    All,
}

/// The outcome of seeding the web store.
#[derive(Debug, Deserialize)]
pub struct WebstoreSeedOutcome {
    pub items: u64,
    pub seconds: f64,
}

impl Seed {
    pub async fn run(self) -> anyhow::Result<Exit> {
        if let (Some(model), Some(items)) = (&self.model, self.items) {
            return self.seed_model(model, items).await;
        }
        if self.domain != SeedDomain::Webstore {
            let Some(users) = self.users else { anyhow::bail!("--users is needed for the blog") };
            let operation = operations::seeding(users, self.rng_seed, self.texts, false);
            let outcome: SeedOutcome = perform(&self.store, None, operation).await?;
            let SeedOutcome { items, seconds, demo_users, demo_password } = outcome;
            println!("{items} items written and projected in {seconds:.1} s");
            println!("sign in as {} with the password {demo_password}", demo_users.join(", "));
        }
        if self.domain != SeedDomain::Blog
            && let Some(customers) = self.customers.or(self.users)
        {
            let operation = operations::webstore_seeding(customers, self.rng_seed);
            let outcome: WebstoreSeedOutcome = perform(&self.store, None, operation).await?;
            let WebstoreSeedOutcome { items, seconds } = outcome;
            println!("{items} items of the web store written and projected in {seconds:.1} s");
        }
        Ok(Exit::Success)
    }

    /// Writes rows of the types of a model into files, and imports these.
    async fn seed_model(&self, file: &Path, items: u64) -> anyhow::Result<Exit> {
        let app = open_served(file, &self.store).await?;
        let seeded = self.seed_app(&app, items).await;
        app.engine.close().await;
        seeded
    }

    async fn seed_app(&self, app: &ServedApp, items: u64) -> anyhow::Result<Exit> {
        let model = app.model.model();
        let rows = SampleRows::new(model, items, self.rng_seed);
        let directory = tempfile::tempdir().context("a directory for the rows cannot be made")?;
        let password = random_password()?;
        let mut logins = Vec::new();
        for item in model.items() {
            let path = directory.path().join(format!("{}.jsonl", item.name));
            let mut output = BufWriter::new(File::create(path)?);
            for mut row in rows.of(item) {
                if let Some(login) = item.login.as_ref().filter(|_| logins.len() < ACCOUNTS_WITH_PASSWORD)
                    && let Some(login) = row.get(&**login).and_then(Value::as_str)
                {
                    logins.push(login.to_owned());
                    row.insert("password".to_owned(), json!(password));
                }
                serde_json::to_writer(&mut output, &row)?;
                output.write_all(b"\n")?;
            }
            output.flush()?;
        }
        let ImportOutcome { exit, reports } = import_directory(app, directory.path(), None).await?;
        let accounts = app.model.account().map(|account| app.model.ty(account).name);
        let is_new = |(name, report): &(&str, TypeReport)| Some(*name) == accounts && report.existed == 0;
        if !logins.is_empty() && reports.iter().any(is_new) {
            println!("new accounts sign in as {} with the password {password}", logins.join(", "));
        }
        Ok(exit)
    }
}

/// A password that no other data have.
fn random_password() -> anyhow::Result<String> {
    let mut bytes = [0; PASSWORD_BYTES];
    getrandom::fill(&mut bytes).context("the system has no random numbers")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
