//! Signing in and out over the API, for each kind of account: access tokens of sessions, their renewal, and
//! the cookie for pages of this server.

use async_graphql::{Context, Result};

use super::date_time::DateTime;
use super::errors;
use super::errors::Code;
use super::scope::{self, RequestScope, Services};
use crate::accounts::account_id::{AccountId, AccountKind};
use crate::accounts::session::{RefreshToken, SessionId};
use crate::domain::accounts::sessions::{NewSession, Renewal};
use crate::http::session_cookie::SessionCookie;
use onehop_runtime::clock::format_timestamp;
use onehop_runtime::planted;
use onehop_store::{Fault, FaultKind};

/// The tokens of a session that has just been started or renewed.
pub(super) struct Credentials {
    pub(super) access_token: String,
    pub(super) expires_at: DateTime,
    /// `None` where a cookie holds it.
    pub(super) refresh_token: Option<String>,
}

/// An access token, and when it is no longer accepted (Unix ms).
pub(super) struct IssuedToken {
    pub(super) text: String,
    pub(super) expires_at_ms: i64,
}

/// The tokens of a session: the refresh token goes into the cookie, if the page asks for one.
pub(super) fn credentials(
    ctx: &Context<'_>,
    account: AccountId,
    session: &NewSession,
) -> Result<Credentials> {
    let scope = scope::of(ctx);
    let issued = issue(scope.services(), account, session.id).map_err(|fault| scope.fault(&fault))?;
    let (access_token, expires_at) = (issued.text, DateTime(format_timestamp(issued.expires_at_ms)));
    let refresh_token = session.refresh_token.encode();
    let Some(cookie) = SessionCookie::asked_for(&scope.context().headers, account.kind) else {
        return Ok(Credentials { access_token, expires_at, refresh_token: Some(refresh_token) });
    };
    let lasts_ms = session.expires_at_ms.saturating_sub(scope.services().clock.now_ms());
    ctx.insert_http_header("set-cookie", cookie.set(&refresh_token, lasts_ms));
    Ok(Credentials { access_token, expires_at, refresh_token: None })
}

/// The refresh token in an input; of another kind of account it is no session.
///
/// # Errors
/// `UNAUTHENTICATED`.
pub(super) fn parse_refresh_token(text: &str, kind: AccountKind) -> Result<RefreshToken> {
    let token = RefreshToken::parse(text).filter(|token| token.account().kind == kind);
    token.ok_or_else(no_session)
}

/// Other tokens by a refresh token.
///
/// # Errors
/// `UNAUTHENTICATED` where there is no such session, or the refresh token is an old one.
pub(super) async fn renew(ctx: &Context<'_>, token: &RefreshToken) -> Result<Credentials> {
    let scope = scope::of(ctx);
    let renewal = scope.services().sessions.renew(token, scope.ledger()).await;
    match renewal.map_err(|fault| scope.fault(&fault))? {
        Renewal::Renewed(session) => credentials(ctx, token.account(), &session),
        Renewal::Unknown | Renewal::Reused => Err(no_session()),
    }
}

pub(super) fn no_session() -> async_graphql::Error {
    errors::error(Code::Unauthenticated, "There is no such session: sign in again.")
}

/// Ends the session of the request's access token, or all sessions of its account.
pub(super) async fn end(scope: &RequestScope, account: AccountId, everywhere: bool) -> Result<()> {
    let sessions = &scope.services().sessions;
    let everywhere = everywhere && !planted!("sign-out-leaves-other-sessions");
    let ended = match (everywhere, scope.token_session()) {
        (true, _) => sessions.end_all(account, scope.ledger()).await,
        (false, Some(session)) => sessions.end(account, session, scope.ledger()).await,
        (false, None) => {
            let message = "The access token is that of another provider, which signs its users out.";
            return Err(errors::error(Code::BadUserInput, message));
        }
    };
    ended.map_err(|fault| scope.fault(&fault))
}

/// An access token of a session.
pub(super) fn issue(
    services: &Services,
    account: AccountId,
    session: SessionId,
) -> Result<IssuedToken, Fault> {
    let now_ms = services.clock.now_ms();
    let token = services.tokens.issue(&account.to_string(), session, now_ms).map_err(|fault| {
        Fault::new(FaultKind::Internal, "no access token could be issued").with_source(fault)
    })?;
    Ok(IssuedToken { text: token.into_string(), expires_at_ms: services.tokens.expires_at_ms(now_ms) })
}
