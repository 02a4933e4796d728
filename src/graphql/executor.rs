//! Runs requests: computes their complexity, identifies the caller, executes, and reports the charge of the
//! request.
//!
//! Where the server allows it, a client that sends `"extensions": {"operations": true}` beside its query gets
//! each kind of operation on the store in `extensions.operations`; `extensions.requestCharge` is in every
//! response. A mutation's has the position that read models reach with its writes in `extensions.position`,
//! and a query that sends one reads in `extensions.reached` whether they had, and in `extensions.notReached`
//! why they had not.

use std::sync::Arc;
use std::time::Duration;

use async_graphql::parser::types::{ExecutableDocument, OperationDefinition, OperationType};
use async_graphql::{Extensions, Pos, Request, Response, ServerError, Value, Variables};
use async_trait::async_trait;
use futures::stream::BoxStream;
use tracing::warn;

use super::built_schemas::BuiltSchemas;
use super::charged::{Charged, StoreCharges, ledger_of};
use super::compiled_operation::{CompiledOperation, permitted_complexity};
use super::errors::{self, Code};
use super::planned_answer::{AnswerSources, answer};
use super::plans::{ExecutorRules, PlanCaller, PlannedSchema};
use super::recency::Recency;
use super::response_completion::{complete, conceal_schema, root_keys};
use super::response_extensions::{OPERATIONS, set_charges};
use super::schema::SchemaOptions;
use super::scope::{RequestScope, Services};
use super::subscription;
use super::validation::explain_decimals;
use super::viewer::{Viewer, session_of};
use crate::accounts::account_id::{AccountId, AccountKind};
use crate::accounts::{AuthenticationError, Authenticator, Bearer, ExternalIdentity, Identity, Verified};
use crate::blog::commands::{CommandError, ExternalSubject};
use crate::blog::containers::{POSTS, USERS};
use crate::blog::ids::UserId;
use crate::domain::ids::IdSource;
use crate::served::HeldClaims;
use onehop_change_feed::WriteScope;
use onehop_graphql_server::authentication::Authentication;
use onehop_graphql_server::caller::{Caller, CallerSession, RequestRejection};
use onehop_graphql_server::document::Document;
use onehop_graphql_server::pipeline::context::RequestContext;
use onehop_graphql_server::position::{POSITION, Positions};
use onehop_graphql_server::quota::ChargeRecord;
use onehop_graphql_server::schema_index::SchemaIndex;
use onehop_graphql_server::service::GraphqlService;
use onehop_graphql_server::variable_coercion::SdlError;
use onehop_graphql_server::write_watch::SharedWatch;
use onehop_graphql_server::written_response::WrittenResponse;
use onehop_runtime::clock::Clock;
use onehop_runtime::trace_context::SpanContext;
use onehop_store::Ledger;

/// The place of the model whose accounts are users, and of the one whose accounts are customers.
const USERS_MODEL: usize = 0;
const CUSTOMERS_MODEL: usize = 1;

/// The logical partitions that a live query may read.
const LIVE_READS_MAX: usize = 1_000;

/// Executes the requests of this process.
pub struct Executor {
    pub(super) schemas: Arc<BuiltSchemas>,
    planned: PlannedSchema,
    pub(super) options: SchemaOptions,
    services: Arc<Services>,
    /// The services of events.
    pub(super) live_services: Arc<Services>,
    authenticator: Authenticator,
}

impl Executor {
    /// An executor over these services.
    ///
    /// # Errors
    /// The schema's own SDL cannot be read back.
    pub fn new(
        services: Services,
        authenticator: Authenticator,
        options: SchemaOptions,
    ) -> Result<Self, SdlError> {
        let live_services = Services {
            reads: services.live_reads.clone(),
            webstore: services.webstore.live(),
            ..services.clone()
        };
        Ok(Self {
            schemas: BuiltSchemas::of(options)?,
            planned: PlannedSchema::new(&services.planned, ExecutorRules::STATIC),
            options,
            services: Arc::new(services),
            live_services: Arc::new(live_services),
            authenticator,
        })
    }

    /// The types of the schema, for the endpoint.
    pub fn index(&self) -> &SchemaIndex {
        &self.schemas.index
    }

    /// The services of the schema.
    pub(super) fn services(&self) -> &Services {
        &self.services
    }

    async fn run(&self, mut request: Request, context: &Arc<RequestContext>) -> Response {
        // Where other processes write, their projected changes are visible only in the latest commit.
        let services = if reads_recent(context) { &self.live_services } else { &self.services };
        let tells_operations = self.tells_operations(&request.extensions);
        let scope = RequestScope::new(Arc::clone(services), Arc::clone(context), ledger_for(context));
        let scope = Arc::new(scope.telling_operations(tells_operations));
        let is_mutation = context.kind() == OperationType::Mutation;
        let begun_ms = is_mutation.then(|| self.services.clock.now_ms());
        let charged = Charged::new(&*context.quota, scope.ledger()).with_follow_up(scope.follow_up());
        request.data.insert(Arc::clone(&scope));
        let schema = match context.is_validated {
            true if is_mutation => &self.schemas.unchecked,
            true => &self.schemas.validated,
            false => &self.schemas.schema,
        };
        let mut response = schema.execute(request).await;
        charged.finish();
        conceal_schema(&mut response.errors, self.options);
        complete(&mut response, &root_keys(context));
        let before = context.prior_charges();
        let spent = sum(before.iter().map(|before| ledger_of(&**before)).chain([scope.ledger()]));
        set_charges(&mut response.extensions, &spent, tells_operations);
        if let Some(waited) = context.waited {
            waited.state_in(&mut response.extensions);
        }
        if let Some(begun_ms) = begun_ms {
            self.tell_position(&mut response, &spent, begun_ms).await;
        }
        if let (Some(trace), Some(marks)) = (&context.read_trace, scope.ledger().touched()) {
            trace.set(marks.into_iter().map(|mark| mark.0).collect());
        }
        response
    }

    /// Runs the plan of a query, if it has one.
    async fn run_plan(&self, context: &RequestContext) -> Option<WrittenResponse> {
        let document = &context.document;
        // A plan checks nothing.
        if !context.is_validated {
            return None;
        }
        let compiled = CompiledOperation::of(document, context.operation(), &self.schemas.complexity)?;
        let variables = context.variables();
        let plan = compiled.plans.plan(&self.planned, document, context.operation(), variables)?;
        if self.has_ended(context).await {
            return None;
        }
        let sources = AnswerSources {
            schema: &self.planned,
            domains: &self.services.planned,
            caller: self.plan_caller(context),
            tells_operations: self.tells_operations(context.extensions()),
        };
        answer(plan, sources, context).await
    }

    /// The caller of a request, in the form for plans.
    fn plan_caller(&self, context: &RequestContext) -> PlanCaller {
        let account = context.caller.as_ref().and_then(|caller| AccountId::parse(&caller.id));
        let Some(AccountId { kind, id }) = account else { return PlanCaller::default() };
        let is_user = kind == AccountKind::User;
        PlanCaller {
            account: Some((if is_user { USERS_MODEL } else { CUSTOMERS_MODEL }, id)),
            is_staff: is_user && self.services.staff.member(id).is_some(),
            claims: HeldClaims::default(),
        }
    }

    /// Whether the session of the caller's access token has ended.
    async fn has_ended(&self, context: &RequestContext) -> bool {
        match context.caller.as_deref().and_then(session_of) {
            Some((account, session, issued_at_ms)) => {
                matches!(self.services.sessions.exists(account, session, issued_at_ms).await, Ok(false))
            }
            None => false,
        }
    }

    /// Whether a request asks for its operations, and may.
    pub(super) fn tells_operations(&self, extensions: &Extensions) -> bool {
        self.options.operations && extensions.get(OPERATIONS) == Some(&Value::Boolean(true))
    }

    /// Adds the position at which the read models hold the writes of a mutation.
    async fn tell_position(&self, response: &mut Response, ledger: &Ledger, since_ms: i64) {
        // A repeated command may have written nothing that matters, and its first run everything: the repeat
        // has read those writes. Where it read nothing that a read model follows, it is a command of the
        // blog's accounts.
        let whole = |containers| WriteScope { containers, since_ms, ..WriteScope::default() };
        let scopes =
            [WriteScope::of(ledger, since_ms), whole(ledger.containers()), whole(vec![POSTS, USERS])];
        for scope in &scopes {
            if let Some(position) = self.services.recency.position_after(scope).await {
                response.extensions.insert(POSITION.to_owned(), Value::from(position));
                return;
            }
        }
    }

    /// The caller behind a token.
    async fn viewer(&self, bearer: &str, ledger: &Ledger) -> Result<Verified<Viewer>, RequestRejection> {
        let now_ms = self.services.clock.now_ms();
        let verified = self.authenticator.authenticate(bearer, now_ms).await.map_err(unverified)?;
        let Verified { bearer, valid_until_ms } = verified;
        let bearer = match bearer {
            Identity::Local(bearer) => self.local_viewer(bearer).await?,
            Identity::External(identity) => {
                let user = self.external_viewer(identity, ledger).await?;
                Viewer { account: user.into(), session: None }
            }
        };
        Ok(Verified { bearer, valid_until_ms })
    }

    /// The account of an access token whose session exists.
    async fn local_viewer(&self, bearer: Bearer) -> Result<Viewer, RequestRejection> {
        let Bearer { subject, session_id, issued_at_ms } = bearer;
        let account = AccountId::parse(&subject).ok_or(RequestRejection::InvalidToken)?;
        match self.services.sessions.exists(account, session_id, issued_at_ms).await {
            Ok(true) => Ok(Viewer { account, session: Some((session_id, issued_at_ms)) }),
            Ok(false) => Err(RequestRejection::InvalidToken),
            Err(fault) => {
                warn!(kind = ?fault.kind, %fault, "the session of a token could not be checked");
                Err(RequestRejection::Unavailable { retry_after: fault.retry_after })
            }
        }
    }

    /// Waits until the account of a caller with a token of another provider is suspended or deleted.
    async fn external_ended(&self, caller: &Caller) {
        let account = AccountId::parse(&caller.id).filter(|account| account.kind == AccountKind::User);
        let Some(account) = account else { return std::future::pending().await };
        let Services { commands, sessions, .. } = &*self.services;
        let mut watch = sessions.watch(account);
        while !matches!(commands.may_sign_in(UserId(account.id), sessions, &Ledger::new()).await, Ok(false)) {
            watch.next_check().await;
        }
    }

    async fn external_viewer(
        &self,
        identity: ExternalIdentity,
        ledger: &Ledger,
    ) -> Result<UserId, RequestRejection> {
        let ExternalIdentity { issuer, subject, preferred_username, .. } = identity;
        let subject = ExternalSubject { issuer, subject, preferred_username };
        match self.services.commands.user_for_subject(&subject, ledger).await {
            Ok(user) => Ok(user.id),
            Err(CommandError::Rejected(_)) => Err(RequestRejection::InvalidToken),
            Err(CommandError::Fault(fault)) => {
                warn!(kind = ?fault.kind, %fault, "the user of a token could not be found out");
                Err(RequestRejection::Unavailable { retry_after: fault.retry_after })
            }
        }
    }
}

#[async_trait]
impl GraphqlService for Executor {
    fn complexity(
        &self,
        document: &Document,
        operation: &OperationDefinition,
        variables: &Variables,
    ) -> Result<usize, ServerError> {
        permitted_complexity(document, operation, variables, (&self.schemas.complexity, self.options))
    }

    fn validate(
        &self,
        document: &Document,
        operation_name: Option<&str>,
        variables: &Variables,
    ) -> Result<bool, Vec<ServerError>> {
        let validated = self.schemas.validator().check(&document.definitions, operation_name, variables);
        validated.map_err(|mut errors| {
            errors.iter_mut().for_each(explain_decimals);
            conceal_schema(&mut errors, self.options);
            errors.iter_mut().for_each(errors::complete);
            errors
        })?;
        document.set_valid();
        Ok(true)
    }

    fn new_charge_record(&self, span: Option<SpanContext>) -> Arc<dyn ChargeRecord> {
        Arc::new(StoreCharges(Ledger::new().under(span)))
    }

    fn authentication(&self) -> &dyn Authentication {
        self
    }

    fn positions(&self) -> &dyn Positions {
        &*self.services.recency
    }

    async fn execute_plan(&self, context: &RequestContext) -> Option<WrittenResponse> {
        self.run_plan(context).await
    }

    async fn execute(&self, request: Request, context: &Arc<RequestContext>) -> Response {
        // A connection ends with its session; an answer is for all members of a group.
        if !context.is_live && self.has_ended(context).await {
            let message = "The session has ended: sign in again.";
            return Response::from_errors(vec![errors::document_error(Code::Unauthenticated, message)]);
        }
        self.run(request, context).await
    }

    async fn subscribe(
        &self,
        request: Request,
        context: &Arc<RequestContext>,
    ) -> Result<BoxStream<'static, Response>, Response> {
        self.begin_subscription(request, context).await
    }

    async fn watch_writes(&self) -> Result<Option<SharedWatch>, ServerError> {
        let Services { recency, clock, ids, .. } = &*self.services;
        watch_writes(&**recency, &**clock, &**ids).await
    }

    fn is_personal(&self, document: &ExecutableDocument) -> bool {
        subscription::is_personal(document)
    }
}

#[async_trait]
impl Authentication for Executor {
    async fn authenticate(
        &self,
        bearer: &str,
        charges: &dyn ChargeRecord,
    ) -> Result<Caller, RequestRejection> {
        let Verified { bearer, valid_until_ms } = self.viewer(bearer, ledger_of(charges)).await?;
        let session =
            bearer.session.map(|(id, issued_at_ms)| CallerSession { id: id.to_string(), issued_at_ms });
        let now_ms = self.services.clock.now_ms();
        let valid_for_ms = valid_until_ms.saturating_sub(now_ms);
        let valid_for = Duration::from_millis(u64::try_from(valid_for_ms).unwrap_or(0));
        let (id, is_new) = (bearer.account.to_string(), bearer.account.is_new(now_ms));
        Ok(Caller { id, valid_for, session, is_new, rights: 0 })
    }

    async fn session_ended(&self, caller: &Caller) {
        match session_of(caller) {
            Some((account, session, issued_at_ms)) => {
                self.services.sessions.ended(account, session, issued_at_ms).await;
            }
            None => self.external_ended(caller).await,
        }
    }
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Executor").finish_non_exhaustive()
    }
}

/// The rejection of a request whose token is not verified.
pub(super) fn unverified(error: AuthenticationError) -> RequestRejection {
    match error {
        AuthenticationError::Expired | AuthenticationError::Invalid => RequestRejection::InvalidToken,
        AuthenticationError::Unavailable(fault) => {
            warn!(error = ?fault, "a token could not be verified");
            let delay_ms = u64::try_from(fault.retry_after_ms()).unwrap_or(0);
            RequestRejection::Unavailable { retry_after: Some(Duration::from_millis(delay_ms)) }
        }
    }
}

/// A ledger that remembers its reads, if the request needs them, under the span of the store's work.
pub(super) fn ledger_for(context: &RequestContext) -> Ledger {
    let ledger = match context.read_trace {
        Some(_) if context.is_live => Ledger::remembering_up_to(LIVE_READS_MAX),
        Some(_) => Ledger::remembering(),
        None => Ledger::new(),
    };
    ledger.under(context.span)
}

/// Whether a request has to see commits of other processes: after a wait for a position, and where a change
/// of the change feed is the reason of its execution.
pub(super) fn reads_recent(context: &RequestContext) -> bool {
    context.waited.is_some() || context.is_live
}

/// A watch of the writes of all processes, for a live query.
pub(super) async fn watch_writes(
    recency: &dyn Recency,
    clock: &dyn Clock,
    ids: &dyn IdSource,
) -> Result<Option<SharedWatch>, ServerError> {
    match recency.watch_writes(&Ledger::new()).await {
        Ok(watch) => Ok(Some(watch)),
        Err(fault) => {
            Err(errors::fault(&fault, ids.next_id(clock.now_ms())).into_server_error(Pos::default()))
        }
    }
}

/// The sum of all of these ledgers.
pub(super) fn sum<'a>(ledgers: impl IntoIterator<Item = &'a Ledger>) -> Ledger {
    let sum = Ledger::new();
    ledgers.into_iter().for_each(|ledger| sum.absorb(ledger));
    sum
}
