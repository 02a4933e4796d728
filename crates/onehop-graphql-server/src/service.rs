//! The service port: the pipeline's requests to the program that executes operations.

use std::sync::Arc;
use std::time::Duration;

use async_graphql::{
    Request, Response, ServerError, Variables,
    parser::types::{ExecutableDocument, OperationDefinition},
};
use async_trait::async_trait;
use futures::stream::BoxStream;

use super::caller::{Caller, RequestRejection};
use super::document::Document;
use super::pipeline::context::RequestContext;
use super::position::{InvalidPosition, Reach};
use super::quota::ChargeRecord;
use super::write_watch::SharedWatch;
use super::written_response::WrittenResponse;
use onehop_runtime::trace_context::SpanContext;

/// The largest complexity of a request.
pub const COMPLEXITY_MAX: usize = 10_000;

/// Executes GraphQL requests. Their documents are parsed and within the limits, and their variables fit their
/// types.
#[async_trait]
pub trait GraphqlService: Send + Sync + 'static {
    /// The complexity of an operation of a document with these variables, worked out without executing it.
    /// The unit is a field; the fields of a list count as often as the list may be long.
    ///
    /// # Errors
    /// It is more complex than a request may be, or selects a field that is switched off.
    fn complexity(
        &self,
        document: &Document,
        operation: &OperationDefinition,
        variables: &Variables,
    ) -> Result<usize, ServerError>;

    /// Validates a document with the variables of a request: whether it fits the schema. A service that finds
    /// a document to fit with any variables reports it by [`Document::set_valid`]. `false` from a service
    /// that validates while it executes.
    ///
    /// # Errors
    /// The errors of the document. The pipeline has made sure that few of the document's names are unknown.
    fn validate(
        &self,
        document: &Document,
        operation_name: Option<&str>,
        variables: &Variables,
    ) -> Result<bool, Vec<ServerError>>;

    /// A new record of charges before an execution, traced under this span. The service gets it back in
    /// [`authenticate`](Self::authenticate), [`reach`](Self::reach) and [`RequestContext::prior_charges`].
    fn new_charge_record(&self, span: Option<SpanContext>) -> Arc<dyn ChargeRecord>;

    /// Authentication: the caller who bears a token. The reads for it are in the record. A token that is
    /// expired or forged is a rejection, never an anonymous caller.
    async fn authenticate(
        &self,
        bearer: &str,
        charges: &dyn ChargeRecord,
    ) -> Result<Caller, RequestRejection>;

    /// Waits until the session of a caller has ended, for a connection that outlives a request.
    async fn session_ended(&self, _caller: &Caller) {
        std::future::pending().await
    }

    /// Executes a query by a plan that was compiled for it, and writes its data. `None` without a plan, or
    /// where the plan met an unforeseen case: [`execute`](Self::execute) answers then. The same holds as
    /// there.
    async fn execute_plan(&self, _context: &RequestContext) -> Option<WrittenResponse> {
        None
    }

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

    /// Waits, up to a limit, until reads have reached a position from a mutation's response. The reads for it
    /// are in the record. Asked before the request is admitted.
    ///
    /// # Errors
    /// No mutation's response gave this position, or it lies beyond the last write.
    async fn reach(
        &self,
        position: &str,
        wait_max: Duration,
        charges: &dyn ChargeRecord,
    ) -> Result<Reach, InvalidPosition>;

    /// A position that is reached when both of these are, so that a caller's later write does not hide an
    /// earlier one. `None` where one of them is no position that a mutation's response gave.
    fn join_positions(&self, _one: &str, _other: &str) -> Option<String> {
        None
    }

    /// The number of the last write that every execution sees which begins now; `None` where that is not
    /// known. A request whose context has a [`ReadTrace`](super::etag::ReadTrace) gets the dependencies of
    /// its answer there.
    fn last_write(&self) -> Option<u64>;

    /// Whether nothing under this mark of a trace was written after the write with this number.
    fn is_unwritten_since(&self, mark: u32, write: u64) -> bool;

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

    /// Whether two callers may get different events from a subscription of this document.
    fn is_personal(&self, document: &ExecutableDocument) -> bool;
}
