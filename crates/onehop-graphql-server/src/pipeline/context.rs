//! The request context: one value for each GraphQL request, which every stage of the pipeline shares and the service is given.
//!
//! A stage reads what earlier stages have found out and adds its own part. There is no map of types behind it: what a resolver
//! can know of its request is a field here.

use std::fmt;
use std::sync::Arc;

use async_graphql::parser::types::{OperationDefinition, OperationType};
use async_graphql::{Extensions, Request, Variables};
use axum::http::HeaderMap;

use onehop_runtime::trace_context::SpanContext;
use parking_lot::{Mutex, MutexGuard};

use super::rate_limit::RateLimitKey;
use crate::caller::{Caller, RequestRejection};
use crate::client_address::ClientAddress;
use crate::document::{Document, OperationError};
use crate::etag::ReadTrace;
use crate::position::Waited;
use crate::quota::{ChargeRecord, EventAdmission, QuotaAccount};
use crate::response_budget::ResponseBudget;

/// One GraphQL request on its way through the pipeline.
pub struct RequestContext {
    /// Receive: the client's network, and the span of the HTTP request.
    pub client: ClientAddress,
    /// Receive: the headers of the HTTP request; empty for an operation on a WebSocket.
    pub headers: HeaderMap,
    /// Resolve: the parsed document, within the limits of documents.
    pub document: Arc<Document>,
    /// Check: what the operation may cost, in fields.
    pub complexity: usize,
    /// Authenticate: the caller; `None` is an anonymous one.
    pub caller: Option<Arc<Caller>>,
    /// Rate limit: the quota that is charged.
    pub quota: Arc<dyn QuotaAccount>,
    /// Await position: what came of waiting for a position.
    pub waited: Option<Waited>,
    /// Admit: the response size limit, and what it has left.
    pub budget: Arc<ResponseBudget>,
    /// Admit: what each event of a subscription passes; `None` for queries and mutations.
    pub event_admission: Option<Arc<dyn EventAdmission>>,
    /// Execute: the span of the execution, if it is traced.
    pub span: Option<SpanContext>,
    /// Execute: where the service records what the response depends on; `None` where that is not asked for.
    pub read_trace: Option<Arc<ReadTrace>>,
    /// What was charged before the execution.
    prior_charges: PriorCharges,
    /// Receive: the access token.
    pub(crate) bearer: Option<String>,
    /// Parse: variables, extensions and the text of the document.
    pub(crate) request: Request,
}

impl RequestContext {
    /// The context of a request for an operation of a document, before the stages from authentication on.
    ///
    /// # Errors
    /// The document has no such operation, or several and the request names none.
    pub fn new(
        client: ClientAddress,
        headers: HeaderMap,
        document: Arc<Document>,
        request: Request,
        quota: Arc<dyn QuotaAccount>,
    ) -> Result<Self, OperationError> {
        document.operation(request.operation_name.as_deref())?;
        Ok(Self {
            client,
            headers,
            document,
            complexity: 0,
            caller: None,
            quota,
            waited: None,
            budget: Arc::default(),
            event_admission: None,
            span: None,
            read_trace: None,
            prior_charges: PriorCharges::default(),
            bearer: None,
            request,
        })
    }

    /// The values of the operation's variables, checked against their types.
    pub fn variables(&self) -> &Variables {
        &self.request.variables
    }

    /// The extensions that the client sent.
    pub fn extensions(&self) -> &Extensions {
        &self.request.extensions
    }

    /// The operation that runs.
    pub fn operation(&self) -> &OperationDefinition {
        let operation = self.document.operation(self.request.operation_name.as_deref());
        operation
            .expect("the operation was found when the context was made, and neither name nor document change")
    }

    /// Whether the operation is a query, a mutation or a subscription.
    pub fn kind(&self) -> OperationType {
        self.operation().ty
    }

    /// The name of the operation that runs, if it has one.
    pub fn operation_name(&self) -> Option<&str> {
        let mut operations = self.document.definitions.operations.iter();
        let only = match (operations.next(), operations.next()) {
            (Some((name, _)), None) => name.map(|name| name.as_str()),
            _ => None,
        };
        self.request.operation_name.as_deref().or(only)
    }

    /// The request as async-graphql executes it: with the parsed document, in place of what is left here.
    pub fn take_request(&mut self) -> Request {
        let mut rest = Request::new("");
        rest.operation_name.clone_from(&self.request.operation_name);
        let mut request = std::mem::replace(&mut self.request, rest);
        request.set_parsed_query(self.document.definitions.clone());
        request
    }

    /// Rate limit: opens the quota of the caller.
    ///
    /// # Errors
    /// The quota is spent, with the time when it is not any more.
    pub(crate) fn open_quota(&self) -> Result<(), RequestRejection> {
        self.quota.open(self.caller.as_deref())
    }

    /// Whose quota is charged: the caller's, or that of an anonymous caller's network.
    pub(crate) fn rate_limit_key(&self) -> RateLimitKey {
        RateLimitKey::of(self.caller.as_ref().map(|caller| caller.id.as_str()), self.client.network)
    }

    /// Where the service records what it does before the execution: made by the first who asks.
    pub(crate) fn charge_record(
        &self,
        make: impl FnOnce(Option<SpanContext>) -> Arc<dyn ChargeRecord>,
    ) -> Arc<dyn ChargeRecord> {
        Arc::clone(self.prior_charges.lock().open.get_or_insert_with(|| make(self.client.span)))
    }

    /// Charges the quota with what was recorded until now.
    pub(crate) fn settle(&self) {
        let mut charges = self.prior_charges.lock();
        if let Some(record) = charges.open.take() {
            self.quota.charge(record.request_charge());
            charges.settled = Some(record);
        }
    }

    /// What was recorded before the execution, and is charged already.
    pub fn prior_charges(&self) -> Option<Arc<dyn ChargeRecord>> {
        self.prior_charges.lock().settled.clone()
    }
}

/// A request that ends before its execution pays for what it made the service do.
impl Drop for RequestContext {
    fn drop(&mut self) {
        self.settle();
    }
}

impl fmt::Debug for RequestContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RequestContext")
            .field("client", &self.client)
            .field("caller", &self.caller.as_ref().map(|caller| &caller.id))
            .finish_non_exhaustive()
    }
}

/// The charge records of authentication and of waiting for a position.
#[derive(Default)]
struct PriorCharges(Mutex<PriorChargeRecords>);

#[derive(Default)]
struct PriorChargeRecords {
    open: Option<Arc<dyn ChargeRecord>>,
    settled: Option<Arc<dyn ChargeRecord>>,
}

impl PriorCharges {
    fn lock(&self) -> MutexGuard<'_, PriorChargeRecords> {
        self.0.lock()
    }
}
