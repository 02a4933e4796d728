//! The GraphQL schema: types, queries and mutations over the reads and the commands of the blog.
//!
//! It sees the reads trait and the commands, never the store's items. [`Executor`] takes a request from HTTP, finds
//! out who asks, and runs it; [`sdl`] is the schema as clients see it. Types are one file each; `at_hand` is how they
//! are resolved, `limits` is what a document may ask, `errors` is what clients hear when something is wrong.

mod at_hand;
mod comment;
mod comparison;
mod connections;
mod date_time;
mod errors;
mod executor;
mod ids;
mod inputs;
mod like;
pub mod limits;
mod loaders;
mod model;
mod mutation;
mod node;
mod payloads;
mod post;
mod projections;
mod query;
mod scope;
mod user;

use async_graphql::{EmptySubscription, SDLExportOptions, Schema};

pub use executor::Executor;
pub use ids::{GlobalId, InvalidId};
pub use projections::{ProjectionStatus, ProjectionStatuses};
pub use scope::Services;

use mutation::Mutation;
use query::Query;

/// The schema of the API.
pub(crate) type BlogSchema = Schema<Query, Mutation, EmptySubscription>;

/// The schema, with the limits that async-graphql keeps.
fn schema() -> BlogSchema {
    Schema::build(Query, Mutation, EmptySubscription)
        .limit_complexity(limits::COMPLEXITY_MAX)
        .limit_depth(limits::DEPTH_MAX)
        .finish()
}

/// The schema as clients see it, in schema definition language.
#[must_use]
pub fn sdl() -> String {
    schema().sdl_with_options(SDLExportOptions::new().use_space_ident().prefer_single_line_descriptions())
}
