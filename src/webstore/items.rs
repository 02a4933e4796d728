//! The items as they are stored: the article's fields in camelCase, plus `version`, which grows with each
//! change of an item, and `deleted` with `ttl` (seconds) for soft deletes. A version that a projection wrote
//! has `causedBy`, which commands neither read nor keep (`onehop_change_feed::Cause`). Money is stored in
//! minor units with a currency code.
//!
//! `sortKey` is the text by which queries order items of `customer` and `ranking`: the date of an order, and
//! the number of orders of a customer, in ten digits.
//!
//! Source: "Data modeling and partitioning for relational workloads", its final design.

use onehop_read_models::Padding;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::ids::{CategoryId, CustomerId, ProductId, SalesOrderId, TagId};
use crate::domain::money::{CurrencyCode, Money};

/// The values of `type`.
pub mod types {
    pub const CUSTOMER: &str = "customer";
    pub const SALES_ORDER: &str = "salesOrder";
    pub const PRODUCT: &str = "product";
    pub const CATEGORY: &str = "category";
    pub const TAG: &str = "tag";
    /// The reservation of an e-mail address.
    pub const EMAIL_ADDRESS: &str = "emailAddress";
    /// The reservation of an SKU.
    pub const SKU: &str = "sku";
}

/// Time to live of a soft-deleted item, in seconds: 30 days, within which every projection has to have seen
/// it.
pub const TOMBSTONE_TTL_S: u32 = 30 * 24 * 60 * 60;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// A category or a tag, in `productMeta` under its type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MetaItem {
    /// The id of a category or of a tag, by `type`.
    pub id: Uuid,
    #[serde(rename = "type")]
    pub item_type: String,
    pub name: String,
    pub version: u64,
}

/// A product, in `product` under its category, with copies of the names of the category and of the tags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProductItem {
    pub id: ProductId,
    #[serde(rename = "type")]
    pub item_type: String,
    pub category_id: CategoryId,
    pub category_name: String,
    pub sku: String,
    pub name: String,
    pub description: String,
    /// In minor units of the currency.
    pub price: i64,
    pub currency_code: CurrencyCode,
    /// Whether the product is out of stock.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_sold_out: bool,
    pub tags: Vec<TagCopy>,
    pub version: u64,
    #[serde(default, skip_serializing_if = "is_false")]
    pub deleted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u32>,
}

impl ProductItem {
    /// The price with its currency.
    #[must_use]
    pub fn money(&self) -> Money {
        Money { minor_units: self.price, currency: self.currency_code.clone() }
    }
}

/// A tag of a product, with a copy of its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagCopy {
    pub id: TagId,
    pub name: String,
}

/// A customer, in `customer` under its own id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomerItem {
    pub id: CustomerId,
    #[serde(rename = "type")]
    pub item_type: String,
    pub customer_id: CustomerId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub first_name: String,
    pub last_name: String,
    pub email_address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<String>,
    /// RFC 3339 in UTC with milliseconds.
    pub creation_date: String,
    pub addresses: Vec<AddressItem>,
    /// A password that an earlier version stored here. Today's are in `accounts`, and this one is moved
    /// there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<PasswordItem>,
    pub sales_order_count: u32,
    pub sort_key: String,
    pub version: u64,
}

/// A postal address of a customer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddressItem {
    pub address_line1: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address_line2: Option<String>,
    pub city: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    pub country: String,
    pub zip_code: String,
}

/// The password with which a customer signed in under an earlier version. The salt is part of the hash.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasswordItem {
    /// A PHC string.
    pub hash: String,
}

impl std::fmt::Debug for PasswordItem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PasswordItem(..)")
    }
}

/// A sales order with its lines, in `customer` under its customer. Names and prices were copied at the moment
/// of the order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SalesOrderItem {
    pub id: SalesOrderId,
    #[serde(rename = "type")]
    pub item_type: String,
    pub customer_id: CustomerId,
    /// RFC 3339 in UTC with milliseconds.
    pub order_date: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ship_date: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_date: Option<String>,
    /// Where the order goes; orders of earlier releases have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_address: Option<AddressItem>,
    pub details: Vec<OrderLineItem>,
    pub currency_code: CurrencyCode,
    /// In minor units of the currency.
    pub total: i64,
    pub sort_key: String,
    pub version: u64,
    /// A hash of the lines and of the address as they were ordered, where the order was created with an
    /// idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub deleted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u32>,
}

/// A line of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderLineItem {
    pub sku: String,
    pub name: String,
    /// Of one, in minor units of the order's currency.
    pub price: i64,
    pub quantity: u32,
}

/// The reservation of an e-mail address, in `accounts` under a hash of the address with a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmailReservationItem {
    pub id: String,
    #[serde(rename = "type")]
    pub item_type: String,
    pub customer_id: CustomerId,
    /// A hash of the idempotency key of the sign-up that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key_hash: Option<String>,
}

/// Blocks the id of a sign-up that was given up, in `customer` under that id. No customer ever follows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AbandonedCustomerItem {
    pub id: CustomerId,
    #[serde(rename = "type")]
    pub item_type: String,
    pub customer_id: CustomerId,
    pub ttl: u32,
}

/// The reservation of an SKU, in `accounts` under a hash of the SKU with a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkuReservationItem {
    pub id: String,
    #[serde(rename = "type")]
    pub item_type: String,
    pub category_id: CategoryId,
    pub product_id: ProductId,
}

/// Blocks the id of a product whose creation was given up, in `product` under that id. No product ever
/// follows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AbandonedProductItem {
    pub id: ProductId,
    #[serde(rename = "type")]
    pub item_type: String,
    pub category_id: CategoryId,
    pub ttl: u32,
}

/// The `sortKey` of a customer, by its number of orders.
pub const RANK_KEY: Padding = Padding { digits: 10 };

/// The `sortKey` of a customer with this many orders.
#[must_use]
pub fn rank_key(sales_order_count: u64) -> String {
    RANK_KEY.of(sales_order_count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_hash_is_shown() {
        let password = PasswordItem { hash: "$argon2id$secret".to_owned() };
        assert!(!format!("{password:?}").contains("secret"));
    }
}
