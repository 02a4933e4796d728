//! `onehop seed`: writes the article's data set at any size.

use clap::Args;
use serde::Deserialize;

use super::Exit;
use super::progress::perform;
use crate::blog::study::dataset::{DEFAULT_RNG_SEED, Texts};
use crate::config::StoreSettings;
use crate::operations;

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
        required_unless_present = "customers"
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
}
