//! Mutations of the operations API. Each answers when its work is done; the work ends early when its client
//! disconnects.

use std::fmt::Display;
use std::path::PathBuf;

use async_graphql::{Context, Error, ID, Object, Result};

use super::audience::Audience;
use super::context::context;
use super::errors::failure;
use super::outcomes::{
    BackupOutcome, CheckOutcome, RebuildOutcome, ReplayOutcome, SeedTexts, Seeding, Verification,
    WebstoreSeeding,
};
use super::scalars::Count;
use crate::app::demo_users::lock_demo_accounts;
use crate::blog::study::dataset::{DEFAULT_END_MS, Dataset};
use crate::webstore::dataset::WebstoreDataset;

/// Users that one seeding makes at most.
const SEED_USERS_MAX: u32 = 1_000_000;

/// Maintenance work on the data.
pub struct OperationsMutation;

/// Maintenance work on the data.
#[Object(name = "Mutation")]
impl OperationsMutation {
    /// Recomputes every count, copy, summary and reservation from the write side, and reports each drift.
    async fn verify(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Whether drifts are repaired, and all is verified again.", default = false)] repair: bool,
        #[graphql(desc = "The name under which `progress` reports this work; any text of the client.")]
        work: Option<ID>,
    ) -> Result<Verification> {
        let operations = context(ctx);
        let progress = operations.progress.work(work);
        let report = operations.domain.verify(repair, progress.sink()).await;
        report.map(Into::into).map_err(refused)
    }

    /// Fills read models again from the beginning of the change feed. The old copies stay readable meanwhile.
    async fn rebuild(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The projection whose read model is filled; all of them without it.")]
        read_model: Option<String>,
        #[graphql(desc = "The name under which `progress` reports this work; any text of the client.")]
        work: Option<ID>,
    ) -> Result<RebuildOutcome> {
        let operations = context(ctx);
        let progress = operations.progress.work(work);
        let rebuilt = operations.engine().rebuild(read_model, progress.sink()).await;
        rebuilt.map(Into::into).map_err(refused)
    }

    /// Projects dead letters again.
    async fn replay(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The projection whose dead letters are projected; all of them without it.")]
        read_model: Option<String>,
    ) -> Result<ReplayOutcome> {
        let replayed = context(ctx).engine().replay(read_model).await;
        replayed.map(Into::into).map_err(refused)
    }

    /// Projects one dead letter again, with the others of its logical partition.
    async fn replay_dead_letter(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The id, as `deadLetters` has it.")] id: ID,
    ) -> Result<ReplayOutcome> {
        let replayed = context(ctx).engine().processor.replay_dead_letter(&id).await;
        replayed.map(Into::into).map_err(refused)
    }

    /// Copies the data directory at this moment, while it is written to.
    async fn backup(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The absolute path of the directory for the copy; missing or empty.")]
        directory: String,
        #[graphql(desc = "The absolute path of an earlier backup, whose unchanged files are linked.")]
        after: Option<String>,
        #[graphql(desc = "The name under which `progress` reports this work; any text of the client.")]
        work: Option<ID>,
    ) -> Result<BackupOutcome> {
        let operations = context(ctx);
        let progress = operations.progress.work(work);
        let going = progress.sink().while_wanted("copying bytes");
        let after = after.map(PathBuf::from);
        let note = operations.engine().backup(&PathBuf::from(directory), after.as_deref(), going).await;
        note.map(Into::into).map_err(refused)
    }

    /// Checks the integrity of the data directory, while it is written to.
    async fn check(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The name under which `progress` reports this work; any text of the client.")]
        work: Option<ID>,
    ) -> Result<CheckOutcome> {
        let operations = context(ctx);
        let progress = operations.progress.work(work);
        let found = operations.engine().check(progress.sink().while_wanted("checking")).await;
        found.map(Into::into).map_err(refused)
    }

    /// Takes the published password from the demo users; answers their usernames.
    async fn lock_demo_users(&self, ctx: &Context<'_>) -> Result<Vec<String>> {
        let app = context(ctx).domain.built_in().map_err(refused)?;
        lock_demo_accounts(app).await.map_err(refused)
    }

    /// Writes the article's data set, and waits for the read models. Refused where the server runs with
    /// --production.
    async fn seed(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Users to make, 1 to 1,000,000.")] users: u32,
        #[graphql(desc = "Seed of the random numbers.")] rng_seed: Count,
        #[graphql(desc = "The length of the texts.", default_with = "SeedTexts::Short")] texts: SeedTexts,
        #[graphql(desc = "Whether posts have tags.", default = false)] tags: bool,
        #[graphql(desc = "The name under which `progress` reports this work; any text of the client.")]
        work: Option<ID>,
    ) -> Result<Seeding> {
        let operations = context(ctx);
        let app = operations.domain.built_in().map_err(refused)?;
        let reason = match users {
            _ if !operations.allows_demo => {
                Some("the server runs with --production: seeding would make users with a published password")
            }
            1..=SEED_USERS_MAX => None,
            _ => Some("users: must be 1 to 1,000,000"),
        };
        if let Some(reason) = reason {
            return Err(refused(reason));
        }
        let progress = operations.progress.work(work);
        let dataset =
            Dataset::new(users, rng_seed.0, DEFAULT_END_MS).with_texts(texts.into()).with_tags(tags);
        let seeded = app.seed(dataset, progress.sink()).await;
        seeded.map(Into::into).map_err(refused)
    }

    /// Writes a data set of the web store, and waits for the read models. Refused where the server runs
    /// with --production.
    async fn seed_webstore(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Customers to make, 1 to 1,000,000.")] customers: u32,
        #[graphql(desc = "Seed of the random numbers.")] rng_seed: Count,
        #[graphql(desc = "The name under which `progress` reports this work; any text of the client.")]
        work: Option<ID>,
    ) -> Result<WebstoreSeeding> {
        let operations = context(ctx);
        let app = operations.domain.built_in().map_err(refused)?;
        if !operations.allows_demo {
            let reason = "the server runs with --production, and the data set is for demonstrations";
            return Err(refused(reason));
        }
        if !(1..=SEED_USERS_MAX).contains(&customers) {
            return Err(refused("customers: must be 1 to 1,000,000"));
        }
        let progress = operations.progress.work(work);
        let dataset = WebstoreDataset::new(customers, rng_seed.0, DEFAULT_END_MS);
        let seeded = app.seed_webstore(dataset, progress.sink()).await;
        seeded.map(Into::into).map_err(refused)
    }
}

/// The reason, which the operator reads.
fn refused(reason: impl Display) -> Error {
    failure(Audience::Operator, reason)
}
