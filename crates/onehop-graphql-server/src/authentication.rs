//! The port to the accounts of a program: the pipeline asks it who bears an access token.

use async_trait::async_trait;

use super::caller::{Caller, RequestRejection};
use super::quota::ChargeRecord;

/// Finds the callers of requests.
#[async_trait]
pub trait Authentication: Send + Sync + 'static {
    /// The caller who bears a token. The reads for it are in the record. A token that is expired or forged is
    /// a rejection, never an anonymous caller.
    ///
    /// # Errors
    /// The token is not valid, or cannot be verified now.
    async fn authenticate(
        &self,
        bearer: &str,
        charges: &dyn ChargeRecord,
    ) -> Result<Caller, RequestRejection>;

    /// Waits until the session of a caller has ended, for a connection that outlives a request. By default a
    /// session ends with its token.
    async fn session_ended(&self, _caller: &Caller) {
        std::future::pending().await
    }
}

/// No accounts: every caller is anonymous, and a request with an access token is rejected.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAccounts;

#[async_trait]
impl Authentication for NoAccounts {
    async fn authenticate(
        &self,
        _bearer: &str,
        _charges: &dyn ChargeRecord,
    ) -> Result<Caller, RequestRejection> {
        Err(RequestRejection::InvalidToken)
    }
}
