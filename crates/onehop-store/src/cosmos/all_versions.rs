//! The change feed of all versions and deletes: every version of an item, and its deletion. It begins now,
//! and reaches back no further than the account's continuous backup, or the container's retention.

use azure_data_cosmos::CosmosError;
use azure_data_cosmos::feed::{FeedPage, FeedScope};
use azure_data_cosmos::models::ChangeFeedItem;
use azure_data_cosmos::options::{ChangeFeedMode, ChangeFeedOptions, ChangeFeedStartFrom};
use futures::StreamExt;
use futures::stream::BoxStream;
use serde_json::{Map, Value};

use super::CosmosStore;
use super::error_mapping::{OperationContext, fault_of};
use super::service_response::{charge_of, charge_of_error};
use crate::{ContainerName, Fault, FaultKind, Ledger, OperationKind, RequestCharge};

/// A reader of every version of the items of a container, from its opening on.
pub struct AllVersionsFeed<'a> {
    store: &'a CosmosStore,
    container: ContainerName,
    /// The number of changes of each page, and its charge.
    pages: BoxStream<'static, Result<(usize, RequestCharge), CosmosError>>,
}

impl CosmosStore {
    /// Opens the change feed of all versions and deletes at its end.
    ///
    /// # Errors
    /// The account or the container does not keep all versions; a fault of the store.
    pub async fn all_versions(
        &self,
        container: ContainerName,
        ledger: &Ledger,
    ) -> Result<AllVersionsFeed<'_>, Fault> {
        let client = &self.container(container)?.client;
        let options = ChangeFeedOptions::default()
            .with_operation_options(self.read_options(ledger))
            .with_mode(ChangeFeedMode::AllVersionsAndDeletes);
        let scope = FeedScope::full_container();
        let opened = client
            .query_change_feed::<Map<String, Value>>(scope, ChangeFeedStartFrom::Now, Some(options))
            .await;
        let pages = opened.map_err(|error| fault_of(error, OperationContext::Reading))?;
        let read = |page: Result<FeedPage<ChangeFeedItem<Map<String, Value>>>, CosmosError>| {
            page.map(|page| (page.items().len(), charge_of(&page.diagnostics())))
        };
        Ok(AllVersionsFeed { store: self, container, pages: pages.map(read).boxed() })
    }
}

impl AllVersionsFeed<'_> {
    /// Reads the next page, and returns the number of its changes. An empty page is no end: physical
    /// partitions are asked in turn.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn next_page(&mut self, ledger: &Ledger) -> Result<usize, Fault> {
        let container = self.store.container(self.container)?;
        let page = self.pages.next().await;
        let page = page.ok_or_else(|| Fault::new(FaultKind::Unavailable, "the change feed broke off"))?;
        let (changes, charge) = match &page {
            Ok((changes, charge)) => (*changes, *charge),
            Err(error) => (0, charge_of_error(error)),
        };
        ledger.record(container.record(OperationKind::ChangeFeed, changes, charge, 1));
        page.map(|(changes, _)| changes).map_err(|error| fault_of(error, OperationContext::Reading))
    }
}
