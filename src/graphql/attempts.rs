//! Attempts to sign in or up: counted before the command, forgiven after it.

use async_graphql::{Context, Result};

use super::errors;
use super::scope::{self, RequestScope};
use crate::accounts::brute_force_protection::{Attempt, AttemptOutcome};
use crate::accounts::network_prefixes::AttemptOrigin;
use crate::domain::error::CommandError;
use onehop_graphql_server::client_address::Network;

/// Brute-force protection: counts an attempt to sign in or up, by the key of the account and network. An invalid name has no key.
pub(super) fn begin<'a>(
    ctx: &Context<'a>,
    attempted: AttemptOutcome,
    key: Option<&str>,
) -> Result<Attempt<'a>> {
    let scope = scope::of(ctx);
    let services = scope.services();
    let origin = match scope.context().client.network {
        Network::V4(address) => AttemptOrigin::v4(address.to_bits()),
        Network::V6(prefix) => AttemptOrigin::v6(prefix),
        Network::Unknown => AttemptOrigin::default(),
    };
    let begun = services.attempts.begin_at(attempted, key, origin, services.clock.now_ms());
    begun.map_err(|over| errors::too_many_attempts(&over))
}

/// Ends an attempt that did not fail: it succeeded, or it could not be judged.
pub(super) fn unless_failed<T>(
    scope: &RequestScope,
    attempt: Attempt<'_>,
    outcome: Result<T, CommandError>,
) -> Result<T, CommandError> {
    let now_ms = scope.services().clock.now_ms();
    match &outcome {
        Ok(_) => attempt.succeed(now_ms),
        Err(CommandError::Fault(_)) => attempt.forgive(now_ms),
        Err(CommandError::Rejected(_)) => {}
    }
    outcome
}
