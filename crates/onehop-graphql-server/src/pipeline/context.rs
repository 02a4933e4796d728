//! The request context: one value for each GraphQL request, which every stage of the pipeline shares and the
//! service is given.
//!
//! A stage reads the results of earlier stages and adds its own part. There is no map of types behind it:
//! each fact about a request that a resolver can know is a field here.

use std::fmt;
use std::sync::Arc;

use async_graphql::parser::types::{OperationDefinition, OperationType};
use async_graphql::{Extensions, Request, Variables};
use axum::http::HeaderMap;

use onehop_runtime::trace_context::SpanContext;
use parking_lot::{Mutex, MutexGuard};

use super::rate_limit::{RateLimitKey, RequestQuota};
use crate::body_memory::BodyRoom;
use crate::caller::Caller;
use crate::client_address::ClientAddress;
use crate::document::{Document, OperationError};
use crate::etag::ReadTrace;
use crate::position::Waited;
use crate::quota::{ChargeRecord, EventAdmission, QuotaAccount, Unmetered};
use crate::response_budget::ResponseBudget;

/// One GraphQL request on its way through the pipeline.
pub struct RequestContext {
    /// Receive: the client's network, and the span of the HTTP request.
    pub client: ClientAddress,
    /// Receive: the headers of the HTTP request; empty for an operation on a WebSocket.
    pub headers: HeaderMap,
    /// Authenticate: the caller; `None` is an anonymous one.
    pub caller: Option<Arc<Caller>>,
    /// Rate limit: the quota that is charged.
    pub quota: Arc<dyn QuotaAccount>,
    /// Resolve: the parsed document, within the limits of documents.
    pub document: Arc<Document>,
    /// Check: the complexity limit of the operation, in fields.
    pub complexity: usize,
    /// Validate: whether the document fits the schema with these variables. The service validates it
    /// otherwise.
    pub is_validated: bool,
    /// Await position: the result of waiting for a position.
    pub waited: Option<Waited>,
    /// Admit: the response size limit, and the rest of it.
    pub budget: Arc<ResponseBudget>,
    /// Admit: the admission of each event of a subscription; `None` for queries and mutations.
    pub event_admission: Option<Arc<dyn EventAdmission>>,
    /// Execute: the span of the execution, if it is traced.
    pub span: Option<SpanContext>,
    /// Execute: the service's record of the dependencies of the response; `None` where it is not needed.
    pub read_trace: Option<Arc<ReadTrace>>,
    /// Whether this is one execution of a live query, whose caller has no session that could have ended.
    pub is_live: bool,
    /// The charges before the execution.
    pub(crate) prior_charges: PriorCharges,
    /// Receive: the access token.
    pub(crate) bearer: Option<String>,
    /// Read the body: its room in the body memory, for as long as the request holds its content.
    pub(crate) body: Option<BodyRoom>,
    /// Parse: variables, extensions and the text of the document as the client sent it.
    pub(crate) request: Request,
}

impl RequestContext {
    /// The context of a request for an operation of a document, before the stages from authentication on.
    ///
    /// # Errors
    /// The document has no such operation, or several and the request names no operation.
    pub fn new(
        client: ClientAddress,
        headers: HeaderMap,
        document: Arc<Document>,
        request: Request,
        quota: Arc<dyn QuotaAccount>,
    ) -> Result<Self, OperationError> {
        document.operation(request.operation_name.as_deref())?;
        let prior_charges = PriorCharges::new(client.span, Arc::clone(&quota));
        Ok(Self {
            client,
            headers,
            caller: None,
            quota,
            document,
            complexity: 0,
            is_validated: false,
            waited: None,
            budget: Arc::default(),
            event_admission: None,
            span: None,
            read_trace: None,
            is_live: false,
            prior_charges,
            bearer: None,
            body: None,
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

    /// Whether the operation is a query whose client wants each new answer.
    pub fn wants_live(&self) -> bool {
        self.document.is_live(self.operation())
    }

    /// Whether the client wants a stream of results.
    pub(crate) fn wants_stream(&self) -> bool {
        self.kind() == OperationType::Subscription || self.wants_live()
    }

    /// The request and the context of one execution of this live query, or of one event. The members of its
    /// group pay.
    pub fn for_live_execution(&self, budget: Arc<ResponseBudget>, trace: Arc<ReadTrace>) -> (Request, Self) {
        let again = || {
            let mut request = Request::new(self.request.query.as_str());
            request.operation_name.clone_from(&self.request.operation_name);
            request
        };
        let mut request = again().variables(self.request.variables.clone());
        request.extensions = self.request.extensions.clone();
        request.set_parsed_query(self.document.definitions.clone());
        let quota: Arc<dyn QuotaAccount> = Arc::new(Unmetered);
        let context = Self {
            client: self.client,
            headers: HeaderMap::new(),
            caller: self.caller.clone(),
            document: Arc::clone(&self.document),
            complexity: self.complexity,
            is_validated: self.is_validated,
            waited: None,
            budget,
            event_admission: None,
            span: None,
            read_trace: Some(trace),
            is_live: true,
            prior_charges: PriorCharges::new(None, Arc::clone(&quota)),
            quota,
            bearer: None,
            body: None,
            request: again(),
        };
        (request, context)
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

    /// The request as async-graphql executes it: with the parsed document, in place of the parts left here.
    pub fn take_request(&mut self) -> Request {
        let mut rest = Request::new(self.request.query.as_str());
        rest.operation_name.clone_from(&self.request.operation_name);
        let mut request = std::mem::replace(&mut self.request, rest);
        request.set_parsed_query(self.document.definitions.clone());
        request
    }

    /// The key of the charged quota: the caller's, or the network's for an anonymous caller.
    pub(crate) fn rate_limit_key(&self) -> RateLimitKey {
        RateLimitKey::of(self.caller.as_ref().map(|caller| caller.id.as_str()), self.client.network)
    }

    /// The record of the work before the execution, which is charged already.
    pub fn prior_charges(&self) -> Option<Arc<dyn ChargeRecord>> {
        self.prior_charges.settled()
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

/// The charge records of authentication and of waiting for a position. A request that ends before its
/// execution pays for the work that it caused.
pub(crate) struct PriorCharges {
    span: Option<SpanContext>,
    quota: Arc<dyn QuotaAccount>,
    records: Mutex<PriorChargeRecords>,
}

#[derive(Default)]
struct PriorChargeRecords {
    open: Option<Arc<dyn ChargeRecord>>,
    settled: Option<Arc<dyn ChargeRecord>>,
}

impl PriorCharges {
    /// No records yet, for a request under this span.
    pub(crate) fn new(span: Option<SpanContext>, quota: Arc<dyn QuotaAccount>) -> Self {
        Self { span, quota, records: Mutex::default() }
    }

    /// The service's record of its work before the execution: made when it is first needed.
    pub(crate) fn record(
        &self,
        make: impl FnOnce(Option<SpanContext>) -> Arc<dyn ChargeRecord>,
    ) -> Arc<dyn ChargeRecord> {
        Arc::clone(self.lock().open.get_or_insert_with(|| make(self.span)))
    }

    /// Charges the quota with the records until now.
    pub(crate) fn settle(&self) {
        let mut records = self.lock();
        if let Some(record) = records.open.take() {
            self.quota.charge(record.request_charge());
            records.settled = Some(record);
        }
    }

    fn settled(&self) -> Option<Arc<dyn ChargeRecord>> {
        self.lock().settled.clone()
    }

    fn lock(&self) -> MutexGuard<'_, PriorChargeRecords> {
        self.records.lock()
    }
}

impl Drop for PriorCharges {
    fn drop(&mut self) {
        self.settle();
    }
}

/// A request of a caller who is known, before its document is.
pub(crate) struct CallerRequest {
    pub(crate) client: ClientAddress,
    pub(crate) headers: HeaderMap,
    /// It came by GET.
    pub(crate) is_read_only: bool,
    pub(crate) bearer: Option<String>,
    pub(crate) caller: Option<Arc<Caller>>,
    pub(crate) quota: Arc<RequestQuota>,
    pub(crate) prior_charges: PriorCharges,
    pub(crate) body: BodyRoom,
}

impl CallerRequest {
    /// A request of an anonymous caller, or of a caller who is about to be authenticated.
    pub(crate) fn new(quota: &Arc<RequestQuota>, body: BodyRoom) -> Self {
        let client = quota.client();
        Self {
            client,
            headers: HeaderMap::new(),
            is_read_only: false,
            bearer: None,
            caller: None,
            prior_charges: PriorCharges::new(client.span, Arc::clone(quota) as _),
            quota: Arc::clone(quota),
            body,
        }
    }

    /// The context of this request for an operation of a document.
    ///
    /// # Errors
    /// The document has no such operation, or several and the request names no operation.
    pub(crate) fn with_document(
        self,
        document: Arc<Document>,
        request: Request,
    ) -> Result<RequestContext, OperationError> {
        let Self { client, headers, bearer, caller, quota, prior_charges, body, .. } = self;
        let context = RequestContext::new(client, headers, document, request, quota)?;
        Ok(RequestContext { caller, bearer, prior_charges, body: Some(body), ..context })
    }
}
