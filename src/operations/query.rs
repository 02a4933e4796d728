//! Queries of the operations API.

use async_graphql::{Context, ID, Object, Result};

use super::browse::{ITEMS_MAX, browse_failure, browsed, page_items, prediction_failure, reads, type_of};
use super::context::{audience, context, ledger};
use super::dead_letters::{DeadLetter, DeadLetterList};
use super::diagnosis::Diagnosis;
use super::errors::{FIRST_MAX, failure};
use super::model::ModelDescription;
use super::partitions::ContainerPartitions;
use super::projections::ProjectionStatus;
use super::read_model_rules::PredictedCharge;
use super::stored_items::{StoredItem, StoredItemPage};
use crate::served::BrowsedList;

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
        let status = operations.engine().processor.processor_status_for(&ledger(ctx)).await;
        Ok(ProjectionStatus::all_of(status.map_err(|fault| failure(audience(ctx), fault))?))
    }

    /// The load of this process on logical partitions, for each container.
    #[graphql(complexity = "10 * child_complexity")]
    async fn partitions(&self, ctx: &Context<'_>) -> Vec<ContainerPartitions> {
        let engine = context(ctx).engine();
        let loads = engine.partition_loads.containers(FIRST_MAX).into_iter();
        loads
            .map(|load| ContainerPartitions::of(&load, engine.store.physical_partitions(load.container)))
            .collect()
    }

    /// The dead letters: changes that could not be projected, and the changes that wait behind them.
    #[graphql(complexity = "STORE_READ_COMPLEXITY + 1_000 * child_complexity")]
    async fn dead_letters(&self, ctx: &Context<'_>) -> Result<DeadLetterList> {
        let operations = context(ctx);
        let list = operations.engine().processor.dead_letters_for(&ledger(ctx)).await;
        let list = list.map_err(|error| failure(audience(ctx), error))?;
        Ok(DeadLetterList::of(list, audience(ctx)))
    }

    /// One dead letter with the items that wait. An error if there is no such dead letter.
    #[graphql(complexity = "STORE_READ_COMPLEXITY + 400 * child_complexity")]
    async fn dead_letter(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The id, as `deadLetters` has it.")] id: ID,
    ) -> Result<DeadLetter> {
        let operations = context(ctx);
        let letter = operations.engine().processor.dead_letter_for(&id, &ledger(ctx)).await;
        let letter = letter.map_err(|error| failure(audience(ctx), error))?;
        Ok(DeadLetter::of(letter, audience(ctx)))
    }

    /// The state of the process, for `onehop diagnose`. The socket alone serves it.
    async fn diagnosis(&self, ctx: &Context<'_>) -> Result<Diagnosis> {
        match &context(ctx).sources {
            Some(sources) => Ok(Diagnosis::of(sources).await),
            None => Err("the socket of a server alone serves a diagnosis".into()),
        }
    }

    /// The served model: its containers, types, lists and read models. On the public listener it needs the
    /// operator key, as all queries below do.
    #[graphql(complexity = "500 + 20 * child_complexity")]
    async fn model(&self, ctx: &Context<'_>) -> Result<ModelDescription> {
        Ok(ModelDescription::of(&browsed(ctx)?.model))
    }

    /// The stored items of a type, without deleted ones, in the order of their last writes within each
    /// physical partition. An item that is written meanwhile may come twice; none is missed.
    #[graphql(complexity = "STORE_READ_COMPLEXITY + first.clamp(1, ITEMS_MAX) as usize * child_complexity")]
    async fn items(
        &self,
        ctx: &Context<'_>,
        #[graphql(name = "type", desc = "The name of the type.")] type_name: String,
        #[graphql(desc = "The number of items, 1 to 50.", default = 20)] first: i32,
        #[graphql(desc = "The position after which the page begins: `end` of the page before.")]
        after: Option<String>,
    ) -> Result<StoredItemPage> {
        let domain = browsed(ctx)?;
        let (ty, range) = (type_of(domain, &type_name)?, (page_items(first)?, after.as_deref()));
        let page = reads(domain).browse_items(ty, range, &ledger(ctx)).await;
        Ok(StoredItemPage::of(&domain.model, page.map_err(|error| browse_failure(ctx, error))?))
    }

    /// One stored item; null where it is absent or deleted.
    #[graphql(complexity = "STORE_READ_COMPLEXITY + child_complexity")]
    async fn item(
        &self,
        ctx: &Context<'_>,
        #[graphql(name = "type", desc = "The name of the type.")] type_name: String,
        #[graphql(desc = "The values of the partition key; several of a hierarchical key.")]
        partition_key: Vec<String>,
        #[graphql(desc = "The id within the logical partition.")] id: String,
    ) -> Result<Option<StoredItem>> {
        let domain = browsed(ctx)?;
        let ty = type_of(domain, &type_name)?;
        let item = reads(domain).browse_item(ty, (&partition_key, &id), &ledger(ctx)).await;
        let item = item.map_err(|error| browse_failure(ctx, error))?;
        Ok(item.map(|item| StoredItem::of(&domain.model, item)))
    }

    /// The entries of a list, as the API shows them: of the item with this partition key and id, or of a list
    /// of `Query`.
    #[graphql(complexity = "STORE_READ_COMPLEXITY + first.clamp(1, ITEMS_MAX) as usize * child_complexity")]
    async fn entries(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The list, as `Type.field` or `Query.field`.")] list: String,
        #[graphql(desc = "The values of the owner's partition key.")] partition_key: Option<Vec<String>>,
        #[graphql(desc = "The owner's id within its logical partition.")] id: Option<String>,
        #[graphql(desc = "The number of entries, 1 to 50.", default = 20)] first: i32,
        #[graphql(desc = "The position after which the page begins: `end` of the page before.")]
        after: Option<String>,
    ) -> Result<StoredItemPage> {
        let domain = browsed(ctx)?;
        let owner = partition_key.as_deref().zip(id.as_deref());
        let (of, range) = (BrowsedList { list: &list, owner }, (page_items(first)?, after.as_deref()));
        let page = reads(domain).browse_list(of, range, &ledger(ctx)).await;
        Ok(StoredItemPage::of(&domain.model, page.map_err(|error| browse_failure(ctx, error))?))
    }

    /// The predicted request charge of each kind of change that the read models see. It reads all items, one
    /// such query at a time, and is refused where there are more than 20,000.
    #[graphql(complexity = "2 * STORE_READ_COMPLEXITY + 50 * child_complexity")]
    async fn predicted_charges(&self, ctx: &Context<'_>) -> Result<Vec<PredictedCharge>> {
        let domain = browsed(ctx)?;
        let predicted = domain.predicted_costs(&ledger(ctx)).await;
        let predicted = predicted.map_err(|error| prediction_failure(ctx, error))?;
        Ok(predicted.into_iter().map(PredictedCharge::from).collect())
    }
}
