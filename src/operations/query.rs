//! Queries of the operations API.

use async_graphql::{Context, ID, Object, Result};

use super::context::{context, ledger};
use super::dead_letters::{DeadLetter, DeadLetterList};
use super::errors::{FIRST_MAX, failure};
use super::partitions::ContainerPartitions;
use super::projections::ProjectionStatus;

/// Complexity of a field that reads the store.
pub(super) const STORE_READ_COMPLEXITY: usize = 500;

/// The server's work beside answering requests.
pub struct OperationsQuery;

/// The server's work beside answering requests.
#[Object(name = "Query")]
impl OperationsQuery {
    /// The status of each change feed projection.
    #[graphql(complexity = "STORE_READ_COMPLEXITY + 10 * child_complexity")]
    async fn projections(&self, ctx: &Context<'_>) -> Result<Vec<ProjectionStatus>> {
        let operations = context(ctx);
        let status = operations.app.processor.processor_status_for(&ledger(ctx)).await;
        Ok(ProjectionStatus::all_of(status.map_err(|fault| failure(operations.audience, fault))?))
    }

    /// The load of this process on logical partitions, for each container.
    #[graphql(complexity = "10 * child_complexity")]
    async fn partitions(&self, ctx: &Context<'_>) -> Vec<ContainerPartitions> {
        let app = &context(ctx).app;
        let loads = app.partition_loads.containers(FIRST_MAX).into_iter();
        loads
            .map(|load| ContainerPartitions::of(&load, app.store.physical_partitions(load.container)))
            .collect()
    }

    /// The dead letters: changes that could not be projected, and the changes that wait behind them.
    #[graphql(complexity = "STORE_READ_COMPLEXITY + 1_000 * child_complexity")]
    async fn dead_letters(&self, ctx: &Context<'_>) -> Result<DeadLetterList> {
        let operations = context(ctx);
        let list = operations.app.processor.dead_letters_for(&ledger(ctx)).await;
        let list = list.map_err(|error| failure(operations.audience, error))?;
        Ok(DeadLetterList::of(list, operations.audience))
    }

    /// One dead letter with the items that wait. An error if there is no such dead letter.
    #[graphql(complexity = "STORE_READ_COMPLEXITY + 400 * child_complexity")]
    async fn dead_letter(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The id, as `deadLetters` has it.")] id: ID,
    ) -> Result<DeadLetter> {
        let operations = context(ctx);
        let letter = operations.app.processor.dead_letter_for(&id, &ledger(ctx)).await;
        let letter = letter.map_err(|error| failure(operations.audience, error))?;
        Ok(DeadLetter::of(letter, operations.audience))
    }
}
