//! The write limits of the web store: how many writes of each kind a customer may make.

use crate::accounts::write_limits::{WriteLimit, WriteWindow};

/// New sales orders.
pub const SALES_ORDERS: WriteLimit = per_minute("sales-orders-per-customer", "sales orders", 10);
/// Deletions of sales orders.
pub const SALES_ORDER_DELETIONS: WriteLimit =
    per_minute("sales-order-deletions-per-customer", "deletions of sales orders", 10);
/// Cancellations of sales orders.
pub const SALES_ORDER_CANCELLATIONS: WriteLimit =
    per_minute("sales-order-cancellations-per-customer", "cancellations of sales orders", 10);
/// Changes of the customer's own data.
pub const PROFILE_UPDATES: WriteLimit = per_minute("profile-updates-per-customer", "profile updates", 30);
/// Changes of the e-mail address.
pub const EMAIL_ADDRESS_CHANGES: WriteLimit = WriteLimit {
    name: "email-address-changes-per-customer",
    what: "changes of the e-mail address",
    max: 5,
    window: WriteWindow::Hour,
};

/// All limits.
pub const ALL: &[WriteLimit] =
    &[SALES_ORDERS, SALES_ORDER_DELETIONS, SALES_ORDER_CANCELLATIONS, PROFILE_UPDATES, EMAIL_ADDRESS_CHANGES];

const fn per_minute(name: &'static str, what: &'static str, max: u32) -> WriteLimit {
    WriteLimit { name, what, max, window: WriteWindow::Minute }
}
