//! The web store over the API, one file for each subject. `shop` is a server with a member of staff.

mod catalogue;
mod customer_sessions;
mod customers;
mod orders;
mod positions;
mod quotas;
mod read_models;
pub mod shop;
mod staff;
mod subscriptions;
mod viewer_rights;
