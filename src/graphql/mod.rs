//! The GraphQL schema: types, queries, mutations and subscriptions over the reads, the commands and the news
//! of the domains.
//!
//! It sees the reads trait and the commands, never the store's items. [`Executor`] takes a request from HTTP,
//! finds out who asks, and runs it; [`sdl`] is the schema as clients see it. Types are one file each;
//! `resolution` resolves them, `complexity` computes the complexity of requests, `errors` makes the errors
//! for clients.

mod attempts;
mod built_schemas;
mod charged;
mod comment;
mod comparison;
mod compiled_operation;
mod complexity;
mod concealed;
mod connections;
mod date_time;
mod errors;
mod event_scope;
mod executor;
mod ids;
mod inputs;
mod like;
mod loaders;
mod model;
mod moderation;
mod mutation;
mod node;
mod payloads;
mod planned_answer;
mod plans;
mod post;
mod query;
mod recency;
mod resolution;
mod response_completion;
mod response_extensions;
mod roots;
mod schema;
mod scope;
mod selected;
pub mod served;
mod session;
mod session_service;
mod staff;
mod subscribe;
mod subscription;
mod subscription_root;
mod suggestions;
mod user;
mod validation;
mod viewer;
mod webstore;
mod writes;

pub use charged::{Charged, ledger_of};
pub use comparison::ChargeSource;
pub use executor::Executor;
pub use ids::{GlobalId, InvalidId};
pub use plans::PlannedDomain;
pub use recency::Recency;
pub use schema::{CHECKED_SCALARS, SchemaOptions, sdl};
pub use scope::Services;
