//! The context of the resolvers of the operations API.

use std::sync::Arc;

use super::audience::Audience;
use super::progress_channels::ProgressChannels;
use crate::app::App;
use onehop_store::Ledger;

/// The context of the resolvers.
pub(super) struct Context {
    pub(super) app: Arc<App>,
    /// Whether demo users may be made: their password is published.
    pub(super) allows_demo: bool,
    pub(super) audience: Audience,
    pub(super) progress: Arc<ProgressChannels>,
}

/// The context of a resolver.
pub(super) fn context<'a>(context: &async_graphql::Context<'a>) -> &'a Context {
    context.data_unchecked::<Context>()
}

/// The ledger of the request: its resolvers' reads are on the caller's account. Requests of an operator
/// have no account.
pub(super) fn ledger(context: &async_graphql::Context<'_>) -> Arc<Ledger> {
    context.data_opt::<Arc<Ledger>>().cloned().unwrap_or_default()
}
