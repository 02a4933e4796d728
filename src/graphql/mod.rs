//! The GraphQL schema: types, queries, mutations and subscriptions over the reads, the commands and the news of the blog.
//!
//! It sees the reads trait and the commands, never the store's items. [`Executor`] takes a request from HTTP, finds
//! out who asks, and runs it; [`sdl`] is the schema as clients see it. Types are one file each; `at_hand` is how they
//! are resolved, `complexity` is how much a request asks, `errors` is what clients hear when something is wrong.

mod at_hand;
mod charged;
mod comment;
mod comparison;
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
mod mutation;
mod node;
mod payloads;
mod post;
mod query;
mod recency;
mod scope;
mod selected;
mod session;
mod subscribe;
mod subscription;
mod subscription_root;
mod user;
mod validation;

use async_graphql::{SDLExportOptions, Schema, SchemaBuilder, ValidationMode};

pub use charged::Charged;
pub use comparison::ChargeSource;
pub use executor::Executor;
pub use ids::{GlobalId, InvalidId};
pub use recency::Recency;
pub use scope::Services;

use event_scope::EventScopes;
use mutation::Mutation;
use onehop_graphql_server::service::COMPLEXITY_MAX;
use query::Query;
use subscription::Subscription;

/// The schema of the API.
pub(crate) type BlogSchema = Schema<Query, Mutation, Subscription>;

/// What of the schema is shown, and how much of it a request may ask.
#[derive(Debug, Clone, Copy)]
pub struct SchemaOptions {
    /// The largest complexity of a request.
    pub complexity_max: usize,
    /// Whether clients may ask for the schema.
    pub introspection: bool,
    /// Whether an error says which names are like one that there is not.
    pub suggestions: bool,
    /// Whether a request may ask which operations on the store it took.
    pub operations: bool,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        Self { complexity_max: COMPLEXITY_MAX, introspection: true, suggestions: true, operations: true }
    }
}

/// The schema. How much of it a request may ask is checked before it is reached.
fn schema(options: SchemaOptions) -> BlogSchema {
    builder(options).finish()
}

/// The same schema for documents that are known to fit it: of all that validation looks at, only what keeps execution
/// from harm is looked at again.
fn validated_schema(options: SchemaOptions) -> BlogSchema {
    builder(options).validation_mode(ValidationMode::Fast).finish()
}

/// The same schema for subscriptions: each event has a scope of its own. Queries do without, for an extension is asked
/// about every field.
fn live_schema(options: SchemaOptions) -> BlogSchema {
    builder(options).extension(EventScopes).finish()
}

fn builder(options: SchemaOptions) -> SchemaBuilder<Query, Mutation, Subscription> {
    let mut builder = Schema::build(Query, Mutation, Subscription);
    if !options.introspection {
        builder = builder.disable_introspection();
    }
    if !options.suggestions {
        builder = builder.disable_suggestions();
    }
    builder
}

/// The schema as clients see it, in schema definition language.
#[must_use]
pub fn sdl() -> String {
    sdl_of(&schema(SchemaOptions::default()))
}

fn sdl_of(schema: &BlogSchema) -> String {
    schema.sdl_with_options(SDLExportOptions::new().use_space_ident().prefer_single_line_descriptions())
}
