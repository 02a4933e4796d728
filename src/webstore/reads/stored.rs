//! Stored reads: the one-hop questions of the web store, answered with the stored items.
//!
//! [`WebstoreReads`](super::WebstoreReads) decodes their results, so that both ways to an answer ask the
//! store the same and are charged the same. Nothing here looks into an item: whether it is deleted, the
//! reader of the item finds out.

use std::sync::Arc;

use crate::domain::containers::ACCOUNTS;
use crate::domain::page::PageRequest;
use crate::webstore::commands::skus::sku_reservation_id;
use crate::webstore::containers::{
    CUSTOMER, PRODUCT, PRODUCT_BY_TAG, PRODUCT_META, RANKING, RANKING_PARTITION,
};
use crate::webstore::ids::{CategoryId, CustomerId, ProductId, SalesOrderId, TagId};
use crate::webstore::items::types;
use onehop_store::{
    ContainerName, Direction, Fault, Item, Ledger, PartitionKey, Query, QueryPage, Store, limits,
};

/// Reads of stored items, each one operation on one logical partition. Every method returns a [`Fault`] when
/// the store does not answer.
#[derive(Clone)]
pub struct StoredWebstoreReads {
    pub(super) store: Arc<dyn Store>,
}

impl StoredWebstoreReads {
    /// Reads from this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// All categories, by name.
    pub async fn categories(&self, ledger: &Ledger) -> Result<QueryPage, Fault> {
        self.lookup_list(types::CATEGORY, ledger).await
    }

    /// All tags, by name.
    pub async fn tags(&self, ledger: &Ledger) -> Result<QueryPage, Fault> {
        self.lookup_list(types::TAG, ledger).await
    }

    /// A category.
    pub async fn category(&self, id: CategoryId, ledger: &Ledger) -> Result<Option<Item>, Fault> {
        let key = PartitionKey::from(types::CATEGORY);
        self.store.read(PRODUCT_META, &key, &id.to_string(), ledger).await
    }

    /// A tag.
    pub async fn tag(&self, id: TagId, ledger: &Ledger) -> Result<Option<Item>, Fault> {
        let key = PartitionKey::from(types::TAG);
        self.store.read(PRODUCT_META, &key, &id.to_string(), ledger).await
    }

    /// A product.
    pub async fn product(
        &self,
        category: CategoryId,
        id: ProductId,
        ledger: &Ledger,
    ) -> Result<Option<Item>, Fault> {
        self.store.read(PRODUCT, &category.partition_key(), &id.to_string(), ledger).await
    }

    /// The reservation of an SKU.
    pub async fn sku_reservation(&self, sku: &str, ledger: &Ledger) -> Result<Option<Item>, Fault> {
        let id = sku_reservation_id(sku);
        self.store.read(ACCOUNTS, &PartitionKey::from(id.as_str()), &id, ledger).await
    }

    /// The products of a category, by name.
    pub async fn products_of_category(
        &self,
        category: CategoryId,
        page: &PageRequest,
        ledger: &Ledger,
    ) -> Result<QueryPage, Fault> {
        let list = (PRODUCT, types::PRODUCT, Direction::OldestFirst);
        self.list(list, &category.partition_key(), page, ledger).await
    }

    /// Short copies of the products with a tag, by name.
    pub async fn products_of_tag(
        &self,
        tag: TagId,
        page: &PageRequest,
        ledger: &Ledger,
    ) -> Result<QueryPage, Fault> {
        let list = (PRODUCT_BY_TAG, types::PRODUCT, Direction::OldestFirst);
        self.list(list, &tag.partition_key(), page, ledger).await
    }

    /// A customer.
    pub async fn customer(&self, id: CustomerId, ledger: &Ledger) -> Result<Option<Item>, Fault> {
        self.store.read(CUSTOMER, &id.partition_key(), &id.to_string(), ledger).await
    }

    /// An order of a customer.
    pub async fn sales_order(
        &self,
        customer: CustomerId,
        id: SalesOrderId,
        ledger: &Ledger,
    ) -> Result<Option<Item>, Fault> {
        self.store.read(CUSTOMER, &customer.partition_key(), &id.to_string(), ledger).await
    }

    /// A customer's orders, newest first.
    pub async fn sales_orders(
        &self,
        customer: CustomerId,
        page: &PageRequest,
        ledger: &Ledger,
    ) -> Result<QueryPage, Fault> {
        let list = (CUSTOMER, types::SALES_ORDER, Direction::NewestFirst);
        self.list(list, &customer.partition_key(), page, ledger).await
    }

    /// Short copies of the customers with most orders.
    pub async fn top_customers(&self, page: &PageRequest, ledger: &Ledger) -> Result<QueryPage, Fault> {
        let list = (RANKING, types::CUSTOMER, Direction::NewestFirst);
        self.list(list, &PartitionKey::from(RANKING_PARTITION), page, ledger).await
    }

    async fn list(
        &self,
        (container, item_type, direction): (ContainerName, &'static str, Direction),
        partition_key: &PartitionKey,
        page: &PageRequest,
        ledger: &Ledger,
    ) -> Result<QueryPage, Fault> {
        let (after, limit) = (page.after(), page.first());
        let query =
            Query::Partition { container, partition_key, item_type, direction, after, limit, order_by: None };
        self.store.query(&query, ledger).await
    }

    async fn lookup_list(&self, item_type: &'static str, ledger: &Ledger) -> Result<QueryPage, Fault> {
        let query = Query::Partition {
            container: PRODUCT_META,
            partition_key: &PartitionKey::from(item_type),
            item_type,
            direction: Direction::OldestFirst,
            after: None,
            limit: limits::PAGE_ITEMS_MAX,
            order_by: None,
        };
        self.store.query(&query, ledger).await
    }
}

impl std::fmt::Debug for StoredWebstoreReads {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StoredWebstoreReads").finish_non_exhaustive()
    }
}
