//! What the GraphQL endpoint asks of the one who executes: the port between HTTP and the schema.

use std::time::Duration;

use async_graphql::{Request, Response, ServerError, Variables, parser::types::OperationDefinition};
use async_trait::async_trait;

use super::{document::Document, limit_exceeded::LimitExceeded};

/// The largest complexity of a request.
pub const COMPLEXITY_MAX: usize = 10_000;

/// Executes one GraphQL request for one caller.
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

    /// Whether several operations may be so complex together.
    ///
    /// # Errors
    /// It is more than one request may be.
    fn check_complexity(&self, complexity: usize) -> Result<(), LimitExceeded>;

    /// Executes a request whose document is parsed, whose variables fit their types, and which is not too complex.
    ///
    /// `bearer` is the token of the `Authorization` header; `None` means that there was no such header, and
    /// nothing else: a token that is expired or forged is a rejection, never an anonymous request.
    async fn execute(&self, request: Request, bearer: Option<&str>) -> Result<Response, RequestRejection>;
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
}
