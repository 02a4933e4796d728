//! The part of the web store's API that its model does not express: ids, cursors, and rights of the viewer.

use onehop_model::Action;

use super::ids::kinds;
use super::reads::{PRODUCTS_OF_CATEGORY, PRODUCTS_OF_TAG, SALES_ORDERS};
use crate::domain::api_additions::{AddedField, ApiAdditions};

/// The dates that end the rights to cancel and to ship an order.
const SETTLED: &[&str] = &["shipDate", "cancelDate"];

/// The additions.
pub static ADDITIONS: ApiAdditions = ApiAdditions {
    id_kinds: &[
        ("Customer", kinds::CUSTOMER),
        ("SalesOrder", kinds::SALES_ORDER),
        ("Product", kinds::PRODUCT),
        ("ProductCategory", kinds::PRODUCT_CATEGORY),
        ("ProductTag", kinds::PRODUCT_TAG),
    ],
    cursors: &[
        ("ProductCategory.products", PRODUCTS_OF_CATEGORY),
        ("ProductTag.products", PRODUCTS_OF_TAG),
        ("Customer.salesOrders", SALES_ORDERS),
    ],
    fields: &[
        ("Product.creationDate", AddedField::CreationDateOfId),
        ("Product.viewerCanUpdate", AddedField::right(Action::Update)),
        ("Product.viewerCanDelete", AddedField::right(Action::Delete)),
        ("ProductCategory.viewerCanUpdate", AddedField::right(Action::Update)),
        ("ProductTag.viewerCanUpdate", AddedField::right(Action::Update)),
        ("Customer.viewerCanUpdate", AddedField::right(Action::Update)),
        ("SalesOrder.viewerCanDelete", AddedField::right_until(Action::Delete, &["shipDate"])),
        ("SalesOrder.viewerCanCancel", AddedField::right_until(Action::Delete, SETTLED)),
        ("SalesOrder.viewerCanShip", AddedField::right_until(Action::Update, SETTLED)),
    ],
    read_with: &[],
    page_texts: &[],
    left_out: &[
        ("SalesOrder.customer", "takes another read"),
        ("Query.topCustomers", "is for staff alone"),
        ("Query.topCustomersAcrossPartitions", "is for staff alone"),
    ],
    derived_id: |_, _, _| None,
    design_argument: None,
};
