//! The schema of a served model: types of `async_graphql::dynamic` over `served`, and the service that runs
//! requests through the same pipeline as the built-in domains.

mod accounts;
mod embedded_objects;
mod executor;
mod field_scope;
mod list_arguments;
mod lists;
mod money;
mod mutations;
mod objects;
mod personal;
mod queries;
mod schema;
mod scope;
mod subscriptions;

pub use executor::{ServedError, ServedExecutor};
pub use schema::served_sdl;
pub use scope::ServedServices;
