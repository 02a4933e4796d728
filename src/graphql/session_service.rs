//! The session service: renews and ends sessions for the session endpoint of pages.

use std::sync::Arc;

use async_trait::async_trait;

use super::charged::Charged;
use super::executor::Executor;
use super::ids::GlobalId;
use super::session::{find, issued};
use crate::accounts::session::RefreshToken;
use crate::blog::ids::UserId;
use crate::blog::reads::Session;
use crate::http::session_endpoint::{Renewal, RenewedUser, SessionService};
use onehop_graphql_server::caller::RequestRejection;
use onehop_graphql_server::quota::QuotaAccount;
use onehop_store::{Fault, Ledger};

#[async_trait]
impl SessionService for Executor {
    async fn renew(
        &self,
        refresh_token: &str,
        account: &dyn QuotaAccount,
    ) -> Result<Option<Renewal>, RequestRejection> {
        let services = self.services();
        let session = Session::new(Arc::new(Ledger::new()));
        let charged = Charged::new(account, session.ledger());
        let found = find(services, refresh_token, &session).await;
        charged.finish();
        let Some((user, session)) = found.map_err(unavailable)? else { return Ok(None) };
        let access_token = issued(services, user.id, session).map_err(unavailable)?;
        let user = RenewedUser { id: GlobalId::User(user.id).encode(), username: user.username };
        Ok(Some(Renewal { access_token, expires_in: services.tokens.lifetime().as_secs(), user }))
    }

    async fn end(&self, refresh_token: &str, account: &dyn QuotaAccount) -> Result<(), RequestRejection> {
        let Some(token) = RefreshToken::parse(refresh_token) else { return Ok(()) };
        let ledger = Ledger::new();
        let charged = Charged::new(account, &ledger);
        let user = UserId(token.user_id());
        let ended = self.services().sessions.end(user, token.session_id(), &ledger).await;
        charged.finish();
        ended.map_err(unavailable)
    }
}

fn unavailable(fault: Fault) -> RequestRejection {
    tracing::warn!(kind = ?fault.kind, %fault, "a session could not be renewed or ended");
    RequestRejection::Unavailable { retry_after: fault.retry_after }
}
