//! The session endpoint of pages: `POST /session` renews an access token by the session cookie, which gets
//! another refresh token, and `DELETE /session` signs out. Users have `/session`; another kind of account has
//! a path below it, such as `/session/customer`.
//!
//! CSRF protection: the cookie is `SameSite=Strict`, and a request is taken only if the browser says that it
//! comes from a page of this server. No other route reads a cookie.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode};
use axum::response::IntoResponse as _;
use serde::Serialize;
use serde_json::Value;

use super::session_cookie::SessionCookie;
use crate::accounts::account_id::AccountKind;
use onehop_graphql_server::caller::RequestRejection;
use onehop_graphql_server::endpoint::GraphqlEndpoint;
use onehop_graphql_server::pipeline::rate_limit::RequestQuota;
use onehop_graphql_server::quota::QuotaAccount;
use onehop_graphql_server::refusal::Refusal;

/// Renews and ends sessions by their refresh tokens, which are of one kind of account.
#[async_trait]
pub trait SessionService: Send + Sync + 'static {
    /// Other tokens; `None` if there is no such session.
    async fn renew(
        &self,
        kind: AccountKind,
        refresh_token: &str,
        account: &dyn QuotaAccount,
    ) -> Result<Option<RenewedSession>, RequestRejection>;

    /// Ends a session. A session that does not exist has ended already.
    async fn end(
        &self,
        kind: AccountKind,
        refresh_token: &str,
        account: &dyn QuotaAccount,
    ) -> Result<(), RequestRejection>;
}

/// A renewed session.
#[derive(Debug, Clone)]
pub struct RenewedSession {
    pub tokens: RenewedTokens,
    /// Goes into the cookie.
    pub refresh_token: String,
    /// The remaining lifetime of the session, in milliseconds.
    pub lasts_ms: i64,
}

/// The body of a renewal.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RenewedTokens {
    pub access_token: String,
    /// For how many seconds the access token is good.
    pub expires_in: u64,
    /// When the access token expires: RFC 3339.
    pub expires_at: String,
    /// The account, under the name of its kind: its id as the API has it, and its name.
    #[serde(flatten)]
    pub profile: BTreeMap<&'static str, Value>,
}

/// `/session`, or a path below it.
pub(super) struct SessionEndpoint {
    kind: AccountKind,
    sessions: Arc<dyn SessionService>,
    graphql: Arc<GraphqlEndpoint>,
}

impl SessionEndpoint {
    /// An endpoint whose callers have the budgets of the other one.
    pub(super) fn new(
        kind: AccountKind,
        sessions: Arc<dyn SessionService>,
        graphql: Arc<GraphqlEndpoint>,
    ) -> Self {
        Self { kind, sessions, graphql }
    }

    /// Answers `POST` and `DELETE`.
    pub(super) async fn handle(&self, request: Request<Body>) -> Response<Body> {
        // The body is not read.
        let (head, _) = request.into_parts();
        let quota = self.graphql.request_quota(&head.headers, &head.extensions);
        let Some(cookie) = SessionCookie::of_page(&head.headers, self.kind) else {
            return Refusal::ForeignSession.into_response();
        };
        let token = cookie.read(&head.headers);
        let answer = self.graphql.in_time(self.answer(&head.method, token, &quota)).await;
        let mut response = match answer {
            Ok(Some(session)) => renewed(cookie, &session),
            // There is no session: that is no error, and the cookie of a former session is removed.
            Ok(None) => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::NO_CONTENT;
                response.headers_mut().insert(SET_COOKIE, cookie.removed());
                response
            }
            Err(refusal) => refusal.into_response(),
        };
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        quota.write_headers(response.headers_mut());
        response
    }

    async fn answer(
        &self,
        method: &Method,
        token: Option<&str>,
        quota: &RequestQuota,
    ) -> Result<Option<RenewedSession>, Refusal> {
        let Some(token) = token else { return Ok(None) };
        quota.open(None)?;
        let _admitted = self.graphql.concurrency_limit().admit(1).await?;
        if method == Method::DELETE {
            self.sessions.end(self.kind, token, quota).await?;
            return Ok(None);
        }
        Ok(self.sessions.renew(self.kind, token, quota).await?)
    }
}

fn renewed(cookie: SessionCookie, session: &RenewedSession) -> Response<Body> {
    let mut response = Response::new(Body::from(serde_json::to_vec(&session.tokens).unwrap_or_default()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // A token has no character that a header must not have.
    if let Ok(line) = HeaderValue::try_from(cookie.set(&session.refresh_token, session.lasts_ms)) {
        response.headers_mut().insert(SET_COOKIE, line);
    }
    response
}
