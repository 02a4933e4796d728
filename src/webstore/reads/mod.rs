//! The read side of the web store, its final data model (V4): each question is one operation on one logical partition, but for
//! [`WebstoreReads::top_customers_across_partitions`], which is there to be compared. What was deleted is absent from every answer.

mod views;

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::containers::{CUSTOMER, PRODUCT, PRODUCT_BY_TAG, PRODUCT_META, RANKING, RANKING_PARTITION};
use super::ids::{CategoryId, CustomerId, ProductId, SalesOrderId, TagId};
use super::items::types;
use crate::domain::page::{Page, PageRequest};
use onehop_store::{ContainerName, Direction, Fault, Item, Ledger, PartitionKey, Query, Store, limits};

pub use views::{
    AddressView, CategoryView, CustomerView, OrderLineView, PRODUCTS, ProductView, RANKED_CUSTOMERS,
    SALES_ORDERS, SalesOrderView, TagView,
};

/// The questions that clients ask. Every method returns a [`Fault`] when the store does not answer, or when an item is not what was
/// once written.
#[derive(Clone)]
pub struct WebstoreReads {
    store: Arc<dyn Store>,
}

impl WebstoreReads {
    /// Reads from this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// All categories, by name.
    pub async fn categories(&self, ledger: &Ledger) -> Result<Vec<CategoryView>, Fault> {
        self.lookup_list(types::CATEGORY, ledger).await
    }

    /// All tags, by name.
    pub async fn tags(&self, ledger: &Ledger) -> Result<Vec<TagView>, Fault> {
        self.lookup_list(types::TAG, ledger).await
    }

    /// A category.
    pub async fn category(&self, id: CategoryId, ledger: &Ledger) -> Result<Option<CategoryView>, Fault> {
        self.point(
            (PRODUCT_META, &PartitionKey::from(types::CATEGORY)),
            types::CATEGORY,
            &id.to_string(),
            ledger,
        )
        .await
    }

    /// A tag.
    pub async fn tag(&self, id: TagId, ledger: &Ledger) -> Result<Option<TagView>, Fault> {
        self.point((PRODUCT_META, &PartitionKey::from(types::TAG)), types::TAG, &id.to_string(), ledger).await
    }

    /// A product.
    pub async fn product(
        &self,
        category: CategoryId,
        id: ProductId,
        ledger: &Ledger,
    ) -> Result<Option<ProductView>, Fault> {
        self.point((PRODUCT, &category.partition_key()), types::PRODUCT, &id.to_string(), ledger).await
    }

    /// The products of a category, by name.
    pub async fn products_of_category(
        &self,
        category: CategoryId,
        page: &PageRequest,
        ledger: &Ledger,
    ) -> Result<Page<ProductView>, Fault> {
        let list = List::new(PRODUCT, category.partition_key(), types::PRODUCT, Direction::OldestFirst);
        self.list(&list, page, ledger).await
    }

    /// The products with a tag, by name.
    pub async fn products_of_tag(
        &self,
        tag: TagId,
        page: &PageRequest,
        ledger: &Ledger,
    ) -> Result<Page<ProductView>, Fault> {
        let list = List::new(PRODUCT_BY_TAG, tag.partition_key(), types::PRODUCT, Direction::OldestFirst);
        self.list(&list, page, ledger).await
    }

    /// A customer.
    pub async fn customer(&self, id: CustomerId, ledger: &Ledger) -> Result<Option<CustomerView>, Fault> {
        self.point((CUSTOMER, &id.partition_key()), types::CUSTOMER, &id.to_string(), ledger).await
    }

    /// An order of a customer.
    pub async fn sales_order(
        &self,
        customer: CustomerId,
        id: SalesOrderId,
        ledger: &Ledger,
    ) -> Result<Option<SalesOrderView>, Fault> {
        self.point((CUSTOMER, &customer.partition_key()), types::SALES_ORDER, &id.to_string(), ledger).await
    }

    /// A customer's orders, newest first.
    pub async fn sales_orders(
        &self,
        customer: CustomerId,
        page: &PageRequest,
        ledger: &Ledger,
    ) -> Result<Page<SalesOrderView>, Fault> {
        let list = List::new(CUSTOMER, customer.partition_key(), types::SALES_ORDER, Direction::NewestFirst);
        self.list(&list, page, ledger).await
    }

    /// The customers with most orders, from their short copies.
    pub async fn top_customers(
        &self,
        page: &PageRequest,
        ledger: &Ledger,
    ) -> Result<Page<CustomerView>, Fault> {
        let key = PartitionKey::from(RANKING_PARTITION);
        let list = List::new(RANKING, key, types::CUSTOMER, Direction::NewestFirst);
        self.list(&list, page, ledger).await
    }

    /// The customers with most orders, by a query of all partitions, as the article has it.
    pub async fn top_customers_across_partitions(
        &self,
        page: &PageRequest,
        ledger: &Ledger,
    ) -> Result<Vec<CustomerView>, Fault> {
        let query = Query::Newest {
            container: CUSTOMER,
            item_type: types::CUSTOMER,
            after: None,
            limit: page.first(),
        };
        self.store.query(&query, ledger).await?.items.iter().map(Item::decode).collect()
    }

    async fn point<T: DeserializeOwned>(
        &self,
        (container, partition_key): (ContainerName, &PartitionKey),
        item_type: &str,
        id: &str,
        ledger: &Ledger,
    ) -> Result<Option<T>, Fault> {
        let Some(item) = self.store.read(container, partition_key, id, ledger).await? else {
            return Ok(None);
        };
        let header: Header = item.decode()?;
        if header.deleted || header.item_type != item_type {
            return Ok(None);
        }
        item.decode().map(Some)
    }

    async fn list<T: DeserializeOwned>(
        &self,
        list: &List,
        page: &PageRequest,
        ledger: &Ledger,
    ) -> Result<Page<T>, Fault> {
        let query = Query::Partition {
            container: list.container,
            partition_key: &list.partition_key,
            item_type: list.item_type,
            direction: list.direction,
            after: page.after(),
            limit: page.first(),
        };
        Page::decode(&self.store.query(&query, ledger).await?, Item::decode)
    }

    async fn lookup_list<T: DeserializeOwned>(
        &self,
        item_type: &'static str,
        ledger: &Ledger,
    ) -> Result<Vec<T>, Fault> {
        let query = Query::Partition {
            container: PRODUCT_META,
            partition_key: &PartitionKey::from(item_type),
            item_type,
            direction: Direction::OldestFirst,
            after: None,
            limit: limits::PAGE_ITEMS_MAX,
        };
        self.store.query(&query, ledger).await?.items.iter().map(Item::decode).collect()
    }
}

impl std::fmt::Debug for WebstoreReads {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("WebstoreReads").finish_non_exhaustive()
    }
}

/// A list: the items of a type in one logical partition, in an order.
struct List {
    container: ContainerName,
    partition_key: PartitionKey,
    item_type: &'static str,
    direction: Direction,
}

impl List {
    fn new(
        container: ContainerName,
        partition_key: PartitionKey,
        item_type: &'static str,
        direction: Direction,
    ) -> Self {
        Self { container, partition_key, item_type, direction }
    }
}

/// What a point read found: a container may hold several types under ids that clients name, and what was deleted.
#[derive(serde::Deserialize)]
struct Header {
    #[serde(rename = "type")]
    item_type: String,
    #[serde(default)]
    deleted: bool,
}
