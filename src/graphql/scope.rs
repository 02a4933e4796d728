//! The resolvers' context: the services of the process, and the request that is answered.

use std::sync::Arc;

use async_graphql::{ContextBase, Error};

use super::charged::FollowUp;
use super::errors::{self, Code};
use super::plans::PlannedDomain;
use super::recency::Recency;
use super::viewer::session_of;
use crate::accounts::account_id::{AccountId, AccountKind};
use crate::accounts::brute_force_protection::Attempts;
use crate::accounts::session::SessionId;
use crate::accounts::staff::Staff;
use crate::accounts::token::Tokens;
use crate::accounts::write_limits::AccountWrites;
use crate::blog::commands::Commands;
use crate::blog::ids::{IdSource, UserId};
use crate::blog::live::LiveEvents;
use crate::blog::reads::{DataModel, ReadModels, Reads, Session};
use crate::domain::accounts::sessions::Sessions;
use crate::domain::error::CommandError;
use crate::served::live::ServedLive;
use crate::webstore::Webstore;
use crate::webstore::ids::CustomerId;
use onehop_graphql_server::pipeline::context::RequestContext;
use onehop_graphql_server::response_budget::ResponseBudget;
use onehop_graphql_server::response_limits::ResponseRefused;
use onehop_runtime::clock::Clock;
use onehop_store::{Fault, Ledger};

/// The services that the schema needs from the process.
#[derive(Clone)]
pub struct Services {
    pub reads: ReadModels,
    /// The reads of compiled plans: of the blog, and of the web store.
    pub planned: Arc<[PlannedDomain]>,
    pub commands: Commands,
    /// The web store.
    pub webstore: Webstore,
    /// The members of staff.
    pub staff: Arc<Staff>,
    /// The writes of all processes.
    pub live: LiveEvents,
    /// The reads beneath events: they see commits of other processes.
    pub live_reads: ReadModels,
    /// The changes of the web store's items, written by any process.
    pub webstore_events: ServedLive,
    /// Brute-force protection of signing in and up.
    pub attempts: Arc<Attempts>,
    /// The write limits of an account.
    pub writes: Arc<AccountWrites>,
    /// Issues the access tokens of sessions.
    pub tokens: Tokens,
    /// Starts, checks and ends sessions.
    pub sessions: Sessions,
    pub recency: Arc<dyn Recency>,
    pub clock: Arc<dyn Clock>,
    /// Where the ids come from under which faults are logged.
    pub ids: Arc<dyn IdSource>,
}

/// One request: its caller, and the charge of its reads and writes so far.
pub struct RequestScope {
    services: Arc<Services>,
    context: Arc<RequestContext>,
    session: Session,
    account: Option<AccountId>,
    budget: Arc<ResponseBudget>,
    follow_up: FollowUp,
    tells_operations: bool,
}

impl RequestScope {
    /// A request with this context; the ledger records the operations of its execution.
    #[must_use]
    pub fn new(services: Arc<Services>, context: Arc<RequestContext>, ledger: Ledger) -> Self {
        Self {
            services,
            session: Session::new(Arc::new(ledger)),
            account: context.caller.as_ref().and_then(|caller| AccountId::parse(&caller.id)),
            budget: Arc::clone(&context.budget),
            follow_up: FollowUp::default(),
            tells_operations: false,
            context,
        }
    }

    /// The same, whose responses list the operations on the store, if so.
    #[must_use]
    pub fn telling_operations(self, tells_operations: bool) -> Self {
        Self { tells_operations, ..self }
    }

    /// Another request of the same caller, which has read nothing yet: an event of a subscription.
    #[must_use]
    pub fn afresh(&self) -> Self {
        let budget = Arc::new(self.budget.memory().begin_or_refuse());
        let ledger = Ledger::new().under(self.ledger().span());
        let scope = Self::new(Arc::clone(&self.services), Arc::clone(&self.context), ledger);
        Self { budget, tells_operations: self.tells_operations, ..scope }
    }

    /// The pipeline's knowledge of the request.
    #[must_use]
    pub fn context(&self) -> &RequestContext {
        &self.context
    }

    /// Whether responses list the operations on the store.
    #[must_use]
    pub fn tells_operations(&self) -> bool {
        self.tells_operations
    }

    /// The session of the access token; `None` for an anonymous caller and for a token of another provider.
    #[must_use]
    pub fn token_session(&self) -> Option<SessionId> {
        let (_, session, _) = session_of(self.context.caller.as_deref()?)?;
        Some(session)
    }

    /// The signed-in user.
    #[must_use]
    pub fn viewer(&self) -> Option<UserId> {
        self.account.filter(|account| account.kind == AccountKind::User).map(|account| UserId(account.id))
    }

    /// Whether this user sends the request.
    #[must_use]
    pub fn is_viewer(&self, user: UserId) -> bool {
        self.viewer() == Some(user)
    }

    /// The signed-in user, for actions that an anonymous caller may not take.
    ///
    /// # Errors
    /// `UNAUTHENTICATED`.
    pub fn signed_in(&self) -> Result<UserId, Error> {
        self.viewer().ok_or_else(|| errors::error(Code::Unauthenticated, "Sign in to do this."))
    }

    /// The signed-in customer of the web store.
    #[must_use]
    pub fn customer(&self) -> Option<CustomerId> {
        let account = self.account.filter(|account| account.kind == AccountKind::Customer);
        account.map(|account| CustomerId(account.id))
    }

    /// The signed-in customer, for actions that only a customer may take.
    ///
    /// # Errors
    /// `UNAUTHENTICATED`.
    pub fn signed_in_customer(&self) -> Result<CustomerId, Error> {
        let message = "Sign in as a customer to do this.";
        self.customer().ok_or_else(|| errors::error(Code::Unauthenticated, message))
    }

    /// The reads of this request.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Where the operations of this request are recorded.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        self.session.ledger()
    }

    /// The response size limit, and the rest of it.
    #[must_use]
    pub fn budget(&self) -> &ResponseBudget {
        &self.budget
    }

    /// The charges of later background work because of this request.
    #[must_use]
    pub fn follow_up(&self) -> &FollowUp {
        &self.follow_up
    }

    /// The services of the process.
    #[must_use]
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// The reads of one data model.
    #[must_use]
    pub fn reads(&self, model: DataModel) -> &dyn Reads {
        self.services.reads.of(model)
    }

    /// A failed command as the client sees it.
    pub fn command_error(&self, failure: CommandError) -> Error {
        match failure {
            CommandError::Rejected(refusal) => errors::refusal(&refusal),
            CommandError::Fault(fault) => self.fault(&fault),
        }
    }

    /// A fault as the client sees it; the log gets the rest.
    pub fn fault(&self, fault: &Fault) -> Error {
        let now_ms = self.services.clock.now_ms();
        errors::fault(fault, self.services.ids.next_id(now_ms))
    }
}

impl std::fmt::Debug for RequestScope {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RequestScope").field("account", &self.account).finish_non_exhaustive()
    }
}

/// The request that a resolver works for. The executor puts it into every request.
pub(super) fn of<'a, T>(context: &ContextBase<'a, T>) -> &'a Arc<RequestScope> {
    context.data_unchecked::<Arc<RequestScope>>()
}

/// As [`of`], for writing fields: nothing is written for a response that has no room to report it.
///
/// # Errors
/// The response is over its budget.
pub(super) fn for_write<'a, T>(context: &ContextBase<'a, T>) -> Result<&'a Arc<RequestScope>, Error> {
    let scope = of(context);
    scope.budget().check().map_err(ResponseRefused::into_error)?;
    Ok(scope)
}
