//! The web store over the API, one file for each subject. `shop` is a server with a member of staff.

mod catalogue;
mod customers;
mod orders;
mod positions;
mod quotas;
mod read_models;
mod shop;
mod viewer_rights;
