//! Ids of customers, orders, products, categories and tags: UUIDv7, save an order's that was created with an
//! idempotency key. That is derived from customer and key, so that a repeat is a conflict.

use uuid::Uuid;

use crate::accounts::account_id::AccountId;
use crate::domain::ids::id;

id!(
    /// A customer's id.
    CustomerId
);
id!(
    /// A sales order's id.
    SalesOrderId
);
id!(
    /// A product's id.
    ProductId
);
id!(
    /// A category's id.
    CategoryId
);
id!(
    /// A tag's id.
    TagId
);

/// The kinds of global ids: the first byte of the id of each type.
pub mod kinds {
    /// A customer.
    pub const CUSTOMER: u8 = b'C';
    /// A sales order.
    pub const SALES_ORDER: u8 = b'O';
    /// A product.
    pub const PRODUCT: u8 = b'P';
    /// A category.
    pub const PRODUCT_CATEGORY: u8 = b'G';
    /// A tag.
    pub const PRODUCT_TAG: u8 = b'T';
}

impl From<CustomerId> for AccountId {
    fn from(id: CustomerId) -> Self {
        Self::customer(id.0)
    }
}

impl SalesOrderId {
    /// The id of the order that a customer creates with an idempotency key: a UUIDv5 of the key in the
    /// namespace of the customer.
    #[must_use]
    pub fn derive(customer: CustomerId, key: &str) -> Self {
        Self(Uuid::new_v5(&customer.0, key.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_for_one_order_of_each_customer() {
        let (one, other) = (CustomerId(Uuid::from_u128(1)), CustomerId(Uuid::from_u128(2)));
        assert_eq!(SalesOrderId::derive(one, "k"), SalesOrderId::derive(one, "k"));
        assert_ne!(SalesOrderId::derive(one, "k"), SalesOrderId::derive(other, "k"));
        assert_ne!(SalesOrderId::derive(one, "k"), SalesOrderId::derive(one, "l"));
    }
}
