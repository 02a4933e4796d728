//! The read side of the web store, its final data model (V4): each question is one operation on one logical
//! partition, but for [`WebstoreReads::top_customers_across_partitions`], which is there to be compared.
//! Deleted items are absent from every answer.

mod stored;
mod views;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::containers::CUSTOMER;
use super::ids::{CategoryId, CustomerId, ProductId, SalesOrderId, TagId};
use super::items::{SkuReservationItem, types};
use crate::domain::page::{Page, PageRequest};
use crate::domain::search::{LOOKED_AT_MAX, SearchWords};
use onehop_store::{Direction, Fault, FaultKind, Item, Ledger, Query, QueryPage, ShapeError, Store};

use stored::StoredWebstoreReads;
pub use views::{
    AddressView, CategoryView, CustomerView, OrderLineView, PRODUCTS_OF_CATEGORY, PRODUCTS_OF_TAG,
    ProductView, RANKED_CUSTOMERS, SALES_ORDERS, SalesOrderView, TagView,
};

/// The products of one query of a search.
const SEARCH_PAGE: i64 = 100;

/// The questions that clients ask. Every method returns a [`Fault`] when the store does not answer, or when
/// an item is damaged.
#[derive(Clone)]
pub struct WebstoreReads {
    stored: StoredWebstoreReads,
}

impl WebstoreReads {
    /// Reads from this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { stored: StoredWebstoreReads::new(store) }
    }

    /// All categories, by name.
    pub async fn categories(&self, ledger: &Ledger) -> Result<Vec<CategoryView>, Fault> {
        decode_all(&self.stored.categories(ledger).await?)
    }

    /// All tags, by name.
    pub async fn tags(&self, ledger: &Ledger) -> Result<Vec<TagView>, Fault> {
        decode_all(&self.stored.tags(ledger).await?)
    }

    /// A category.
    pub async fn category(&self, id: CategoryId, ledger: &Ledger) -> Result<Option<CategoryView>, Fault> {
        decode_found(self.stored.category(id, ledger).await?, types::CATEGORY)
    }

    /// A tag.
    pub async fn tag(&self, id: TagId, ledger: &Ledger) -> Result<Option<TagView>, Fault> {
        decode_found(self.stored.tag(id, ledger).await?, types::TAG)
    }

    /// A product.
    pub async fn product(
        &self,
        category: CategoryId,
        id: ProductId,
        ledger: &Ledger,
    ) -> Result<Option<ProductView>, Fault> {
        decode_found(self.stored.product(category, id, ledger).await?, types::PRODUCT)
    }

    /// The product that has an SKU, in any case.
    pub async fn product_by_sku(&self, sku: &str, ledger: &Ledger) -> Result<Option<ProductView>, Fault> {
        let Some(reservation) = self.stored.sku_reservation(sku, ledger).await? else { return Ok(None) };
        let SkuReservationItem { category_id, product_id, .. } = reservation.decode()?;
        let product = self.product(category_id, product_id, ledger).await?;
        // A reservation may have outlived a crash.
        Ok(product.filter(|product| product.sku.to_lowercase() == sku.to_lowercase()))
    }

    /// The products of a category, by name.
    pub async fn products_of_category(
        &self,
        category: CategoryId,
        page: &PageRequest,
        ledger: &Ledger,
    ) -> Result<Page<ProductView>, Fault> {
        Page::decode(&self.stored.products_of_category(category, page, ledger).await?, Item::decode)
    }

    /// The products with a tag, by name.
    pub async fn products_of_tag(
        &self,
        tag: TagId,
        page: &PageRequest,
        ledger: &Ledger,
    ) -> Result<Page<ProductView>, Fault> {
        Page::decode(&self.stored.products_of_tag(tag, page, ledger).await?, Item::decode)
    }

    /// The products with all words in their names, by name. It looks at [`LOOKED_AT_MAX`] products at most,
    /// category after category: a query in the logical partition of each.
    pub async fn search_products(
        &self,
        words: &SearchWords,
        page: &PageRequest,
        ledger: &Ledger,
    ) -> Result<Vec<ProductView>, Fault> {
        let mut found = Vec::new();
        let mut looked_at = 0;
        for category in self.categories(ledger).await? {
            let mut next = PageRequest::new(SEARCH_PAGE, None);
            while let Some(request) = next.take().filter(|_| looked_at < LOOKED_AT_MAX) {
                let products = self.products_of_category(category.id, &request, ledger).await?;
                looked_at += products.items.len();
                let last = products.items.last().filter(|_| products.has_next).map(ProductView::keyset);
                next = last.and_then(|last| PageRequest::new(SEARCH_PAGE, Some(last)));
                found.extend(products.items.into_iter().filter(|product| words.are_in(&product.name)));
            }
        }
        found.sort_by(|one, other| (&one.name, one.id).cmp(&(&other.name, other.id)));
        found.truncate(page.first());
        Ok(found)
    }

    /// A customer.
    pub async fn customer(&self, id: CustomerId, ledger: &Ledger) -> Result<Option<CustomerView>, Fault> {
        decode_found(self.stored.customer(id, ledger).await?, types::CUSTOMER)
    }

    /// An order of a customer.
    pub async fn sales_order(
        &self,
        customer: CustomerId,
        id: SalesOrderId,
        ledger: &Ledger,
    ) -> Result<Option<SalesOrderView>, Fault> {
        decode_found(self.stored.sales_order(customer, id, ledger).await?, types::SALES_ORDER)
    }

    /// A customer's orders, newest first.
    pub async fn sales_orders(
        &self,
        customer: CustomerId,
        page: &PageRequest,
        ledger: &Ledger,
    ) -> Result<Page<SalesOrderView>, Fault> {
        Page::decode(&self.stored.sales_orders(customer, page, ledger).await?, Item::decode)
    }

    /// The customers with most orders, from their short copies.
    pub async fn top_customers(
        &self,
        page: &PageRequest,
        ledger: &Ledger,
    ) -> Result<Page<CustomerView>, Fault> {
        Page::decode(&self.stored.top_customers(page, ledger).await?, Item::decode)
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
            order_by: None,
            direction: Direction::NewestFirst,
        };
        decode_all(&self.stored.store.query(&query, ledger).await?)
    }
}

impl std::fmt::Debug for WebstoreReads {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("WebstoreReads").finish_non_exhaustive()
    }
}

/// The result of a point read, if it is of a type and not deleted.
fn decode_found<T: DeserializeOwned>(item: Option<Item>, item_type: &str) -> Result<Option<T>, Fault> {
    let Some(item) = item else { return Ok(None) };
    let header: Header = item.decode()?;
    if header.deleted || header.item_type != item_type {
        return Ok(None);
    }
    item.decode().map(Some)
}

/// The view of an item with this body.
///
/// # Errors
/// A fault of kind [`FaultKind::Corrupt`] when the body is not a `T`.
pub fn view_of<T: DeserializeOwned>(body: &Map<String, Value>) -> Result<T, Fault> {
    T::deserialize(body).map_err(|error| {
        Fault::new(FaultKind::Corrupt, "an item's body has an unexpected shape")
            .with_source(ShapeError::from(error))
    })
}

fn decode_all<T: DeserializeOwned>(page: &QueryPage) -> Result<Vec<T>, Fault> {
    page.items.iter().map(Item::decode).collect()
}

/// The header of an item from a point read: a container may hold several types under ids that clients name,
/// and deleted items.
#[derive(serde::Deserialize)]
struct Header {
    #[serde(rename = "type")]
    item_type: String,
    #[serde(default)]
    deleted: bool,
}
