//! The resolvers' context of a served model: the services of the process, and the request that is answered.

use std::collections::HashSet;
use std::sync::Arc;

use async_graphql::{Context, Error, PathSegment};
use parking_lot::Mutex;
use uuid::Uuid;

use crate::accounts::account_id::AccountId;
use crate::accounts::brute_force_protection::Attempts;
use crate::accounts::session::SessionId;
use crate::accounts::token::Tokens;
use crate::domain::accounts::sessions::Sessions;
use crate::domain::error::CommandError;
use crate::domain::ids::IdSource;
use crate::graphql::charged::FollowUp;
use crate::graphql::errors;
use crate::graphql::executor::reads_recent;
use crate::graphql::plans::PlannedDomain;
use crate::graphql::recency::Recency;
use crate::graphql::viewer::session_of;
use crate::served::live::ServedLive;
use crate::served::{FieldsInBuilding, ItemLoader, ModelClaims, Requester, ServedCommands, ServedReads};
use onehop_graphql_server::pipeline::context::RequestContext;
use onehop_graphql_server::response_limits::ResponseRefused;
use onehop_runtime::clock::Clock;
use onehop_store::{Fault, Ledger};

/// The services that the schema of a served model needs from the process.
#[derive(Clone)]
pub struct ServedServices {
    /// The reads of requests.
    pub reads: ServedReads,
    /// The reads after a wait for a position: they see commits of other processes.
    pub recent_reads: ServedReads,
    /// The same reads, for compiled plans.
    pub planned: Arc<[PlannedDomain]>,
    /// The write side.
    pub commands: ServedCommands,
    /// The look-ups of the write side, which see commits of other processes.
    pub recent_commands: ServedCommands,
    /// The events of subscriptions.
    pub live: ServedLive,
    /// The fields whose read models are not complete yet.
    pub in_building: FieldsInBuilding,
    /// The members of staff.
    pub staff: Arc<HashSet<Uuid>>,
    /// The claims of access tokens by which the model grants rights.
    pub claims: ModelClaims,
    /// Brute-force protection of signing in and up.
    pub attempts: Arc<Attempts>,
    /// Issues the access tokens of sessions.
    pub tokens: Tokens,
    /// Starts, checks and ends sessions.
    pub sessions: Sessions,
    /// Read-your-writes.
    pub recency: Arc<dyn Recency>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The ids under which faults are logged.
    pub ids: Arc<dyn IdSource>,
}

/// One request: its caller, its reads, and their charge so far.
pub(super) struct ServedScope {
    services: Arc<ServedServices>,
    context: Arc<RequestContext>,
    reads: ServedReads,
    loader: ItemLoader,
    ledger: Arc<Ledger>,
    requester: Requester,
    follow_up: FollowUp,
    /// The paths of objects with a failed field.
    failures: Mutex<Vec<Vec<PathSegment>>>,
}

impl ServedScope {
    pub(super) fn new(services: Arc<ServedServices>, context: Arc<RequestContext>, ledger: Ledger) -> Self {
        let requester = requester(&services, &context);
        let ledger = Arc::new(ledger);
        let reads = if reads_recent(&context) { &services.recent_reads } else { &services.reads }.clone();
        Self {
            loader: reads.loader(Arc::clone(&ledger)),
            reads,
            requester,
            follow_up: FollowUp::default(),
            failures: Mutex::default(),
            services,
            context,
            ledger,
        }
    }

    pub(super) fn services(&self) -> &ServedServices {
        &self.services
    }

    pub(super) fn context(&self) -> &RequestContext {
        &self.context
    }

    pub(super) fn reads(&self) -> &ServedReads {
        &self.reads
    }

    /// The look-ups of the write side, as recent as the reads.
    pub(super) fn lookups(&self) -> &ServedCommands {
        match reads_recent(&self.context) {
            true => &self.services.recent_commands,
            false => &self.services.commands,
        }
    }

    pub(super) fn loader(&self) -> &ItemLoader {
        &self.loader
    }

    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(super) fn requester(&self) -> Requester {
        self.requester
    }

    pub(super) fn follow_up(&self) -> &FollowUp {
        &self.follow_up
    }

    /// Remembers that a field of the object at a path has failed.
    pub(super) fn add_failure_within(&self, path: Vec<PathSegment>) {
        self.failures.lock().push(path);
    }

    /// Whether a field of the object at a path has failed.
    pub(super) fn has_failure_within(&self, path: &[PathSegment]) -> bool {
        self.failures.lock().iter().any(|failed| failed == path)
    }

    /// The session of the access token.
    pub(super) fn token_session(&self) -> Option<SessionId> {
        let (_, session, _) = session_of(self.context.caller.as_deref()?)?;
        Some(session)
    }

    /// A failed command as the client sees it.
    pub(super) fn command_error(&self, failure: CommandError) -> Error {
        match failure {
            CommandError::Rejected(refusal) => errors::refusal(&refusal),
            CommandError::Fault(fault) => self.fault(&fault),
        }
    }

    /// A fault as the client sees it; the log gets the rest.
    pub(super) fn fault(&self, fault: &Fault) -> Error {
        errors::fault(fault, self.services.ids.next_id(self.services.clock.now_ms()))
    }

    /// # Errors
    /// The response is over its budget: nothing is written for a response that has no room to report it.
    pub(super) fn check_room(&self) -> Result<(), Error> {
        self.context.budget.check().map_err(ResponseRefused::into_error)
    }
}

/// The caller of a request.
pub(super) fn requester(services: &ServedServices, context: &RequestContext) -> Requester {
    let account = context.caller.as_ref().and_then(|caller| AccountId::parse(&caller.id));
    let account = account.map(|account| account.id);
    let is_staff = account.is_some_and(|account| services.staff.contains(&account));
    let rights = context.caller.as_ref().map_or(0, |caller| caller.rights);
    Requester { account, is_staff, claims: services.claims.held(rights) }
}

/// The request that a resolver works for.
pub(super) fn of<'a>(context: &Context<'a>) -> &'a Arc<ServedScope> {
    context.data_unchecked::<Arc<ServedScope>>()
}
