//! The schema: its root types put together, with the options of the server.

use async_graphql::{SDLExportOptions, Schema, SchemaBuilder, ValidationMode};

use super::event_scope::EventScopes;
use super::roots::{Mutation, Query, Subscription};
use super::validation::SkipsValidation;
use super::webstore::decimal::Decimal;
use onehop_graphql_server::live_directive::LIVE_DIRECTIVE_SDL;
use onehop_graphql_server::service::COMPLEXITY_MAX;
use onehop_graphql_server::variable_coercion::ScalarCheck;

/// The scalars whose values are checked before an operation runs.
pub const CHECKED_SCALARS: [(&str, ScalarCheck); 1] = [(Decimal::NAME, Decimal::check)];

/// The schema of the API.
pub(super) type BlogSchema = Schema<Query, Mutation, Subscription>;

/// The visible parts of the schema, and the complexity limit of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaOptions {
    /// The largest complexity of a request.
    pub complexity_max: usize,
    /// Whether clients may ask for the schema.
    pub introspection: bool,
    /// Whether an error suggests names similar to an unknown one.
    pub suggestions: bool,
    /// Whether a request may ask which operations on the store it took, and compare the data models by
    /// theirs.
    pub operations: bool,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        Self { complexity_max: COMPLEXITY_MAX, introspection: true, suggestions: true, operations: true }
    }
}

/// The schema. The complexity of its selection is checked before it is reached.
pub(super) fn schema(options: SchemaOptions) -> BlogSchema {
    builder(options).finish()
}

/// The same schema for documents that are known to fit it: of all checks of validation, only the ones
/// that keep execution from harm are repeated.
pub(super) fn validated_schema(options: SchemaOptions) -> BlogSchema {
    builder(options).validation_mode(ValidationMode::Fast).finish()
}

/// The same schema for mutations that are known to fit it: validation looks at nothing again.
pub(super) fn unchecked_schema(options: SchemaOptions) -> BlogSchema {
    builder(options).extension(SkipsValidation).finish()
}

/// The same schema for subscriptions: each event has a scope of its own. Queries do without, for an
/// extension is asked about every field.
pub(super) fn live_schema(options: SchemaOptions) -> BlogSchema {
    builder(options).extension(EventScopes).finish()
}

/// The schema before its extensions.
pub(super) fn builder(options: SchemaOptions) -> SchemaBuilder<Query, Mutation, Subscription> {
    let mut builder =
        Schema::build(Query::default(), Mutation::default(), Subscription::default()).data(options);
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

/// A schema in schema definition language.
pub(super) fn sdl_of(schema: &BlogSchema) -> String {
    let options = SDLExportOptions::new().use_space_ident().prefer_single_line_descriptions();
    schema.sdl_with_options(options.include_specified_by()) + "\n" + LIVE_DIRECTIVE_SDL
}
