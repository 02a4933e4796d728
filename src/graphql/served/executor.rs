//! Runs requests of a served model: complexity, the caller, execution, and the charge of the request. The
//! stages before and after are the pipeline's.

use std::sync::Arc;
use std::time::Duration;

use async_graphql::dynamic::{Schema, SchemaError};
use async_graphql::parser::types::{ExecutableDocument, OperationDefinition, OperationType};
use async_graphql::{Request, Response, ServerError, Value, Variables};
use async_trait::async_trait;
use futures::stream::BoxStream;

use super::personal::PersonalFields;
use super::schema::{ServedSchemas, sdl_of, weights};
use super::scope::{ServedScope, ServedServices, requester};
use super::subscriptions::EventExecution;
use crate::accounts::account_id::AccountId;
use crate::accounts::{Authenticator, Bearer, ExternalIdentity, Identity, Verified};
use crate::graphql::charged::{Charged, StoreCharges, ledger_of};
use crate::graphql::compiled_operation::{CompiledOperation, permitted_complexity};
use crate::graphql::complexity::{Complexity, Introspected};
use crate::graphql::errors::{self, Code};
use crate::graphql::executor::{ledger_for, sum, unverified, watch_writes};
use crate::graphql::planned_answer::{AnswerSources, answer};
use crate::graphql::plans::{ExecutorRules, PlanCaller, PlannedSchema};
use crate::graphql::response_completion::{complete, conceal_schema, root_keys};
use crate::graphql::response_extensions::{OPERATIONS, set_charges};
use crate::graphql::schema::SchemaOptions;
use crate::graphql::validation::validation_errors;
use crate::graphql::viewer::session_of;
use crate::served::{ServedModel, derived_id};
use onehop_change_feed::WriteScope;
use onehop_graphql_server::authentication::Authentication;
use onehop_graphql_server::caller::{Caller, CallerSession, RequestRejection};
use onehop_graphql_server::document::Document;
use onehop_graphql_server::pipeline::context::RequestContext;
use onehop_graphql_server::position::{POSITION, Positions};
use onehop_graphql_server::quota::ChargeRecord;
use onehop_graphql_server::service::GraphqlService;
use onehop_graphql_server::variable_coercion::SdlError;
use onehop_graphql_server::write_watch::SharedWatch;
use onehop_graphql_server::written_response::WrittenResponse;
use onehop_runtime::trace_context::SpanContext;
use onehop_store::Ledger;

/// A model whose schema cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum ServedError {
    /// The types do not agree.
    #[error("the model gives no valid schema: {0}")]
    Schema(#[from] SchemaError),
    /// The schema's own text cannot be read back.
    #[error("the schema cannot be served")]
    Sdl(#[from] SdlError),
}

/// Executes the requests of a served model.
pub struct ServedExecutor {
    schemas: ServedSchemas,
    sdl: String,
    complexity: Complexity,
    planned: PlannedSchema,
    personal: PersonalFields,
    options: SchemaOptions,
    services: Arc<ServedServices>,
    authenticator: Authenticator,
}

impl ServedExecutor {
    /// An executor over these services.
    ///
    /// # Errors
    /// The model gives no schema.
    pub fn new(
        model: &Arc<ServedModel>,
        services: ServedServices,
        authenticator: Authenticator,
        options: SchemaOptions,
    ) -> Result<Self, ServedError> {
        let schemas = ServedSchemas::new(model, options)?;
        let sdl = sdl_of(&schemas.full);
        let introspected = Introspected::of_schema(&schemas.full);
        let complexity = Complexity::new(&sdl, introspected, &weights(model), options.complexity_max);
        let complexity = complexity.map_err(SdlError::from)?;
        let personal = PersonalFields::of(model.model());
        let services = Arc::new(services);
        let planned = PlannedSchema::new(&services.planned, ExecutorRules::DYNAMIC);
        Ok(Self { schemas, sdl, complexity, planned, personal, options, services, authenticator })
    }

    /// The schema in schema definition language.
    #[must_use]
    pub fn sdl(&self) -> &str {
        &self.sdl
    }

    fn schema_for(&self, context: &RequestContext) -> &Schema {
        match context.is_validated {
            true if context.kind() == OperationType::Mutation => &self.schemas.unchecked,
            true => &self.schemas.validated,
            false => &self.schemas.full,
        }
    }

    /// The caller with a token of another provider. Issuer and subject together identify a person.
    fn external_caller(&self, identity: &ExternalIdentity, valid_for: Duration) -> Caller {
        let id = derived_id(&["provider", &identity.issuer, &identity.subject]);
        Caller {
            id: AccountId::user(id).to_string(),
            valid_for,
            session: None,
            is_new: false,
            rights: self.services.claims.found_in(&identity.other_claims),
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

    /// Adds the position at which the read models hold the writes of a mutation.
    async fn add_position(&self, response: &mut Response, ledger: &Ledger, since_ms: i64) {
        let read = WriteScope { containers: ledger.containers(), since_ms, ..WriteScope::default() };
        for scope in [WriteScope::of(ledger, since_ms), read] {
            if let Some(position) = self.services.recency.position_after(&scope).await {
                response.extensions.insert(POSITION.to_owned(), Value::from(position));
                return;
            }
        }
    }
}

#[async_trait]
impl GraphqlService for ServedExecutor {
    fn complexity(
        &self,
        document: &Document,
        operation: &OperationDefinition,
        variables: &Variables,
    ) -> Result<usize, ServerError> {
        permitted_complexity(document, operation, variables, (&self.complexity, self.options))
    }

    fn validate(
        &self,
        document: &Document,
        operation_name: Option<&str>,
        variables: &Variables,
    ) -> Result<bool, Vec<ServerError>> {
        let validated =
            validation_errors(&self.schemas.validating, &document.definitions, operation_name, variables);
        validated.map_err(|mut errors| {
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
        // A plan checks nothing, and knows no fields that are being built.
        if !context.is_validated || !self.services.in_building.is_empty() {
            return None;
        }
        let document = &context.document;
        let compiled = CompiledOperation::of(document, context.operation(), &self.complexity)?;
        let plan = compiled.plans.plan(&self.planned, document, context.operation(), context.variables())?;
        if !context.is_live && self.has_ended(context).await {
            return None;
        }
        let asks = context.extensions().get(OPERATIONS) == Some(&Value::Boolean(true));
        let requester = requester(&self.services, context);
        let sources = AnswerSources {
            schema: &self.planned,
            domains: &self.services.planned,
            caller: PlanCaller {
                account: requester.account.map(|account| (0, account)),
                is_staff: requester.is_staff,
                claims: requester.claims,
            },
            tells_operations: asks && self.options.operations,
        };
        answer(plan, sources, context).await
    }

    async fn execute(&self, mut request: Request, context: &Arc<RequestContext>) -> Response {
        if !context.is_live && self.has_ended(context).await {
            let message = "The session has ended: sign in again.";
            return Response::from_errors(vec![errors::document_error(Code::Unauthenticated, message)]);
        }
        let asks = request.extensions.get(OPERATIONS) == Some(&Value::Boolean(true));
        let scope = ServedScope::new(Arc::clone(&self.services), Arc::clone(context), ledger_for(context));
        let scope = Arc::new(scope);
        let is_mutation = context.kind() == OperationType::Mutation;
        let begun_ms = is_mutation.then(|| self.services.clock.now_ms());
        let charged = Charged::new(&*context.quota, scope.ledger()).with_follow_up(scope.follow_up());
        request.data.insert(Arc::clone(&scope));
        let mut response = self.schema_for(context).execute(request).await;
        charged.finish();
        conceal_schema(&mut response.errors, self.options);
        complete(&mut response, &root_keys(context));
        let before = context.prior_charges();
        let spent = sum(before.iter().map(|before| ledger_of(&**before)).chain([scope.ledger()]));
        set_charges(&mut response.extensions, &spent, asks && self.options.operations);
        if let Some(waited) = context.waited {
            waited.state_in(&mut response.extensions);
        }
        if let Some(begun_ms) = begun_ms {
            self.add_position(&mut response, &spent, begun_ms).await;
        }
        if let (Some(trace), Some(marks)) = (&context.read_trace, scope.ledger().touched()) {
            trace.set(marks.into_iter().map(|mark| mark.0).collect());
        }
        response
    }

    async fn subscribe(
        &self,
        request: Request,
        context: &Arc<RequestContext>,
    ) -> Result<BoxStream<'static, Response>, Response> {
        let asks = request.extensions.get(OPERATIONS) == Some(&Value::Boolean(true));
        let execution = EventExecution {
            schema: self.schemas.events.clone(),
            services: Arc::clone(&self.services),
            context: Arc::clone(context),
            options: self.options,
            tells_operations: asks && self.options.operations,
        };
        execution.begin(request).await
    }

    async fn watch_writes(&self) -> Result<Option<SharedWatch>, ServerError> {
        let ServedServices { recency, clock, ids, .. } = &*self.services;
        watch_writes(&**recency, &**clock, &**ids).await
    }

    fn is_personal_query(&self, document: &ExecutableDocument) -> bool {
        self.personal.are_selected(document)
    }

    fn is_personal(&self, document: &ExecutableDocument) -> bool {
        self.personal.are_selected(document)
    }
}

#[async_trait]
impl Authentication for ServedExecutor {
    async fn authenticate(
        &self,
        bearer: &str,
        _charges: &dyn ChargeRecord,
    ) -> Result<Caller, RequestRejection> {
        let now_ms = self.services.clock.now_ms();
        let verified = self.authenticator.authenticate(bearer, now_ms).await.map_err(unverified)?;
        let Verified { bearer, valid_until_ms } = verified;
        let valid_for_ms = u64::try_from(valid_until_ms.saturating_sub(now_ms)).unwrap_or(0);
        let valid_for = Duration::from_millis(valid_for_ms);
        let Bearer { subject, session_id, issued_at_ms } = match bearer {
            Identity::Local(bearer) => bearer,
            Identity::External(identity) => return Ok(self.external_caller(&identity, valid_for)),
        };
        let account = AccountId::parse(&subject).ok_or(RequestRejection::InvalidToken)?;
        match self.services.sessions.exists(account, session_id, issued_at_ms).await {
            Ok(true) => {}
            Ok(false) => return Err(RequestRejection::InvalidToken),
            Err(fault) => {
                tracing::warn!(kind = ?fault.kind, %fault, "the session of a token could not be checked");
                return Err(RequestRejection::Unavailable { retry_after: fault.retry_after });
            }
        }
        Ok(Caller {
            id: account.to_string(),
            valid_for,
            session: Some(CallerSession { id: session_id.to_string(), issued_at_ms }),
            is_new: account.is_new(now_ms),
            rights: 0,
        })
    }

    async fn session_ended(&self, caller: &Caller) {
        match session_of(caller) {
            Some((account, session, issued_at_ms)) => {
                self.services.sessions.ended(account, session, issued_at_ms).await;
            }
            None => std::future::pending().await,
        }
    }
}

impl std::fmt::Debug for ServedExecutor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ServedExecutor").finish_non_exhaustive()
    }
}
