//! The shared parts of the domains: refusals and faults of commands, checked texts, ids, pages and cursors.
//! It knows no domain, no GraphQL and no HTTP.

pub mod accounts;
pub mod api_additions;
pub(crate) mod command_marker;
pub(crate) mod conditional_write;
pub mod containers;
pub mod cursor;
pub(crate) mod digest;
pub mod error;
pub mod ids;
pub(crate) mod keyed_turns;
pub mod money;
pub mod page;
pub(crate) mod reservations;
pub mod search;
pub mod stored_json;
pub mod text;
