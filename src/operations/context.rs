//! The context of the resolvers of the operations API.

use std::sync::Arc;

use super::audience::Audience;
use super::progress_channels::ProgressChannels;
use crate::app::App;

/// What the resolvers work with.
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
