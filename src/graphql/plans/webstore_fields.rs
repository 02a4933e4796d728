//! Field tables of the web store: for each type that plans write, where the value of each field is stored,
//! declared once.

use super::objects::{
    AmountSource, CurrencySource, FieldSource, IdFormat, ListItems, ListRead, ListType, ObjectType,
    PointType, Presence, ViewerRight,
};
use crate::domain::cursor::ListKind;
use crate::domain::stored_json::{MemberSlot, StoredShape};
use crate::graphql::ids::GlobalId;
use crate::webstore::items::types;
use crate::webstore::reads::{self, shapes};

const fn meta(name: &str) -> MemberSlot {
    shapes::META.slot(name)
}

const fn product(name: &str) -> MemberSlot {
    shapes::PRODUCT.slot(name)
}

const fn tag_copy(name: &str) -> MemberSlot {
    shapes::TAG_COPY.slot(name)
}

const fn customer(name: &str) -> MemberSlot {
    shapes::CUSTOMER.slot(name)
}

const fn address(name: &str) -> MemberSlot {
    shapes::ADDRESS.slot(name)
}

const fn order(name: &str) -> MemberSlot {
    shapes::SALES_ORDER.slot(name)
}

const fn line(name: &str) -> MemberSlot {
    shapes::ORDER_LINE.slot(name)
}

/// Products that are read by their ids.
pub(super) static PRODUCTS: PointType =
    point(&PRODUCT, &shapes::PRODUCT, types::PRODUCT, |id| matches!(id, GlobalId::Product(..)));
/// Categories that are read by their ids.
pub(super) static CATEGORIES: PointType =
    point(&CATEGORY, &shapes::META, types::CATEGORY, |id| matches!(id, GlobalId::ProductCategory(_)));
/// Tags that are read by their ids.
pub(super) static TAGS: PointType =
    point(&TAG, &shapes::META, types::TAG, |id| matches!(id, GlobalId::ProductTag(_)));
/// Customers that are read by their ids.
pub(super) static CUSTOMERS: PointType =
    point(&CUSTOMER, &shapes::CUSTOMER, types::CUSTOMER, |id| matches!(id, GlobalId::Customer(_)));
/// Sales orders that are read by their ids.
pub(super) static SALES_ORDERS: PointType =
    point(&SALES_ORDER, &shapes::SALES_ORDER, types::SALES_ORDER, |id| {
        matches!(id, GlobalId::SalesOrder(..))
    });

const fn point(
    object: &'static ObjectType,
    shape: &'static StoredShape,
    item_type: &'static str,
    has_id: fn(GlobalId) -> bool,
) -> PointType {
    let presence = Presence {
        required: None,
        item_type: Some((shape.slot("type"), item_type)),
        deleted: Some(shape.slot("deleted")),
    };
    PointType { object, shape, has_id, presence, beside: None }
}

/// A category.
static CATEGORY: ObjectType = ObjectType {
    name: "ProductCategory",
    fields: &[
        ("id", FieldSource::GlobalId(IdFormat::ProductCategory(meta("id")))),
        ("name", FieldSource::Text(meta("name"))),
        ("products", FieldSource::List(&PRODUCTS_OF_CATEGORY)),
    ],
};

/// A tag.
static TAG: ObjectType = ObjectType {
    name: "ProductTag",
    fields: &[
        ("id", FieldSource::GlobalId(IdFormat::ProductTag(meta("id")))),
        ("name", FieldSource::Text(meta("name"))),
        ("products", FieldSource::List(&PRODUCTS_OF_TAG)),
    ],
};

/// The category of a product, by the copied name.
static CATEGORY_OF_PRODUCT: ObjectType = ObjectType {
    name: "ProductCategory",
    fields: &[
        ("id", FieldSource::GlobalId(IdFormat::ProductCategory(product("categoryId")))),
        ("name", FieldSource::Text(product("categoryName"))),
    ],
};

/// A tag of a product, by the copied name.
static TAG_OF_PRODUCT: ObjectType = ObjectType {
    name: "ProductTag",
    fields: &[
        ("id", FieldSource::GlobalId(IdFormat::ProductTag(tag_copy("id")))),
        ("name", FieldSource::Text(tag_copy("name"))),
    ],
};

static PRICE_OF_PRODUCT: ObjectType = money(&[
    ("amount", FieldSource::Amount(own(product("price"), product("currencyCode")))),
    ("currencyCode", FieldSource::Text(product("currencyCode"))),
]);

static TOTAL_OF_ORDER: ObjectType = money(&[
    ("amount", FieldSource::Amount(own(order("total"), order("currencyCode")))),
    ("currencyCode", FieldSource::Text(order("currencyCode"))),
]);

static PRICE_OF_LINE: ObjectType = money(&[
    ("amount", FieldSource::Amount(of_line(None))),
    ("currencyCode", FieldSource::OuterText(order("currencyCode"))),
]);

static TOTAL_OF_LINE: ObjectType = money(&[
    ("amount", FieldSource::Amount(of_line(Some(line("quantity"))))),
    ("currencyCode", FieldSource::OuterText(order("currencyCode"))),
]);

const fn money(fields: &'static [(&'static str, FieldSource)]) -> ObjectType {
    ObjectType { name: "Money", fields }
}

const fn own(minor_units: MemberSlot, currency: MemberSlot) -> AmountSource {
    AmountSource { minor_units, quantity: None, currency: CurrencySource::Own(currency) }
}

/// Lines have the currency of their order.
const fn of_line(quantity: Option<MemberSlot>) -> AmountSource {
    let currency = CurrencySource::Outer(order("currencyCode"));
    AmountSource { minor_units: line("price"), quantity, currency }
}

/// A product.
static PRODUCT: ObjectType = ObjectType {
    name: "Product",
    fields: &[
        ("id", FieldSource::GlobalId(IdFormat::Product(product("categoryId"), product("id")))),
        ("sku", FieldSource::Text(product("sku"))),
        ("name", FieldSource::Text(product("name"))),
        ("description", FieldSource::WholeText(product("description"))),
        ("price", FieldSource::Object(&PRICE_OF_PRODUCT)),
        ("creationDate", FieldSource::DateOfId(product("id"))),
        ("category", FieldSource::Object(&CATEGORY_OF_PRODUCT)),
        ("tags", FieldSource::Objects(product("tags"), &shapes::TAG_COPY, &TAG_OF_PRODUCT)),
    ],
};

/// A customer.
static CUSTOMER: ObjectType = ObjectType {
    name: "Customer",
    fields: &[
        ("id", FieldSource::GlobalId(IdFormat::Customer(customer("id")))),
        ("viewerCanUpdate", FieldSource::ViewerRight(ViewerRight::Customer(customer("id")))),
        ("title", FieldSource::OptionalText(customer("title"))),
        ("firstName", FieldSource::Text(customer("firstName"))),
        ("lastName", FieldSource::Text(customer("lastName"))),
        ("emailAddress", FieldSource::Text(customer("emailAddress"))),
        ("phoneNumber", FieldSource::OptionalText(customer("phoneNumber"))),
        ("creationDate", FieldSource::Text(customer("creationDate"))),
        ("addresses", FieldSource::Objects(customer("addresses"), &shapes::ADDRESS, &ADDRESS)),
        ("salesOrderCount", FieldSource::Count(customer("salesOrderCount"))),
        ("salesOrders", FieldSource::List(&ORDERS_OF_CUSTOMER)),
    ],
};

static ADDRESS: ObjectType = ObjectType {
    name: "CustomerAddress",
    fields: &[
        ("addressLine1", FieldSource::Text(address("addressLine1"))),
        ("addressLine2", FieldSource::OptionalText(address("addressLine2"))),
        ("city", FieldSource::Text(address("city"))),
        ("state", FieldSource::OptionalText(address("state"))),
        ("country", FieldSource::Text(address("country"))),
        ("zipCode", FieldSource::Text(address("zipCode"))),
    ],
};

/// Customers may delete their orders until they are shipped.
const OF_ORDER: ViewerRight =
    ViewerRight::CustomerUntil { customer: order("customerId"), end: order("shipDate") };

/// A sales order. Its customer takes another read.
static SALES_ORDER: ObjectType = ObjectType {
    name: "SalesOrder",
    fields: &[
        ("id", FieldSource::GlobalId(IdFormat::SalesOrder(order("customerId"), order("id")))),
        ("orderDate", FieldSource::Text(order("orderDate"))),
        ("shipDate", FieldSource::OptionalText(order("shipDate"))),
        ("viewerCanDelete", FieldSource::ViewerRight(OF_ORDER)),
        ("lines", FieldSource::Objects(order("details"), &shapes::ORDER_LINE, &ORDER_LINE)),
        ("total", FieldSource::Object(&TOTAL_OF_ORDER)),
    ],
};

static ORDER_LINE: ObjectType = ObjectType {
    name: "SalesOrderLine",
    fields: &[
        ("sku", FieldSource::Text(line("sku"))),
        ("name", FieldSource::Text(line("name"))),
        ("price", FieldSource::Object(&PRICE_OF_LINE)),
        ("quantity", FieldSource::Count(line("quantity"))),
        ("total", FieldSource::Object(&TOTAL_OF_LINE)),
    ],
};

/// All categories.
pub(super) static ALL_CATEGORIES: ListItems = lookup_list(ListRead::Categories, &CATEGORY);
/// All tags.
pub(super) static ALL_TAGS: ListItems = lookup_list(ListRead::Tags, &TAG);

const fn lookup_list(read: ListRead, node: &'static ObjectType) -> ListItems {
    let shape = &shapes::META;
    ListItems { read, node, shape, id: meta("id"), deleted: meta("deleted"), is_whole: true }
}

static PRODUCTS_OF_CATEGORY: ListType =
    products(ListRead::ProductsOfCategory, reads::PRODUCTS_OF_CATEGORY, true);
/// Short copies of products.
static PRODUCTS_OF_TAG: ListType = products(ListRead::ProductsOfTag, reads::PRODUCTS_OF_TAG, false);

const fn products(read: ListRead, cursor: ListKind, is_whole: bool) -> ListType {
    let (shape, id, deleted) = (&shapes::PRODUCT, product("id"), product("deleted"));
    ListType {
        items: ListItems { read, node: &PRODUCT, shape, id, deleted, is_whole },
        connection: "ProductConnection",
        edge: "ProductEdge",
        cursor,
        order: product("name"),
    }
}

static ORDERS_OF_CUSTOMER: ListType = ListType {
    items: ListItems {
        read: ListRead::SalesOrders,
        node: &SALES_ORDER,
        shape: &shapes::SALES_ORDER,
        id: order("id"),
        deleted: order("deleted"),
        is_whole: true,
    },
    connection: "SalesOrderConnection",
    edge: "SalesOrderEdge",
    cursor: reads::SALES_ORDERS,
    order: order("orderDate"),
};
