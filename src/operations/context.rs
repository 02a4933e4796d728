//! The context of the resolvers of the operations API.

use std::sync::Arc;

use super::audience::Audience;
use super::diagnosis::DiagnosisSources;
use super::progress_channels::ProgressChannels;
use crate::app::{Engine, OperatedDomain};
use onehop_store::Ledger;

/// The context of the resolvers.
pub(super) struct Context {
    pub(super) domain: OperatedDomain,
    /// Whether demo users may be made: their password is published.
    pub(super) allows_demo: bool,
    /// The audience of requests without one of their own.
    pub(super) audience: Audience,
    pub(super) progress: Arc<ProgressChannels>,
    /// The sources of a diagnosis; the socket of a server has them.
    pub(super) sources: Option<DiagnosisSources>,
}

impl Context {
    /// The parts of the process that no domain has of its own.
    pub(super) fn engine(&self) -> &Engine {
        self.domain.engine()
    }
}

/// The context of a resolver.
pub(super) fn context<'a>(context: &async_graphql::Context<'a>) -> &'a Context {
    context.data_unchecked::<Context>()
}

/// The audience of the request.
pub(super) fn audience(context: &async_graphql::Context<'_>) -> Audience {
    context.data_opt::<Audience>().copied().unwrap_or(self::context(context).audience)
}

/// The ledger of the request: its resolvers' reads are on the caller's account. Requests of an operator
/// have no account.
pub(super) fn ledger(context: &async_graphql::Context<'_>) -> Arc<Ledger> {
    context.data_opt::<Arc<Ledger>>().cloned().unwrap_or_default()
}
