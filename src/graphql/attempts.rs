//! Brute-force protection of mutations: attempts to sign in or up are counted before the command, and end
//! with its outcome.

use async_graphql::{Context, Result};

use super::errors;
use super::scope::{self, RequestScope};
use crate::accounts::account_id::{AccountId, AccountKind};
use crate::accounts::brute_force_protection::{Attempt, AttemptKind, AttemptOutcome, LoginName};
use crate::accounts::network_prefixes::AttemptOrigin;
use crate::domain::error::{CommandError, RefusalCode};
use onehop_graphql_server::client_address::Network;
use onehop_store::{Fault, Ledger};

/// The login name of an attempt, and whose it is. An invalid name has no key.
pub(super) struct AttemptedLogin {
    pub(super) kind: AccountKind,
    pub(super) key: Option<String>,
    /// Whether strangers should not find out that the name is taken.
    pub(super) is_private: bool,
}

/// Counts an attempt, by login name and network. Where the attempts at a name are used up, the networks
/// that signed in at it before this process began are recalled from the sessions of its account.
pub(super) async fn begin<'a>(
    ctx: &Context<'a>,
    kind: AttemptKind,
    login: &AttemptedLogin,
) -> Result<Attempt<'a>> {
    let scope = scope::of(ctx);
    let services = scope.services();
    let origin = match scope.context().client.network {
        Network::V4(address) => AttemptOrigin::v4(address.to_bits()),
        Network::V6(prefix) => AttemptOrigin::v6(prefix),
        Network::Unknown => AttemptOrigin::default(),
    };
    let name = login.key.as_deref().map(|key| LoginName { key, is_private: login.is_private });
    let begin = || services.attempts.begin(kind, name, origin, services.clock.now_ms());
    let begun = match (begin(), name) {
        (Err(over), Some(name)) if over.is_about_name() => match recall(scope, login, name.key).await {
            true => begin(),
            false => Err(over),
        },
        (begun, _) => begun,
    };
    begun.map_err(|over| errors::too_many_attempts(&over))
}

/// Recalls the known networks of a login name, at most once a minute; says whether that was done. The
/// reads count for the quota and are no part of the response: there they would show whether the name
/// has an account.
async fn recall(scope: &RequestScope, login: &AttemptedLogin, key: &str) -> bool {
    let services = scope.services();
    if !services.attempts.may_recall(key, services.clock.now_ms()) {
        return false;
    }
    let ledger = Ledger::new().under(scope.ledger().span());
    let networks = known_networks(scope, login.kind, key, &ledger).await;
    scope.follow_up().add(ledger.total());
    match networks {
        Ok(networks) => {
            services.attempts.recall(key, networks);
            true
        }
        Err(fault) => {
            tracing::warn!(kind = ?fault.kind, %fault, "the known networks of an account could not be read");
            false
        }
    }
}

/// Two point reads, whether the name has an account or not.
async fn known_networks(
    scope: &RequestScope,
    kind: AccountKind,
    key: &str,
    ledger: &Ledger,
) -> Result<Vec<crate::accounts::network_prefixes::Prefix>, Fault> {
    let services = scope.services();
    let holder = match kind {
        AccountKind::User => services.commands.user_of_name(key, ledger).await?.map(|user| user.0),
        AccountKind::Customer => {
            services.webstore.commands.customer_of_address(key, ledger).await?.map(|customer| customer.0)
        }
    };
    services.sessions.networks(AccountId { kind, id: holder.unwrap_or_default() }, ledger).await
}

/// Ends an attempt with the outcome of its command: a wrong password is a failed sign-in, a taken name
/// a failed sign-up.
pub(super) fn end<T>(
    scope: &RequestScope,
    attempt: Attempt<'_>,
    outcome: Result<T, CommandError>,
) -> Result<T, CommandError> {
    let failures: &[RefusalCode] = match attempt.kind() {
        AttemptKind::SignIn => &[RefusalCode::InvalidCredentials, RefusalCode::Forbidden],
        AttemptKind::SignUp => &[RefusalCode::Conflict],
    };
    let ended = match &outcome {
        Ok(_) => AttemptOutcome::Succeeded,
        Err(CommandError::Rejected(refusal)) if failures.contains(&refusal.code) => AttemptOutcome::Failed,
        Err(_) => AttemptOutcome::NotJudged,
    };
    attempt.end(ended, scope.services().clock.now_ms());
    outcome
}
