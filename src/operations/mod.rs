//! Operations API: a GraphQL schema for the people who run the server. Projections with leases, lag and dead
//! letters; hot partitions; verification, repair, rebuild, replay, seeding, backup and check, with their
//! progress.
//!
//! The whole schema is served on a Unix socket in the data directory, whose client is the command line. Its
//! queries alone are served over HTTP, at [`PATH`], where the settings allow it. The public schema of the
//! blog is `graphql`'s. Over a served model there are queries of its types and its stored items. On the
//! public listener they need the [`OperatorKey`].

mod audience;
mod browse;
mod client;
mod context;
mod dead_letters;
mod diagnosis;
mod documents;
mod errors;
mod limits;
mod model;
mod mutation;
mod operator_key;
mod outcomes;
mod partitions;
mod progress;
mod progress_channels;
mod projections;
mod public;
mod query;
mod read_model_rules;
mod scalars;
mod socket;
mod stored_items;

use std::sync::Arc;

use async_graphql::{EmptyMutation, EmptySubscription, SDLExportOptions, Schema};

use crate::app::OperatedDomain;
use audience::Audience;
use context::Context;
use mutation::OperationsMutation;
use progress::OperationsSubscription;
use progress_channels::ProgressChannels;
use query::OperationsQuery;

pub use client::{ClientError, ask, execute};
pub use diagnosis::DiagnosisSources;
pub use documents::{
    BACKUP, CHECK, DEAD_LETTER, DEAD_LETTERS, DIAGNOSIS, LOCK_DEMO_USERS, OperationRequest, PROJECTIONS,
    REBUILD, REPLAY, REPLAY_DEAD_LETTER, VERIFY, seeding, webstore_seeding,
};
pub use limits::{ANSWER_BYTES_MAX, CLIENTS_MAX, PROGRESS_WAITING_MAX, REQUEST_BYTES_MAX};
pub use operator_key::OperatorKey;
pub use public::{PublicOptions, public_routes};
pub use socket::{SOCKET_FILE, serve_socket};

/// The path of the operations API, on the socket and on the public listener.
pub const PATH: &str = "/operations/graphql";

/// The whole schema, for the socket and for commands that open the data themselves.
pub type OperationsSchema = Schema<OperationsQuery, OperationsMutation, OperationsSubscription>;
/// The queries alone, for the public listener.
type PublicSchema = Schema<OperationsQuery, EmptyMutation, EmptySubscription>;

/// The whole schema over a domain.
#[must_use]
pub fn schema(domain: impl Into<OperatedDomain>, allows_demo: bool) -> OperationsSchema {
    let progress = Arc::<ProgressChannels>::default();
    let context =
        Context { domain: domain.into(), allows_demo, audience: Audience::Operator, progress, sources: None };
    schema_over(context)
}

fn schema_over(context: Context) -> OperationsSchema {
    Schema::build(OperationsQuery, OperationsMutation, OperationsSubscription).data(context).finish()
}

/// The schema in schema definition language, as `operations.graphql` has it.
#[must_use]
pub fn sdl() -> String {
    let options = SDLExportOptions::new().use_space_ident().prefer_single_line_descriptions();
    Schema::build(OperationsQuery, OperationsMutation, OperationsSubscription)
        .finish()
        .sdl_with_options(options)
}
