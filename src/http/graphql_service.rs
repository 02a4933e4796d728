//! What the GraphQL endpoint asks of the one who executes: the port between HTTP and the schema.

use std::time::Duration;

use async_graphql::{
    Request, Response, ServerError, Variables,
    parser::types::{ExecutableDocument, OperationDefinition},
};
use async_trait::async_trait;
use futures::stream::BoxStream;

use super::{document::Document, limit_exceeded::LimitExceeded};

/// The largest complexity of a request.
pub const COMPLEXITY_MAX: usize = 10_000;

/// Executes GraphQL requests. Their documents are parsed and within the limits, and their variables fit their types; the
/// [`Network`](super::client_address::Network) that they come from is in their data.
#[async_trait]
pub trait GraphqlService: Send + Sync + 'static {
    /// How complex an operation of a document is with these variables, worked out without executing it. The unit is
    /// a field, those of a list counted as often as the list may be long.
    ///
    /// # Errors
    /// It is more complex than a request may be, or asks what nobody may.
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

    /// Whether several operations may be so complex together.
    ///
    /// # Errors
    /// It is more than one request may be.
    fn check_complexity(&self, complexity: usize) -> Result<(), LimitExceeded>;

    /// Executes a query or a mutation that is not too complex, for one caller.
    ///
    /// `bearer` is the token of the `Authorization` header; `None` means that there was no such header, and
    /// nothing else: a token that is expired or forged is a rejection, never an anonymous request. The account is
    /// opened once the caller is known, before anything is executed, and charged in the end.
    async fn execute(
        &self,
        request: Request,
        bearer: Option<&str>,
        account: &dyn Account,
    ) -> Result<Response, RequestRejection>;

    /// Who bears a token, for a connection that outlives a request.
    async fn authenticate(&self, bearer: &str) -> Result<Caller, RequestRejection>;

    /// Executes a query or a mutation for somebody who is known already, and whose account is open; `None` is an
    /// anonymous caller.
    async fn execute_for(&self, request: Request, caller: Option<&Caller>, account: &dyn Account)
    -> Response;

    /// Starts a subscription: what happens after this returns is in the stream. Each response says in the extension
    /// `requestCharge` what it was charged. What cannot be started is answered like a
    /// request that cannot be executed.
    async fn subscribe(
        &self,
        request: Request,
        caller: Option<&Caller>,
    ) -> Result<BoxStream<'static, Response>, Response>;

    /// Waits, up to a limit, until what is read has reached a position that a mutation's response gave, and says whether
    /// it has. Asked before it is the request's turn to be executed, which then carries [`Reached`].
    async fn reach(&self, position: &str) -> Result<bool, InvalidPosition>;

    /// The number of the last write that every execution sees which begins now; `None` where that is not known. A request
    /// that carries an `Arc` of a [`ReadTrace`](super::etag::ReadTrace) is told what its answer depends on.
    fn last_write(&self) -> Option<u64>;

    /// Whether what this mark of a trace stands for was not written to after the write with this number.
    fn is_unwritten_since(&self, mark: u32, write: u64) -> bool;

    /// Whether two callers may get different events from a subscription of this document.
    fn is_personal(&self, document: &ExecutableDocument) -> bool;
}

/// Who pays for what is executed.
pub trait Account: Send + Sync {
    /// Asked when it is known who asks; `None` is an anonymous caller.
    ///
    /// # Errors
    /// Nothing may be executed for them now.
    fn open(&self, caller: Option<&str>) -> Result<(), RequestRejection>;

    /// Charges so many request units, also for an execution that was given up.
    fn charge(&self, request_charge: f64);
}

/// Nobody's account.
#[derive(Debug, Clone, Copy)]
pub struct Free;

impl Account for Free {
    fn open(&self, _caller: Option<&str>) -> Result<(), RequestRejection> {
        Ok(())
    }

    fn charge(&self, _request_charge: f64) {}
}

/// Whether what is read has reached the position that the request named. In the data of a request that named one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached(pub bool);

/// A text that is no position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no position that this server gave out")]
pub struct InvalidPosition;

/// Somebody whose token is good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Identifies the caller among all callers.
    pub id: String,
    /// How long the token is good from now on.
    pub valid_for: Duration,
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
