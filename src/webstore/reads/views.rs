//! Views: the answers of reads. Views are decoded from stored items; fields of an item that no answer shows,
//! such as the password, are skipped. They know nothing of how they were found.

use onehop_store::Keyset;
use serde::Deserialize;

use crate::domain::cursor::{self, ListKind};
use crate::domain::money::{CurrencyCode, Money};
use crate::webstore::ids::{CategoryId, CustomerId, ProductId, SalesOrderId, TagId};
use crate::webstore::items::{CustomerItem, MetaItem, OrderLineItem, ProductItem, SalesOrderItem, TagCopy};

/// The products of a category, by name.
pub const PRODUCTS_OF_CATEGORY: ListKind = ListKind::by_text(4);
/// The products with a tag, by name.
pub const PRODUCTS_OF_TAG: ListKind = ListKind::by_text(8);
/// The list of a customer's orders, by date.
pub const SALES_ORDERS: ListKind = ListKind::by_date(5);
/// The list of the customers with most orders.
pub const RANKED_CUSTOMERS: ListKind = ListKind::by_text(6);

/// A category.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CategoryView {
    pub id: CategoryId,
    pub name: String,
}

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TagView {
    pub id: TagId,
    pub name: String,
}

impl From<TagCopy> for TagView {
    fn from(TagCopy { id, name }: TagCopy) -> Self {
        Self { id, name }
    }
}

/// A product, from its item or from a short copy of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProductView {
    pub id: ProductId,
    pub category_id: CategoryId,
    pub category_name: String,
    pub sku: String,
    pub name: String,
    /// `None` in a short copy.
    #[serde(default)]
    pub description: Option<String>,
    price: i64,
    currency_code: CurrencyCode,
    /// Whether the product is out of stock.
    #[serde(default)]
    pub is_sold_out: bool,
    pub tags: Vec<TagView>,
}

impl ProductView {
    /// Where this product stands in a list by name.
    #[must_use]
    pub fn keyset(&self) -> Keyset {
        cursor::keyset(&self.name, self.id.0)
    }

    /// The price with its currency.
    #[must_use]
    pub fn money(&self) -> Money {
        Money { minor_units: self.price, currency: self.currency_code.clone() }
    }
}

impl From<ProductItem> for ProductView {
    fn from(item: ProductItem) -> Self {
        Self {
            id: item.id,
            category_id: item.category_id,
            category_name: item.category_name,
            sku: item.sku,
            name: item.name,
            description: Some(item.description),
            price: item.price,
            currency_code: item.currency_code,
            is_sold_out: item.is_sold_out,
            tags: item.tags.into_iter().map(Into::into).collect(),
        }
    }
}

/// A customer, from its item or from a short copy of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomerView {
    pub id: CustomerId,
    #[serde(default)]
    pub title: Option<String>,
    pub first_name: String,
    pub last_name: String,
    pub email_address: String,
    #[serde(default)]
    pub phone_number: Option<String>,
    pub creation_date: String,
    /// `None` in a short copy.
    #[serde(default)]
    pub addresses: Option<Vec<AddressView>>,
    pub sales_order_count: u32,
    /// Where the customer stands in the ranking.
    pub sort_key: String,
}

impl From<CustomerItem> for CustomerView {
    fn from(item: CustomerItem) -> Self {
        Self {
            id: item.id,
            title: item.title,
            first_name: item.first_name,
            last_name: item.last_name,
            email_address: item.email_address,
            phone_number: item.phone_number,
            creation_date: item.creation_date,
            addresses: Some(item.addresses),
            sales_order_count: item.sales_order_count,
            sort_key: item.sort_key,
        }
    }
}

/// A postal address of a customer.
pub type AddressView = crate::webstore::items::AddressItem;

/// A sales order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SalesOrderView {
    pub id: SalesOrderId,
    pub customer_id: CustomerId,
    pub order_date: String,
    #[serde(default)]
    pub ship_date: Option<String>,
    #[serde(default)]
    pub cancel_date: Option<String>,
    #[serde(default)]
    pub shipping_address: Option<AddressView>,
    details: Vec<OrderLineItem>,
    currency_code: CurrencyCode,
    total: i64,
}

/// A line of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderLineView {
    pub sku: String,
    pub name: String,
    /// Of one.
    pub price: Money,
    pub quantity: u32,
    /// Of all of them.
    pub total: Money,
}

impl SalesOrderView {
    /// The sum of the lines.
    #[must_use]
    pub fn total(&self) -> Money {
        self.money(self.total)
    }

    /// The lines, as they were ordered.
    #[must_use]
    pub fn lines(&self) -> Vec<OrderLineView> {
        let lines = self.details.iter().map(|line| OrderLineView {
            sku: line.sku.clone(),
            name: line.name.clone(),
            price: self.money(line.price),
            quantity: line.quantity,
            // The order was accepted with this total.
            total: self.money(line.price.saturating_mul(i64::from(line.quantity))),
        });
        lines.collect()
    }

    fn money(&self, minor_units: i64) -> Money {
        Money { minor_units, currency: self.currency_code.clone() }
    }
}

impl From<SalesOrderItem> for SalesOrderView {
    fn from(item: SalesOrderItem) -> Self {
        Self {
            id: item.id,
            customer_id: item.customer_id,
            order_date: item.order_date,
            ship_date: item.ship_date,
            cancel_date: item.cancel_date,
            shipping_address: item.shipping_address,
            details: item.details,
            currency_code: item.currency_code,
            total: item.total,
        }
    }
}

impl From<MetaItem> for CategoryView {
    fn from(MetaItem { id, name, .. }: MetaItem) -> Self {
        Self { id: CategoryId(id), name }
    }
}

impl From<MetaItem> for TagView {
    fn from(MetaItem { id, name, .. }: MetaItem) -> Self {
        Self { id: TagId(id), name }
    }
}
