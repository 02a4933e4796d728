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
    /// Users to create, each with 5 to 50 posts; each post gets up to 25 comments and up to 100 likes
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_USERS",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    users: u32,

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

impl Seed {
    pub async fn run(self) -> anyhow::Result<Exit> {
        let operation = operations::seeding(self.users, self.rng_seed, self.texts);
        let outcome: SeedOutcome = perform(&self.store, operation).await?;
        println!("{} items written and projected in {:.1} s", outcome.items, outcome.seconds);
        println!("sign in as {} with the password {}", outcome.demo_users.join(", "), outcome.demo_password);
        Ok(Exit::Success)
    }
}
