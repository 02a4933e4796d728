//! Signing in and out over the API: access tokens of sessions, their renewal, and the cookie for pages of this server.

use async_graphql::{Context, Result};

use super::errors;
use super::errors::Code;
use super::scope::{self, RequestScope, Services};
use crate::accounts::session::{RefreshToken, SessionId};
use crate::blog::ids::UserId;
use crate::blog::reads::{DataModel, Session, UserView};
use crate::blog::sessions::NewSession;
use crate::http::session_cookie::SessionCookie;
use onehop_store::{Fault, FaultKind};

/// The tokens of a session that has just been started.
pub(super) struct Credentials {
    pub(super) access_token: String,
    /// `None` where a cookie holds it.
    pub(super) refresh_token: Option<String>,
}

/// The tokens of a new session: the refresh token goes into the cookie, if the page asks for one.
pub(super) fn credentials(ctx: &Context<'_>, user: UserId, session: &NewSession) -> Result<Credentials> {
    let scope = scope::of(ctx);
    let access_token = issue(scope, user, session.id)?;
    let refresh_token = session.refresh_token.encode();
    let Some(cookie) = SessionCookie::asked_for(&scope.context().headers) else {
        return Ok(Credentials { access_token, refresh_token: Some(refresh_token) });
    };
    let lasts_ms = session.expires_at_ms.saturating_sub(scope.services().clock.now_ms());
    ctx.insert_http_header("set-cookie", cookie.set(&refresh_token, lasts_ms));
    Ok(Credentials { access_token, refresh_token: None })
}

/// Another access token by a refresh token.
pub(super) async fn renew(scope: &RequestScope, refresh_token: &str) -> Result<(UserView, String)> {
    let found =
        find(scope.services(), refresh_token, scope.session()).await.map_err(|fault| scope.fault(&fault))?;
    let Some((user, session)) = found else {
        return Err(errors::error(Code::Unauthenticated, "There is no such session: sign in again."));
    };
    let access_token = issue(scope, user.id, session)?;
    Ok((user, access_token))
}

/// Ends the session of the request's access token.
pub(super) async fn end_current(ctx: &Context<'_>) -> Result<UserId> {
    let scope = scope::of(ctx);
    let user = scope.signed_in()?;
    let Some(session) = scope.token_session() else {
        let message = "The access token is that of another provider, which signs its users out.";
        return Err(errors::error(Code::BadUserInput, message));
    };
    let ended = scope.services().sessions.end(user, session, scope.ledger()).await;
    ended.map_err(|fault| scope.fault(&fault))?;
    Ok(user)
}

fn issue(scope: &RequestScope, user: UserId, session: SessionId) -> Result<String> {
    issued(scope.services(), user, session).map_err(|fault| scope.fault(&fault))
}

/// An access token of a session.
pub(super) fn issued(services: &Services, user: UserId, session: SessionId) -> Result<String, Fault> {
    let token =
        services.tokens.issue(&user.to_string(), session, services.clock.now_ms()).map_err(|fault| {
            Fault::new(FaultKind::Internal, "no access token could be issued").with_source(fault)
        })?;
    Ok(token.into_string())
}

/// The user and the session of a refresh token.
pub(super) async fn find(
    services: &Services,
    refresh_token: &str,
    session: &Session,
) -> Result<Option<(UserView, SessionId)>, Fault> {
    let Some(token) = RefreshToken::parse(refresh_token) else { return Ok(None) };
    if services.sessions.find(&token, session.ledger()).await?.is_none() {
        return Ok(None);
    }
    let user = services.reads.of(DataModel::V3).user(UserId(token.user_id()), session).await?;
    Ok(user.map(|user| (user, token.session_id())))
}
