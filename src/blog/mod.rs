//! The blogging domain: commands, projections and reads over the store port. It knows no GraphQL and no HTTP.

pub mod api_additions;
pub mod closures;
pub mod commands;
pub mod containers;
pub mod ids;
pub mod items;
pub mod live;
pub mod model;
pub mod read_models;
pub mod reads;
pub mod renames;
pub mod study;
pub mod summary;
pub mod verify;
pub mod write_limits;
