//! The web store in the schema: its types, queries and mutations.

mod category;
pub(super) mod customer;
pub(super) mod customer_accounts;
pub(super) mod customers;
pub(super) mod decimal;
pub(super) mod inputs;
pub(super) mod mutation;
pub(super) mod nodes;
pub(super) mod orders;
pub(super) mod payloads;
pub(super) mod product;
pub(super) mod query;
pub(super) mod sales_order;
pub(super) mod subscription;
mod tag;
