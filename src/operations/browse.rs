//! Resolvers of the queries about stored items: who may ask them, and their refusals.

use std::sync::Arc;

use async_graphql::{Context, Error, Result};

use super::audience::Audience;
use super::context::{audience, context};
use super::errors::{failure, refused_argument, with_code};
use crate::app::{PredictionError, ServedDomain};
use crate::served::{BrowseError, ServedReads, TypeIndex};

/// Items of a page at most.
pub(super) const ITEMS_MAX: i32 = 50;

/// The served model, if the caller may read its items.
///
/// # Errors
/// `UNAUTHENTICATED` on the public listener without the operator key; `NOT_FOUND` where no model is served.
pub(super) fn browsed<'a>(ctx: &Context<'a>) -> Result<&'a ServedDomain> {
    if audience(ctx) == Audience::Public {
        let message = "This needs the operator key: the server prints an address with it at its start.";
        return Err(with_code(message, "UNAUTHENTICATED"));
    }
    let served = context(ctx).domain.served();
    served.ok_or_else(|| with_code("The server serves the built-in domains, and no model.", "NOT_FOUND"))
}

/// The reads of stored items, which are charged as those of requests.
pub(super) fn reads(domain: &ServedDomain) -> ServedReads {
    ServedReads::new(Arc::clone(&domain.engine.store), Arc::clone(&domain.model))
}

/// The type of a name.
///
/// # Errors
/// `BAD_USER_INPUT` for `type`.
pub(super) fn type_of(domain: &ServedDomain, name: &str) -> Result<TypeIndex> {
    let index = domain.model.index_of(name);
    index.ok_or_else(|| refused_argument("type", "is no type of the model"))
}

/// The number of items of a page.
///
/// # Errors
/// `BAD_USER_INPUT` for `first`.
pub(super) fn page_items(first: i32) -> Result<usize> {
    let items = usize::try_from(first).ok().filter(|_| (1..=ITEMS_MAX).contains(&first));
    items.ok_or_else(|| refused_argument("first", "must be 1 to 50"))
}

/// A refusal of an argument, or a fault as the audience may read it.
pub(super) fn browse_failure(ctx: &Context<'_>, error: BrowseError) -> Error {
    match error {
        BrowseError::Argument(argument, reason) => refused_argument(argument, reason),
        BrowseError::Store(fault) => failure(audience(ctx), fault),
    }
}

/// Why nothing was predicted.
pub(super) fn prediction_failure(ctx: &Context<'_>, error: PredictionError) -> Error {
    match error {
        PredictionError::TooManyItems(_) | PredictionError::Busy => {
            with_code(error.to_string(), "LIMIT_EXCEEDED")
        }
        PredictionError::Cost(error) => failure(audience(ctx), error),
        PredictionError::Store(fault) => failure(audience(ctx), fault),
    }
}
