//! Authenticate: the access token of a request, as RFC 6750 has it in a header, and the caller who bears it.

use std::sync::Arc;

use axum::http::{HeaderMap, header::AUTHORIZATION};
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::context::CallerRequest;
use crate::caller::{Caller, RequestRejection};
use crate::endpoint::GraphqlEndpoint;
use crate::refusal::Refusal;

/// The token of the `Authorization` header. A header without a bearer token is refused like a forged token:
/// the client did not mean to be anonymous.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Result<Option<&str>, RequestRejection> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(RequestRejection::InvalidToken);
    }
    let value = value.to_str().map_err(|_| RequestRejection::InvalidToken)?;
    bearer_of(value).map(Some).ok_or(RequestRejection::InvalidToken)
}

/// The token in `Bearer <token>`.
pub(crate) fn bearer_of(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

impl GraphqlEndpoint {
    /// Authenticates the caller of a request; one without a token is anonymous.
    ///
    /// # Errors
    /// The token is expired or forged, or cannot be verified now.
    pub(crate) async fn authenticate(&self, request: &mut CallerRequest) -> Result<(), Refusal> {
        let Some(bearer) = request.bearer.as_deref() else { return Ok(()) };
        let charges = request.prior_charges.record(|span| self.service().new_charge_record(span));
        let caller = self.service().authentication().authenticate(bearer, &*charges).await?;
        request.caller = Some(Arc::new(caller));
        Ok(())
    }

    /// Authenticates the caller of a connection that outlives a request.
    ///
    /// # Errors
    /// As [`authenticate`](Self::authenticate), and where it takes too long.
    pub(crate) async fn authenticate_connection(&self, bearer: &str) -> Result<Caller, Refusal> {
        let charges = self.service().new_charge_record(None);
        self.in_time(async { Ok(self.service().authentication().authenticate(bearer, &*charges).await?) })
            .await
    }

    /// Waits until the session of a caller has ended.
    pub(crate) fn session_ended(&self, caller: Arc<Caller>) -> BoxFuture<'static, ()> {
        let service = Arc::clone(self.service());
        async move { service.authentication().session_ended(&caller).await }.boxed()
    }
}
