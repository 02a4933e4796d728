//! The service port: the pipeline's requests to the program that executes operations.

use std::sync::Arc;

use async_graphql::{
    Request, Response, ServerError, Variables,
    parser::types::{ExecutableDocument, OperationDefinition},
};
use async_trait::async_trait;
use futures::stream::BoxStream;

use super::authentication::{Authentication, NoAccounts};
use super::document::Document;
use super::limit_exceeded::LimitExceeded;
use super::pipeline::context::RequestContext;
use super::position::{NoPositions, Positions};
use super::quota::{ChargeRecord, NoCharges};
use super::write_watch::SharedWatch;
use super::written_response::WrittenResponse;
use onehop_runtime::trace_context::SpanContext;

/// The largest complexity of a request.
pub const COMPLEXITY_MAX: usize = 10_000;

/// The number of fields that a document selects, as the complexity of its operations.
///
/// # Errors
/// They are more than these.
pub fn selected_fields(document: &Document, complexity_max: usize) -> Result<usize, ServerError> {
    let selections = document.size.selections;
    LimitExceeded::new("complexity-max", complexity_max, "The request asks for more than", "fields")
        .unless(selections <= complexity_max)?;
    Ok(selections)
}

/// Executes GraphQL requests. Their documents are parsed and within the limits, and their variables fit their
/// types.
///
/// Two methods are the program's own; each other one is a capability, which is absent by default.
#[async_trait]
pub trait GraphqlService: Send + Sync + 'static {
    /// Executes a query or a mutation that is not too complex. The context has the caller, whose quota is
    /// open and is charged in the end.
    async fn execute(&self, request: Request, context: &Arc<RequestContext>) -> Response;

    /// Starts a subscription: later events are in the stream. The charge of the start goes to the quota; each
    /// response states its own charge in the extension `requestCharge`. Each event passes the
    /// [`EventAdmission`](super::quota::EventAdmission) of the context before it is executed. A subscription
    /// that cannot be started is answered like a request that cannot be executed.
    async fn subscribe(
        &self,
        request: Request,
        context: &Arc<RequestContext>,
    ) -> Result<BoxStream<'static, Response>, Response>;

    /// The complexity of an operation of a document with these variables, worked out without executing it.
    /// The unit is a field; the fields of a list count as often as the list may be long. By default it is the
    /// number of fields that the document selects.
    ///
    /// # Errors
    /// It is more complex than a request may be, or selects a field that is switched off.
    fn complexity(
        &self,
        document: &Document,
        _operation: &OperationDefinition,
        _variables: &Variables,
    ) -> Result<usize, ServerError> {
        selected_fields(document, COMPLEXITY_MAX)
    }

    /// Validates a document with the variables of a request: whether it fits the schema. A service that finds
    /// a document to fit with any variables reports it by [`Document::set_valid`]. `false` from a service
    /// that validates while it executes, as by default.
    ///
    /// # Errors
    /// The errors of the document. The pipeline has made sure that few of the document's names are unknown.
    fn validate(
        &self,
        _document: &Document,
        _operation_name: Option<&str>,
        _variables: &Variables,
    ) -> Result<bool, Vec<ServerError>> {
        Ok(false)
    }

    /// A new record of charges before an execution, traced under this span. The service gets it back in
    /// [`Authentication::authenticate`], [`Positions::reach`] and [`RequestContext::prior_charges`]. By
    /// default nothing is charged.
    fn new_charge_record(&self, _span: Option<SpanContext>) -> Arc<dyn ChargeRecord> {
        Arc::new(NoCharges)
    }

    /// The accounts of callers. By default every caller is anonymous.
    fn authentication(&self) -> &dyn Authentication {
        &NoAccounts
    }

    /// Read-your-writes. By default no position is given or taken.
    fn positions(&self) -> &dyn Positions {
        &NoPositions
    }

    /// Executes a query by a plan that was compiled for it, and writes its data. `None` without a plan, or
    /// where the plan met an unforeseen case: [`execute`](Self::execute) answers then. The same holds as
    /// there.
    async fn execute_plan(&self, _context: &RequestContext) -> Option<WrittenResponse> {
        None
    }

    /// A watch of the writes of all processes, for live queries; `None` where these are not served. The
    /// dependencies of an execution whose context is [live](RequestContext::is_live) are marks of the watch.
    ///
    /// # Errors
    /// Writes cannot be watched at this moment.
    async fn watch_writes(&self) -> Result<Option<SharedWatch>, ServerError> {
        Ok(None)
    }

    /// Whether two callers may get different answers to a live query of this document.
    fn is_personal_query(&self, _document: &ExecutableDocument) -> bool {
        true
    }

    /// Whether two callers may get different events from a subscription of this document. Where they may not,
    /// equal subscriptions share one execution.
    fn is_personal(&self, _document: &ExecutableDocument) -> bool {
        true
    }
}
