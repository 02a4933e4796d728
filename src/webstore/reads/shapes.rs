//! The shapes of stored items, as [`StoredShape`] finds their members for the views.

use crate::domain::stored_json::{StoredMember, StoredShape};

/// A category or a tag.
pub const META: StoredShape = StoredShape::of(&[
    StoredMember::id("id"),
    StoredMember::text("type"),
    StoredMember::text("name"),
    StoredMember::unread("version"),
    StoredMember::flag("deleted"),
]);

/// A product, or a short copy of one, which has no description.
pub const PRODUCT: StoredShape = StoredShape::of(&[
    StoredMember::id("id"),
    StoredMember::text("type"),
    StoredMember::id("categoryId"),
    StoredMember::text("categoryName"),
    StoredMember::text("sku"),
    StoredMember::text("name"),
    StoredMember::optional_text("description"),
    StoredMember::amount("price"),
    StoredMember::text("currencyCode"),
    StoredMember::objects("tags", &TAG_COPY),
    StoredMember::unread("version"),
    StoredMember::flag("deleted"),
]);

/// A tag of a product.
pub const TAG_COPY: StoredShape = StoredShape::of(&[StoredMember::id("id"), StoredMember::text("name")]);

/// A customer, or a short copy of one, which has no addresses.
pub const CUSTOMER: StoredShape = StoredShape::of(&[
    StoredMember::id("id"),
    StoredMember::text("type"),
    StoredMember::unread("customerId"),
    StoredMember::optional_text("title"),
    StoredMember::text("firstName"),
    StoredMember::text("lastName"),
    StoredMember::text("emailAddress"),
    StoredMember::optional_text("phoneNumber"),
    StoredMember::text("creationDate"),
    StoredMember::optional_objects("addresses", &ADDRESS),
    StoredMember::optional_object("password", &PASSWORD),
    StoredMember::count("salesOrderCount"),
    StoredMember::text("sortKey"),
    StoredMember::unread("version"),
    StoredMember::flag("deleted"),
]);

/// A postal address of a customer.
pub const ADDRESS: StoredShape = StoredShape::of(&[
    StoredMember::text("addressLine1"),
    StoredMember::optional_text("addressLine2"),
    StoredMember::text("city"),
    StoredMember::optional_text("state"),
    StoredMember::text("country"),
    StoredMember::text("zipCode"),
]);

/// The password of a customer, which no answer shows.
const PASSWORD: StoredShape = StoredShape::of(&[StoredMember::unread("hash")]);

/// A sales order.
pub const SALES_ORDER: StoredShape = StoredShape::of(&[
    StoredMember::id("id"),
    StoredMember::text("type"),
    StoredMember::id("customerId"),
    StoredMember::text("orderDate"),
    StoredMember::optional_text("shipDate"),
    StoredMember::objects("details", &ORDER_LINE),
    StoredMember::text("currencyCode"),
    StoredMember::amount("total"),
    StoredMember::unread("sortKey"),
    StoredMember::unread("version"),
    StoredMember::flag("deleted"),
]);

/// A line of a sales order.
pub const ORDER_LINE: StoredShape = StoredShape::of(&[
    StoredMember::text("sku"),
    StoredMember::text("name"),
    StoredMember::amount("price"),
    StoredMember::count("quantity"),
]);
