//! What the GraphQL endpoint asks of the one who executes: the port between HTTP and the schema.

use std::time::Duration;

use async_graphql::{Request, Response};
use async_trait::async_trait;

/// Executes one GraphQL request for one caller.
#[async_trait]
pub trait GraphqlService: Send + Sync + 'static {
    /// Executes a request whose document is parsed and whose variables fit their types.
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
