//! Write limits of mutations: a command counts for its account and kind of write, unless it does not succeed.

use async_graphql::Result;

use super::errors;
use super::scope::{RequestScope, Services};
use crate::accounts::account_id::AccountId;
use crate::accounts::write_limits::WriteLimit;
use crate::domain::error::CommandError;

/// Runs a command within the account's limit on its kind. A command that does not succeed does not
/// count.
pub(super) async fn within_limit<T>(
    scope: &RequestScope,
    limit: &WriteLimit,
    account: impl Into<AccountId>,
    command: impl Future<Output = Result<T, CommandError>> + Send,
) -> Result<T> {
    let field = async { command.await.map_err(|failure| scope.command_error(failure)) };
    field_within_limit(scope, limit, account, field).await
}

/// As [`within_limit`], for all commands of a field.
pub(super) async fn field_within_limit<T>(
    scope: &RequestScope,
    limit: &WriteLimit,
    account: impl Into<AccountId>,
    field: impl Future<Output = Result<T>> + Send,
) -> Result<T> {
    let (account, Services { writes, clock, .. }) = (account.into(), scope.services());
    writes.take(limit, account, clock.now_ms()).map_err(|over| errors::too_many_writes(&over))?;
    let outcome = field.await;
    if outcome.is_err() {
        writes.give_back(limit, account, clock.now_ms());
    }
    outcome
}
