//! The service port: what the pipeline asks of the program that executes requests.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_graphql::{
    Request, Response, ServerError, Variables,
    parser::types::{ExecutableDocument, OperationDefinition},
};
use async_trait::async_trait;
use futures::stream::BoxStream;

use super::{document::Document, limit_exceeded::LimitExceeded, pipeline::context::RequestContext};
use onehop_runtime::trace_context::SpanContext;

/// The largest complexity of a request.
pub const COMPLEXITY_MAX: usize = 10_000;

/// Executes GraphQL requests. Their documents are parsed and within the limits, and their variables fit their types.
#[async_trait]
pub trait GraphqlService: Send + Sync + 'static {
    /// How complex an operation of a document is with these variables, worked out without executing it. The unit is
    /// a field, those of a list counted as often as the list may be long.
    ///
    /// # Errors
    /// It is more complex than a request may be, or selects what is switched off.
    fn complexity(
        &self,
        document: &Document,
        operation: &OperationDefinition,
        variables: &Variables,
    ) -> Result<usize, ServerError>;

    /// Whether a document fits the schema, whatever its variables will be.
    ///
    /// # Errors
    /// The first thing that does not.
    fn validate(&self, document: &Document) -> Result<(), ServerError>;

    /// A new record of charges for what comes before an execution, traced under this span. The service gets it back in
    /// [`authenticate`](Self::authenticate), [`reach`](Self::reach) and
    /// [`RequestContext::prior_charges`].
    fn new_charge_record(&self, span: Option<SpanContext>) -> Arc<dyn ChargeRecord>;

    /// Authentication: the caller who bears a token. What is read for that is in the record. A token that is expired or
    /// forged is a rejection, never an anonymous caller.
    async fn authenticate(
        &self,
        bearer: &str,
        charges: &dyn ChargeRecord,
    ) -> Result<Caller, RequestRejection>;

    /// Waits until the session of a caller has ended, for a connection that outlives a request.
    async fn session_ended(&self, _caller: &Caller) {
        std::future::pending().await
    }

    /// Executes a query or a mutation that is not too complex. The context has the caller, whose quota is open and is charged
    /// in the end.
    async fn execute(&self, request: Request, context: &Arc<RequestContext>) -> Response;

    /// Starts a subscription: what happens after this returns is in the stream. What it took to start is charged to the
    /// quota; each response states in the extension `requestCharge` what it was charged. Each event passes the
    /// [`EventAdmission`] of the context before it is executed. What cannot be started is answered like a request that cannot
    /// be executed.
    async fn subscribe(
        &self,
        request: Request,
        context: &Arc<RequestContext>,
    ) -> Result<BoxStream<'static, Response>, Response>;

    /// Waits, up to a limit, until what is read has reached a position that a mutation's response gave. What is read for
    /// that is in the record. Asked before the request is admitted.
    ///
    /// # Errors
    /// No mutation's response gave this position, or it lies beyond the last write.
    async fn reach(
        &self,
        position: &str,
        wait_max: Duration,
        charges: &dyn ChargeRecord,
    ) -> Result<Reach, InvalidPosition>;

    /// The number of the last write that every execution sees which begins now; `None` where that is not known. A request
    /// whose context has a [`ReadTrace`](super::etag::ReadTrace) gets there what its answer depends on.
    fn last_write(&self) -> Option<u64>;

    /// Whether what this mark of a trace stands for was not written to after the write with this number.
    fn is_unwritten_since(&self, mark: u32, write: u64) -> bool;

    /// Whether two callers may get different events from a subscription of this document.
    fn is_personal(&self, document: &ExecutableDocument) -> bool;
}

/// The service's own record of what was done for a request and what that was charged: the ledger of its store, say. The
/// server adds it up; the service, which made it, knows its type and gets it back by `dyn Any`.
pub trait ChargeRecord: Any + fmt::Debug + Send + Sync {
    /// The sum of all charges, in request units.
    fn request_charge(&self) -> f64;
}

/// The record of a service that charges nothing before an execution.
#[derive(Debug, Clone, Copy)]
pub struct NoCharges;

impl ChargeRecord for NoCharges {
    fn request_charge(&self) -> f64 {
        0.0
    }
}

/// The quota that a request is charged to.
pub trait QuotaAccount: Send + Sync {
    /// Opens the quota of a caller; `None` is an anonymous one.
    ///
    /// # Errors
    /// The quota is spent.
    fn open(&self, caller: Option<&str>) -> Result<(), RequestRejection>;

    /// Whether the quota is spent by now, whatever it was when it was opened.
    ///
    /// # Errors
    /// It is.
    fn check(&self) -> Result<(), RequestRejection>;

    /// Charges so many request units, also for an execution that was given up.
    fn charge(&self, request_charge: f64);
}

/// Admission control of the events of a subscription: the concurrency limit, and the quotas of those who pay.
#[async_trait]
pub trait EventAdmission: Send + Sync {
    /// Waits until an event may be executed, which it may for as long as the permit is kept.
    ///
    /// # Errors
    /// No quota is left: nothing more is executed.
    async fn admit(&self) -> Result<EventPermit, ServerError>;
}

/// The right to execute an event, given back when it is dropped.
pub type EventPermit = Box<dyn Any + Send>;

/// A quota without a limit.
#[derive(Debug, Clone, Copy)]
pub struct Unmetered;

impl QuotaAccount for Unmetered {
    fn open(&self, _caller: Option<&str>) -> Result<(), RequestRejection> {
        Ok(())
    }

    fn check(&self) -> Result<(), RequestRejection> {
        Ok(())
    }

    fn charge(&self, _request_charge: f64) {}
}

/// Whether what is read has reached a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Reached,
    NotReached(NotReached),
}

/// Why what is read has not reached a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotReached {
    /// It takes longer than a query may wait.
    TimedOut,
    /// A change up to the position cannot be projected: it waits among the dead letters.
    Parked,
    /// Too many queries wait, of this caller or of all.
    TooManyWaiting,
    /// The store does not answer.
    Unavailable,
}

impl NotReached {
    /// Its name in a response.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TimedOut => "TIMED_OUT",
            Self::Parked => "PARKED",
            Self::TooManyWaiting => "TOO_MANY_WAITING",
            Self::Unavailable => "UNAVAILABLE",
        }
    }
}

/// What came of waiting for a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waited {
    pub reach: Reach,
    /// Whether the response says so.
    pub is_told: bool,
}

/// A text that is no position of this server, or one that lies beyond its last write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no position that this server gave out")]
pub struct InvalidPosition;

/// An authenticated caller: the token is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Identifies the caller among all callers.
    pub id: String,
    /// How long the token is good from now on.
    pub valid_for: Duration,
    /// The session of the token; `None` for a token of another provider.
    pub session: Option<CallerSession>,
}

/// The session that an access token belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerSession {
    pub id: String,
    /// When the token was issued (Unix ms).
    pub issued_at_ms: i64,
}

/// Why a request was not executed at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestRejection {
    /// The access token is expired, forged or malformed: 401.
    #[error("The access token is not valid: sign in again.")]
    InvalidToken,
    /// The store or another part does not answer: 503, with the delay as `Retry-After`.
    #[error("The service is not available right now: try again later.")]
    Unavailable { retry_after: Option<Duration> },
    /// The caller has spent more request units than it may: 429, with the delay as `Retry-After`.
    #[error("{exceeded}")]
    OverBudget { exceeded: LimitExceeded, retry_after: Duration },
}
