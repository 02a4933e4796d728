//! The API of an app: the HTTP interface of `onehop serve`, put together from the app's parts. It names no
//! adapter, listens to no socket and reads no settings.

mod endpoint_parts;
mod page_contents;
mod served;

use std::sync::Arc;

use self::page_contents::SitePages;
use crate::accounts::Authenticator;
use crate::accounts::brute_force_protection::Attempts;
use crate::accounts::oidc::OidcVerifier;
use crate::accounts::token::Tokens;
use crate::accounts::write_limits::AccountWrites;
use crate::app::{App, planned_domains};
use crate::blog;
use crate::blog::ids::RandomIds;
use crate::blog::reads::ReadModels;
use crate::domain::accounts::sessions::Sessions;
use crate::graphql::{Executor, Services};
use crate::http::page_routes;
use crate::http::pages::Pages;
use crate::http::static_files::StaticFiles;
use crate::operations::public_routes;
use crate::telemetry::Telemetry;
use crate::webstore::reads::WebstoreReads;
use crate::webstore::{self, Webstore};

use self::endpoint_parts::{EndpointParts, ProcessorRecency};

pub use self::endpoint_parts::{Api, ApiError, ApiOptions};
pub use self::served::{ServedApiParts, served_api_of, served_executor_of};

/// The parts of the API beside the app.
pub struct ApiParts {
    /// Issues and verifies Onehop's own access tokens.
    pub tokens: Tokens,
    /// Verifies the tokens of an OpenID Connect provider.
    pub provider: Option<Arc<OidcVerifier>>,
    pub options: ApiOptions,
    /// Metrics and traces, if any.
    pub telemetry: Option<Arc<Telemetry>>,
}

/// All routes over an app.
///
/// # Errors
/// The schema's own text cannot be read back, or a trusted document is refused.
pub fn api_of(app: &Arc<App>, parts: ApiParts) -> Result<Api, ApiError> {
    let ApiParts { tokens, provider, options, telemetry } = parts;
    let sessions = Sessions::new(
        Arc::clone(&app.recent),
        Arc::clone(&app.clock),
        tokens.audience().clone(),
        options.sessions,
    )
    .with_sealer(tokens.sealer());
    let declared_writes = blog::write_limits::ALL.iter().chain(webstore::write_limits::ALL);
    let services = Services {
        reads: app.reads.clone(),
        planned: planned_domains(&app.store, &app.recent),
        commands: app.commands.clone(),
        webstore: Webstore {
            reads: app.webstore_reads.clone(),
            live_reads: WebstoreReads::new(Arc::clone(&app.recent)),
            commands: app.webstore_commands.clone(),
        },
        staff: Arc::new(options.staff.clone()),
        live: app.live.clone(),
        live_reads: ReadModels::new(&app.recent),
        webstore_events: app.webstore_events.clone(),
        attempts: Arc::new(Attempts::new(options.attempts)),
        writes: Arc::new(AccountWrites::new(declared_writes, &options.writes)),
        tokens: tokens.clone(),
        sessions,
        recency: Arc::new(ProcessorRecency::new(&app.engine, tokens.sealer())),
        clock: Arc::clone(&app.clock),
        ids: Arc::new(RandomIds),
    };
    let sealer = tokens.sealer();
    let executor = Executor::new(services, Authenticator::new(tokens, provider), options.schema)?;
    let executor = Arc::new(executor);
    let pages = Pages::new(
        StaticFiles::embedded().with_playground(options.playground),
        Arc::new(SitePages { clock: Arc::clone(&app.clock) }),
    )
    .with_origin(options.public_origin.clone());
    let parts = EndpointParts {
        engine: Arc::clone(&app.engine),
        service: Arc::clone(&executor) as _,
        schema: executor.index().clone(),
        sealer,
        commands_waiting: {
            let commands = app.commands.clone();
            Box::new(move || commands.waiting())
        },
        telemetry,
        options,
    };
    let operations = parts.options.public_operations();
    parts.into_api(|graphql| {
        let pages = page_routes(pages, Some(executor as _), graphql);
        match operations {
            Some(options) => pages.merge(public_routes(app, graphql, options)),
            None => pages,
        }
    })
}
