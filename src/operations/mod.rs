//! Operations API: a GraphQL schema for the people who run the server. Projections with leases, lag and dead letters; hot
//! partitions; verification, repair, rebuild, replay, seeding, backup and check, with their progress.
//!
//! The whole schema is served on a Unix socket in the data directory, whose client is the command line. Its queries alone are
//! served over HTTP, at [`PATH`], where the settings allow it. The public schema of the blog is `graphql`'s.

mod client;
mod dead_letters;
mod documents;
mod errors;
mod mutation;
mod outcomes;
mod partitions;
mod progress;
mod projections;
mod public;
mod query;
mod scalars;
mod socket;

use std::sync::Arc;

use async_graphql::{EmptyMutation, EmptySubscription, SDLExportOptions, Schema};

use crate::app::App;
use mutation::OperationsMutation;
use progress::{OperationsSubscription, ProgressChannels};
use query::OperationsQuery;

pub use client::{ClientError, ask, execute};
pub use documents::{
    BACKUP, CHECK, DEAD_LETTER, DEAD_LETTERS, LOCK_DEMO_USERS, OperationRequest, REBUILD, REPLAY,
    REPLAY_DEAD_LETTER, VERIFY, seeding,
};
pub use public::{PublicOptions, public_routes};
pub use socket::{SOCKET_FILE, serve_socket};

/// The path of the operations API, on the socket and on the public listener.
pub const PATH: &str = "/operations/graphql";
/// Clients of the socket at once.
pub const CLIENTS_MAX: usize = 8;
/// Bytes of one request on the socket.
pub const REQUEST_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of one answer that the client reads.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Progress events that wait for a slow subscriber; further ones are dropped.
pub const PROGRESS_WAITING_MAX: usize = 64;

/// The whole schema, for the socket and for commands that open the data themselves.
pub type OperationsSchema = Schema<OperationsQuery, OperationsMutation, OperationsSubscription>;
/// The queries alone, for the public listener.
type PublicSchema = Schema<OperationsQuery, EmptyMutation, EmptySubscription>;

/// Who reads the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// A person who may read the data directory.
    Operator,
    /// Every client of the public listener. Errors and stored bodies are left out.
    Public,
}

/// What the resolvers work with.
struct Context {
    app: Arc<App>,
    /// Whether demo users may be made: their password is published.
    allows_demo: bool,
    audience: Audience,
    progress: Arc<ProgressChannels>,
}

/// The whole schema over an app.
#[must_use]
pub fn schema(app: &Arc<App>, allows_demo: bool) -> OperationsSchema {
    let progress = Arc::<ProgressChannels>::default();
    let context = Context { app: Arc::clone(app), allows_demo, audience: Audience::Operator, progress };
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

/// What the resolvers work with.
fn context<'a>(context: &async_graphql::Context<'a>) -> &'a Context {
    context.data_unchecked::<Context>()
}
