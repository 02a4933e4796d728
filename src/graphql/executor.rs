//! Runs requests: says how complex they are, finds out who asks, executes, and says what the request was charged.
//!
//! Where the server allows it, a client that sends `"extensions": {"operations": true}` beside its query gets each kind of
//! operation on the store in `extensions.operations`; `extensions.requestCharge` is in every response. A mutation's has the position that read
//! models reach with its writes in `extensions.position`, and a query that sends one is told in `extensions.reached` whether
//! they had, and in `extensions.notReached` why they had not.

use std::any::TypeId;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_graphql::indexmap::IndexMap;
use async_graphql::parser::types::{
    ExecutableDocument, OperationDefinition, OperationType, Selection, SelectionSet,
};
use async_graphql::{Name, PathSegment, Request, Response, ServerError, Value, Variables, to_value};
use async_trait::async_trait;
use axum::http::HeaderMap;
use futures::stream::BoxStream;
use tracing::warn;
use uuid::Uuid;

use super::charged::{Charged, StoreCharges, ledger_of};
use super::complexity::Complexity;
use super::concealed::concealed;
use super::errors::{self, Code};
use super::scope::{RequestScope, Services};
use super::session::CurrentSession;
use super::validation::Validator;
use super::{BlogSchema, SchemaOptions, live_schema, schema, subscription, validated_schema};
use crate::accounts::session::SessionId;
use crate::accounts::{AuthenticationError, Authenticator, Bearer, ExternalIdentity, Identity, Verified};
use crate::blog::commands::{CommandError, ExternalSubject};
use crate::blog::containers::{POSTS, USERS};
use crate::blog::ids::UserId;
use crate::http::session_cookie::SessionCookie;
use onehop_change_feed::WriteScope;
use onehop_graphql_server::document::Document;
use onehop_graphql_server::document_limits::LEVELS_MAX;
use onehop_graphql_server::etag::ReadTrace;
use onehop_graphql_server::graphql_request::POSITION;
use onehop_graphql_server::graphql_service::{
    Account, Caller, CallerSession, ChargeRecord, Free, GraphqlService, InvalidPosition, Reach,
    RequestRejection, SpentBefore, Waited,
};
use onehop_graphql_server::limit_exceeded::LimitExceeded;
use onehop_graphql_server::response_budget::ResponseBudget;
use onehop_graphql_server::variables::SdlError;
use onehop_runtime::trace_context::SpanContext;
use onehop_store::{Ledger, Mark};

/// The name by which a request asks for its operations, and by which the response tells them.
const OPERATIONS: &str = "operations";
/// Whether what was read had reached the position that the request named.
const REACHED: &str = "reached";
/// Why it had not.
const NOT_REACHED: &str = "notReached";
/// What a response's reads and writes were charged, in request units.
const REQUEST_CHARGE: &str = "requestCharge";

/// Executes the requests of this process.
pub struct Executor {
    schema: BlogSchema,
    validated_schema: BlogSchema,
    pub(super) live_schema: BlogSchema,
    complexity: Complexity,
    /// Made when a document is to be validated that is not executed.
    validator: OnceLock<Validator>,
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
        let schema = schema(options);
        let complexity = Complexity::of_schema(&schema, options.complexity_max)?;
        let live_services = Services { reads: services.live_reads.clone(), ..services.clone() };
        Ok(Self {
            schema,
            validated_schema: validated_schema(options),
            live_schema: live_schema(options),
            complexity,
            validator: OnceLock::new(),
            options,
            services: Arc::new(services),
            live_services: Arc::new(live_services),
            authenticator,
        })
    }

    /// Executes a request of a known viewer, whose document is within the limits; `None` is an anonymous one.
    pub async fn execute_as(&self, request: Request, viewer: Option<UserId>) -> Response {
        self.execute_on(&Free, request, viewer).await
    }

    /// What the schema works with.
    pub(super) fn services(&self) -> &Services {
        &self.services
    }

    async fn execute_on(&self, account: &dyn Account, request: Request, viewer: Option<UserId>) -> Response {
        let ledger = ledger_for(&request);
        self.run(account, request, viewer, ledger).await
    }

    async fn run(
        &self,
        account: &dyn Account,
        mut request: Request,
        viewer: Option<UserId>,
        ledger: Ledger,
    ) -> Response {
        let waited = data_of::<Waited>(&request).copied();
        let before = data_of::<SpentBefore>(&request).cloned();
        // Where other processes write, what they have projected shows in the latest commit and not before.
        let services = if waited.is_some() { &self.live_services } else { &self.services };
        let scope = RequestScope::new(Arc::clone(services), viewer, ledger).within(budget_of(&request));
        let trace = data_of::<Arc<ReadTrace>>(&request).cloned();
        let tells_operations = self.tells_operations(&request);
        let root = match prepare(&mut request) {
            Ok(root) => root,
            Err(error) => return refused(error, &scope, tells_operations),
        };
        let begun_ms = is_mutation(&mut request).then(|| self.services.clock.now_ms());
        let scope = Arc::new(scope);
        let charged = Charged::new(account, scope.ledger()).with_follow_up(scope.follow_up());
        request.data.insert(Arc::clone(&scope));
        let document = data_of::<Arc<Document>>(&request).cloned();
        // A variable that may be null can stand where null may not.
        let has_null = request.variables.values().any(|value| *value == Value::Null);
        let is_known = !has_null && document.as_ref().is_some_and(|document| document.is_valid());
        let schema = if is_known { &self.validated_schema } else { &self.schema };
        let mut response = schema.execute(request).await;
        charged.finish();
        if let Some(document) = document.filter(|_| response.errors.is_empty()) {
            document.set_valid();
        }
        conceal_schema(&mut response, self.options);
        complete(&mut response, &root);
        let before = before.as_ref().map(|SpentBefore(before)| ledger_of(&**before));
        let spent = sum(before.into_iter().chain([scope.ledger()]));
        tell_charges(&mut response, &spent, tells_operations);
        if let Some(waited) = waited {
            tell_reach(&mut response, waited);
        }
        if let Some(begun_ms) = begun_ms {
            self.tell_position(&mut response, &spent, begun_ms).await;
        }
        if let (Some(trace), Some(marks)) = (trace, scope.ledger().touched()) {
            trace.set(marks.into_iter().map(|mark| mark.0).collect());
        }
        response
    }

    /// Whether a request asks for its operations, and may.
    pub(super) fn tells_operations(&self, request: &Request) -> bool {
        self.options.operations && request.extensions.get(OPERATIONS) == Some(&Value::Boolean(true))
    }

    /// Says when the read models hold what a mutation wrote.
    async fn tell_position(&self, response: &mut Response, ledger: &Ledger, since_ms: i64) {
        let recency = &self.services.recency;
        let (containers, partitions) = (ledger.written(), ledger.written_partitions());
        let position = match recency.position_after(&WriteScope { containers, partitions, since_ms }).await {
            // A repeated command may have written nothing that matters, and its first run everything.
            None => {
                let containers = vec![POSTS, USERS];
                recency.position_after(&WriteScope { containers, partitions: None, since_ms }).await
            }
            some => some,
        };
        if let Some(position) = position {
            response.extensions.insert(POSITION.to_owned(), Value::from(position));
        }
    }

    /// Who bears a token.
    async fn viewer(&self, bearer: &str, ledger: &Ledger) -> Result<Verified<Viewer>, RequestRejection> {
        let now_ms = self.services.clock.now_ms();
        match self.authenticator.authenticate(bearer, now_ms).await {
            Ok(Verified { bearer, valid_until_ms }) => {
                let bearer = match bearer {
                    Identity::Local(bearer) => self.local_viewer(bearer).await?,
                    Identity::External(identity) => {
                        Viewer { user: self.external_viewer(identity, ledger).await?, session: None }
                    }
                };
                Ok(Verified { bearer, valid_until_ms })
            }
            Err(AuthenticationError::Expired | AuthenticationError::Invalid) => {
                Err(RequestRejection::InvalidToken)
            }
            Err(AuthenticationError::Unavailable(fault)) => {
                warn!(error = ?fault, "a token could not be verified");
                let delay_ms = u64::try_from(fault.retry_after_ms()).unwrap_or(0);
                Err(RequestRejection::Unavailable { retry_after: Some(Duration::from_millis(delay_ms)) })
            }
        }
    }

    /// The user of an access token whose session exists.
    async fn local_viewer(&self, bearer: Bearer) -> Result<Viewer, RequestRejection> {
        let Bearer { user_id: id, session_id, issued_at_ms } = bearer;
        let user = user_id(&id).ok_or(RequestRejection::InvalidToken)?;
        match self.services.sessions.exists(user, session_id, issued_at_ms).await {
            Ok(true) => Ok(Viewer { user, session: Some((session_id, issued_at_ms)) }),
            Ok(false) => Err(RequestRejection::InvalidToken),
            Err(fault) => {
                warn!(kind = ?fault.kind, %fault, "the session of a token could not be checked");
                Err(RequestRejection::Unavailable { retry_after: fault.retry_after })
            }
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
        if document.size.introspects && !self.options.introspection {
            let message = "The schema is not told: introspection is switched off.";
            return Err(errors::document_error(Code::ValidationFailed, message));
        }
        let complexity =
            self.complexity.of(&document.definitions, operation, variables).map_err(|mut error| {
                errors::complete(&mut error);
                error
            })?;
        self.complexity.check(complexity)?;
        Ok(complexity)
    }

    fn validate(&self, document: &Document) -> Result<(), ServerError> {
        let validator = self.validator.get_or_init(|| Validator::new(self.options));
        validator.check(document.definitions.clone()).inspect(|()| document.set_valid())
    }

    fn check_complexity(&self, complexity: usize) -> Result<(), LimitExceeded> {
        self.complexity.check(complexity)
    }

    fn new_charge_record(&self, span: Option<SpanContext>) -> Arc<dyn ChargeRecord> {
        Arc::new(StoreCharges(Ledger::new().under(span)))
    }

    fn read_headers(&self, headers: &HeaderMap, request: &mut Request) {
        if let Some(cookie) = SessionCookie::asked_for(headers) {
            request.data.insert(cookie);
        }
    }

    async fn authenticate(
        &self,
        bearer: &str,
        charges: &dyn ChargeRecord,
    ) -> Result<Caller, RequestRejection> {
        let Verified { bearer, valid_until_ms } = self.viewer(bearer, ledger_of(charges)).await?;
        let session =
            bearer.session.map(|(id, issued_at_ms)| CallerSession { id: id.to_string(), issued_at_ms });
        let valid_for_ms = valid_until_ms.saturating_sub(self.services.clock.now_ms());
        let valid_for = Duration::from_millis(u64::try_from(valid_for_ms).unwrap_or(0));
        Ok(Caller { id: bearer.user.to_string(), valid_for, session })
    }

    async fn session_ended(&self, caller: &Caller) {
        match session_of(caller) {
            Some((user, session, issued_at_ms)) => {
                self.services.sessions.ended(user, session, issued_at_ms).await;
            }
            None => std::future::pending().await,
        }
    }

    async fn execute_for(
        &self,
        mut request: Request,
        caller: Option<&Caller>,
        account: &dyn Account,
    ) -> Response {
        if let Some((user, session, issued_at_ms)) = caller.and_then(session_of) {
            if matches!(self.services.sessions.exists(user, session, issued_at_ms).await, Ok(false)) {
                let message = "The session has ended: sign in again.";
                return Response::from_errors(vec![errors::document_error(Code::Unauthenticated, message)]);
            }
            request.data.insert(CurrentSession(session));
        }
        self.execute_on(account, request, caller.and_then(|caller| user_id(&caller.id))).await
    }

    async fn subscribe(
        &self,
        request: Request,
        caller: Option<&Caller>,
        account: &dyn Account,
    ) -> Result<BoxStream<'static, Response>, Response> {
        self.subscribe_as(request, caller.and_then(|caller| user_id(&caller.id)), account).await
    }

    async fn reach(
        &self,
        position: &str,
        wait_max: Duration,
        charges: &dyn ChargeRecord,
    ) -> Result<Reach, InvalidPosition> {
        self.services.recency.reach(position, wait_max, ledger_of(charges)).await
    }

    fn last_write(&self) -> Option<u64> {
        self.services.recency.last_write()
    }

    fn is_unwritten_since(&self, mark: u32, write: u64) -> bool {
        self.services.recency.is_unwritten_since(Mark(mark), write)
    }

    fn is_personal(&self, document: &ExecutableDocument) -> bool {
        subscription::is_personal(document)
    }
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Executor").finish_non_exhaustive()
    }
}

/// Who sends a request, and the session of the access token with the time when it was issued (Unix ms); a token of another provider
/// has none.
#[derive(Debug, Clone, Copy)]
struct Viewer {
    user: UserId,
    session: Option<(SessionId, i64)>,
}

/// The session of a caller.
fn session_of(caller: &Caller) -> Option<(UserId, SessionId, i64)> {
    let session = caller.session.as_ref()?;
    Some((user_id(&caller.id)?, SessionId::parse(&session.id)?, session.issued_at_ms))
}

/// What travels with a request, if it does.
fn data_of<T: Send + Sync + 'static>(request: &Request) -> Option<&T> {
    request.data.get(&TypeId::of::<T>())?.downcast_ref()
}

/// The budget within which the response to a request is built.
pub(super) fn budget_of(request: &Request) -> Arc<ResponseBudget> {
    data_of::<Arc<ResponseBudget>>(request).cloned().unwrap_or_default()
}

/// A ledger that remembers what is read, if the request wants to know, and under whose span the store is asked.
fn ledger_for(request: &Request) -> Ledger {
    let remembers = data_of::<Arc<ReadTrace>>(request).is_some();
    let ledger = if remembers { Ledger::remembering() } else { Ledger::new() };
    ledger.under(data_of::<SpanContext>(request).copied())
}

fn user_id(text: &str) -> Option<UserId> {
    Uuid::try_parse(text).ok().map(UserId)
}

pub(super) fn refused(error: ServerError, scope: &RequestScope, tells_operations: bool) -> Response {
    let mut response = Response::from_errors(vec![error]);
    tell_charges(&mut response, scope.ledger(), tells_operations);
    response
}

/// Parses the document, unless that is done, and returns what is selected at the root of the operation that will run.
pub(super) fn prepare(request: &mut Request) -> Result<Vec<Name>, ServerError> {
    let name = request.operation_name.clone();
    let document = request.parsed_query().map_err(|mut error| {
        errors::set(&mut error, Code::ParseFailed);
        error
    })?;
    let operation = operation(document, name.as_deref());
    Ok(operation.map(|operation| root_keys(document, operation)).unwrap_or_default())
}

/// Whether the operation that will run is a mutation.
fn is_mutation(request: &mut Request) -> bool {
    let name = request.operation_name.clone();
    let operation = request.parsed_query().ok().and_then(|document| operation(document, name.as_deref()));
    operation.is_some_and(|operation| operation.ty == OperationType::Mutation)
}

/// The response keys that an operation selects at its root, in order, with fragments written out.
fn root_keys(document: &ExecutableDocument, operation: &OperationDefinition) -> Vec<Name> {
    let mut keys = Vec::new();
    collect(document, &operation.selection_set.node, LEVELS_MAX, &mut keys);
    keys
}

/// Goes so many levels of fragments down; validation refuses what goes deeper.
fn collect(document: &ExecutableDocument, selections: &SelectionSet, levels: usize, keys: &mut Vec<Name>) {
    let Some(levels) = levels.checked_sub(1) else { return };
    for selection in &selections.items {
        match &selection.node {
            Selection::Field(field) => keys.push(field.node.response_key().node.clone()),
            Selection::InlineFragment(inline) => {
                collect(document, &inline.node.selection_set.node, levels, keys);
            }
            Selection::FragmentSpread(spread) => {
                if let Some(fragment) = document.fragments.get(&spread.node.fragment_name.node) {
                    collect(document, &fragment.node.selection_set.node, levels, keys);
                }
            }
        }
    }
}

/// The operation with this name, or the only one. Where there is none, the schema says so.
fn operation<'a>(document: &'a ExecutableDocument, name: Option<&str>) -> Option<&'a OperationDefinition> {
    let mut operations = document.operations.iter();
    let found = match name {
        Some(name) => operations.find(|(candidate, _)| candidate.is_some_and(|candidate| candidate == name)),
        None => operations.next(),
    };
    found.map(|(_, operation)| &operation.node)
}

/// Gives every error a code, and puts the fields at the root in the order of the selection: async-graphql leaves out
/// those that failed, and orders the others as they were ready. A failed field is null here; where it may not be, the
/// HTTP side carries the null further up, as it does everywhere below the root.
pub(super) fn complete(response: &mut Response, root: &[Name]) {
    for error in &mut response.errors {
        errors::complete(error);
    }
    // async-graphql writes null where directives left nothing of the selection.
    if response.errors.is_empty() && response.data == Value::Null {
        response.data = Value::Object(IndexMap::new());
    }
    let Value::Object(data) = &mut response.data else {
        return;
    };
    if response.errors.is_empty() && data.len() < 2 {
        return;
    }
    let mut ordered = IndexMap::with_capacity(root.len());
    for response_key in root {
        let has_failed = || response.errors.iter().any(|error| is_about(error, response_key));
        match data.swap_remove(response_key) {
            Some(value) => {
                ordered.insert(response_key.clone(), value);
            }
            // Without an error `@skip` left it out, or it is selected twice.
            None if !ordered.contains_key(response_key) && has_failed() => {
                ordered.insert(response_key.clone(), Value::Null);
            }
            None => {}
        }
    }
    *data = ordered;
}

/// Takes names and types of the schema out of errors of validation, where clients may not know them.
pub(super) fn conceal_schema(response: &mut Response, options: SchemaOptions) {
    if options.suggestions {
        return;
    }
    for error in response.errors.iter_mut().filter(|error| error.path.is_empty()) {
        if let Some(message) = concealed(&error.message) {
            error.message = message;
        }
    }
}

/// Whether an error stopped the field with this key at the root.
fn is_about(error: &ServerError, response_key: &Name) -> bool {
    matches!(error.path.first(), Some(PathSegment::Field(name)) if name == response_key.as_str())
}

/// What all of these ledgers have.
fn sum<'a>(ledgers: impl IntoIterator<Item = &'a Ledger>) -> Ledger {
    let sum = Ledger::new();
    ledgers.into_iter().for_each(|ledger| sum.absorb(ledger));
    sum
}

fn tell_reach(response: &mut Response, waited: Waited) {
    if !waited.is_told {
        return;
    }
    let is_reached = waited.reach == Reach::Reached;
    response.extensions.insert(REACHED.to_owned(), Value::from(is_reached));
    if let Reach::NotReached(reason) = waited.reach {
        response.extensions.insert(NOT_REACHED.to_owned(), Value::from(reason.name()));
    }
}

pub(super) fn tell_charges(response: &mut Response, ledger: &Ledger, tells_operations: bool) {
    let total = Value::from(hundredths(ledger.total().0));
    response.extensions.insert(REQUEST_CHARGE.to_owned(), total);
    if tells_operations {
        let mut operations = ledger.folded();
        for operation in &mut operations {
            operation.request_charge.0 = hundredths(operation.request_charge.0);
        }
        // Plain rows with string keys are always values of GraphQL.
        let operations = to_value(&operations).unwrap_or_default();
        response.extensions.insert(OPERATIONS.to_owned(), operations);
    }
}

/// Request charges have two decimals; sums of them shall, too.
pub(super) fn hundredths(charge: f64) -> f64 {
    (charge * 100.0).round() / 100.0
}
