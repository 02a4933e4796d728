//! The session service: renews and ends sessions for the session endpoint of pages.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::charged::Charged;
use super::executor::Executor;
use super::ids::GlobalId;
use super::session::issue;
use crate::accounts::account_id::{AccountId, AccountKind};
use crate::accounts::session::RefreshToken;
use crate::blog::ids::UserId;
use crate::blog::reads::{DataModel, Session};
use crate::domain::accounts::sessions::Renewal;
use crate::http::session_endpoint::{RenewedSession, RenewedTokens, SessionService};
use crate::webstore::ids::CustomerId;
use onehop_graphql_server::caller::RequestRejection;
use onehop_graphql_server::quota::QuotaAccount;
use onehop_runtime::clock::format_timestamp;
use onehop_store::{Fault, Ledger};

impl Executor {
    /// The account as its pages show it; `None` where it does not exist.
    async fn profile(&self, account: AccountId, session: &Session) -> Result<Option<Value>, Fault> {
        let services = self.services();
        match account.kind {
            AccountKind::User => {
                let id = UserId(account.id);
                let user = services.reads.of(DataModel::V3).user(id, session).await?;
                let id = GlobalId::User(id).encode();
                Ok(user.map(|user| json!({ "id": id, "username": user.username })))
            }
            AccountKind::Customer => {
                let id = CustomerId(account.id);
                let customer = services.webstore.reads.customer(id, session.ledger()).await?;
                let id = GlobalId::Customer(id).encode();
                Ok(customer.map(|customer| {
                    json!({ "id": id, "firstName": customer.first_name, "lastName": customer.last_name })
                }))
            }
        }
    }

    /// The profile is read first, so that no fault comes after the rotation.
    async fn renewed(
        &self,
        token: &RefreshToken,
        session: &Session,
    ) -> Result<Option<RenewedSession>, Fault> {
        let (services, account) = (self.services(), token.account());
        let Some(profile) = self.profile(account, session).await? else { return Ok(None) };
        let Renewal::Renewed(renewed) = services.sessions.renew(token, session.ledger()).await? else {
            return Ok(None);
        };
        let issued = issue(services, account, renewed.id)?;
        let tokens = RenewedTokens {
            access_token: issued.text,
            expires_in: services.tokens.lifetime().as_secs(),
            expires_at: format_timestamp(issued.expires_at_ms),
            profile: [(account.kind.name(), profile)].into(),
        };
        let lasts_ms = renewed.expires_at_ms.saturating_sub(services.clock.now_ms());
        Ok(Some(RenewedSession { tokens, refresh_token: renewed.refresh_token.encode(), lasts_ms }))
    }
}

#[async_trait]
impl SessionService for Executor {
    async fn renew(
        &self,
        kind: AccountKind,
        refresh_token: &str,
        account: &dyn QuotaAccount,
    ) -> Result<Option<RenewedSession>, RequestRejection> {
        let Some(token) = token_of(kind, refresh_token) else { return Ok(None) };
        let session = Session::new(std::sync::Arc::new(Ledger::new()));
        let charged = Charged::new(account, session.ledger());
        let renewed = self.renewed(&token, &session).await;
        charged.finish();
        renewed.map_err(unavailable)
    }

    async fn end(
        &self,
        kind: AccountKind,
        refresh_token: &str,
        account: &dyn QuotaAccount,
    ) -> Result<(), RequestRejection> {
        let Some(token) = token_of(kind, refresh_token) else { return Ok(()) };
        let ledger = Ledger::new();
        let charged = Charged::new(account, &ledger);
        let ended = self.services().sessions.end(token.account(), token.session_id(), &ledger).await;
        charged.finish();
        ended.map_err(unavailable)
    }
}

fn token_of(kind: AccountKind, text: &str) -> Option<RefreshToken> {
    RefreshToken::parse(text).filter(|token| token.account().kind == kind)
}

fn unavailable(fault: Fault) -> RequestRejection {
    tracing::warn!(kind = ?fault.kind, %fault, "a session could not be renewed or ended");
    RequestRejection::Unavailable { retry_after: fault.retry_after }
}
