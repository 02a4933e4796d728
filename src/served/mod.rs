//! Served models: a domain that is declared in a model file alone, with its reads, commands and accounts. No
//! Rust is written or generated for it.
//!
//! [`ServedModel`] refuses a model with parts that this server does not support, before any data is touched.
//! GraphQL types follow in `graphql::served`. It names no adapter of the store and no other domain.

mod access;
pub mod amounts;
mod browse;
mod claims;
mod closed_accounts;
pub mod commands;
mod computed_values;
pub mod cursor;
pub mod decimal;
pub mod formats;
mod former_values;
mod held_copies;
mod identity;
mod ids;
pub mod import;
mod in_building;
pub mod input;
mod input_names;
mod list_places;
pub mod live;
mod model;
mod names;
mod pages;
mod properties;
mod reads;
mod recognition;
mod redaction;
mod references;
mod related_fields;
mod released;
mod renames;
pub mod stored;
mod stored_items;
mod supported;
mod through;
mod unique;
mod verify;

pub use access::{Decision, Requester};
pub use browse::{BrowseError, BrowsedItem, BrowsedList, BrowsedPage};
pub use claims::{CLAIMS_MAX, HeldClaims, ModelClaims, claims_of};
pub use commands::{ServedCommand, ServedCommandParts, ServedCommands, ServedMutation, WrittenItem};
pub use identity::derived_place;
pub use ids::{InvalidItemId, ItemPlace, derived_id, partition_text, write_global_id};
pub use in_building::FieldsInBuilding;
pub use list_places::{ListPlace, ListScope, OwnerValue, ThroughLink};
pub use model::{Body, PartitionSource, ServedModel, ServedType, TypeIndex};
pub use names::{interned, is_nested, property_name};
pub use pages::{ItemPage, ListPosition, ListRange, ListedItem, StoredPage};
pub use reads::{ItemLoader, ServedItem, ServedReads};
pub use redaction::{REDACTED, is_secret, redacted};
pub use references::{
    copied_part, elements, embedded_places, frozen_copies, key_fields, place_of_id, target_place,
};
pub use related_fields::{caller_reference, is_derived_of_caller, leads_to, lists, needs_target, related};
pub use released::projections;
pub use supported::{Unsupported, mutation_name, pascal};
pub use through::LINKS_MAX;
pub use verify::verifier;
