//! The API of a served model: the same endpoint, limits and routes as the built-in domains have, over the
//! schema of the model.

use std::collections::HashSet;
use std::sync::Arc;

use uuid::Uuid;

use super::endpoint_parts::{Api, ApiError, ApiOptions, EndpointParts, ProcessorRecency};
use crate::accounts::Authenticator;
use crate::accounts::brute_force_protection::Attempts;
use crate::accounts::oidc::OidcVerifier;
use crate::accounts::token::Tokens;
use crate::app::ServedApp;
use crate::domain::accounts::sessions::Sessions;
use crate::domain::ids::RandomIds;
use crate::graphql::PlannedDomain;
use crate::graphql::served::{ServedError, ServedExecutor, ServedServices};
use crate::http::playground_routes;
use crate::http::static_files::StaticFiles;
use crate::operations::public_routes;
use crate::served::{ModelClaims, ServedReads};
use crate::telemetry::Telemetry;
use onehop_graphql_server::schema_index::SchemaIndex;

/// The parts of the API beside the app.
pub struct ServedApiParts {
    /// Issues and verifies access tokens.
    pub tokens: Tokens,
    /// The accounts of the members of staff.
    pub staff: HashSet<Uuid>,
    /// The OpenID Connect provider whose tokens are accepted, if any: of models without accounts.
    pub provider: Option<Arc<OidcVerifier>>,
    pub options: ApiOptions,
    /// Metrics and traces, if any.
    pub telemetry: Option<Arc<Telemetry>>,
}

/// The executor of a served model.
///
/// # Errors
/// The model gives no schema.
pub fn served_executor_of(app: &ServedApp, parts: &ServedApiParts) -> Result<ServedExecutor, ServedError> {
    let ServedApiParts { tokens, staff, provider, options, .. } = parts;
    let engine = &app.engine;
    let (recent, clock) = (Arc::clone(&engine.recent), Arc::clone(&engine.clock));
    let sessions = Sessions::new(recent, Arc::clone(&clock), tokens.audience().clone(), options.sessions)
        .with_sealer(tokens.sealer());
    let reads = ServedReads::new(Arc::clone(&engine.store), Arc::clone(&app.model));
    let recent_reads = ServedReads::new(Arc::clone(&engine.recent), Arc::clone(&app.model));
    let planned = PlannedDomain { reads: reads.clone(), recent_reads: recent_reads.clone(), additions: None };
    let services = ServedServices {
        reads,
        recent_reads,
        planned: [planned].into(),
        commands: app.commands.clone(),
        recent_commands: app.recent_commands.clone(),
        live: app.live.clone(),
        in_building: app.in_building.clone(),
        staff: Arc::new(staff.clone()),
        claims: ModelClaims::of(app.model.model()),
        attempts: Arc::new(Attempts::new(options.attempts)),
        tokens: tokens.clone(),
        sessions,
        recency: Arc::new(ProcessorRecency::new(engine, tokens.sealer())),
        clock,
        ids: Arc::new(RandomIds),
    };
    let authenticator = Authenticator::new(tokens.clone(), provider.clone());
    ServedExecutor::new(&app.model, services, authenticator, options.schema)
}

/// All routes over a served model.
///
/// # Errors
/// The model gives no schema, or a trusted document is refused.
pub fn served_api_of(app: &ServedApp, parts: ServedApiParts) -> Result<Api, ApiError> {
    let executor = served_executor_of(app, &parts)?;
    let ServedApiParts { tokens, options, telemetry, .. } = parts;
    let files = StaticFiles::embedded().with_playground(options.playground).with_browser(options.operations);
    let schema = SchemaIndex::from_sdl(executor.sdl())?;
    let operations = options.public_operations();
    let parts = EndpointParts {
        engine: Arc::clone(&app.engine),
        service: Arc::new(executor),
        schema,
        sealer: tokens.sealer(),
        commands_waiting: Box::new(|| 0),
        telemetry,
        options,
    };
    parts.into_api(|graphql| {
        let pages = playground_routes(files);
        match operations {
            Some(options) => pages.merge(public_routes(app, graphql, options)),
            None => pages,
        }
    })
}
