//! The access token of a request, as RFC 6750 has it in a header.

use axum::http::{HeaderMap, header::AUTHORIZATION};

use super::graphql_service::RequestRejection;

/// The token of the `Authorization` header. A header that holds no bearer token is refused like a forged
/// one: the client meant to be somebody.
pub(super) fn bearer_token(headers: &HeaderMap) -> Result<Option<&str>, RequestRejection> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(RequestRejection::InvalidToken);
    }
    let value = value.to_str().map_err(|_| RequestRejection::InvalidToken)?;
    bearer_of(value).map(Some).ok_or(RequestRejection::InvalidToken)
}

/// The token in `Bearer <token>`.
pub(super) fn bearer_of(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
