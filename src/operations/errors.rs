//! Errors of the operations API: an operator reads the reason, and the public reads a code.

use std::fmt::Display;

use async_graphql::{Error, ErrorExtensions};

use super::audience::Audience;

/// Items that a list answers at least and at most.
const FIRST_RANGE: std::ops::RangeInclusive<i32> = 1..=100;
/// As many as [`FIRST_RANGE`] allows.
pub(super) const FIRST_MAX: usize = 100;

/// The reason with its causes, for an operator; a code for the public, and the reason in the log.
pub(super) fn failure(audience: Audience, reason: impl Display) -> Error {
    if audience == Audience::Operator {
        return Error::new(format!("{reason:#}"));
    }
    tracing::warn!(reason = format!("{reason:#}"), "a query of the operations API failed");
    with_code("This is not available at the moment.", "UNAVAILABLE")
}

/// The number of items that the argument `first` asks for.
///
/// # Errors
/// `BAD_USER_INPUT` for `first`.
pub(super) fn items_of(first: i32) -> Result<usize, Error> {
    let items = usize::try_from(first).ok().filter(|_| FIRST_RANGE.contains(&first));
    items.ok_or_else(|| {
        let message = format!("first must be {} to {}, is {first}", FIRST_RANGE.start(), FIRST_RANGE.end());
        with_code(message, "BAD_USER_INPUT").extend_with(|_, extensions| extensions.set("field", "first"))
    })
}

/// A refusal of an argument: `BAD_USER_INPUT` with the name of the argument.
pub(super) fn refused_argument(argument: &'static str, reason: &str) -> Error {
    with_code(format!("{argument}: {reason}"), "BAD_USER_INPUT")
        .extend_with(|_, extensions| extensions.set("field", argument))
}

pub(super) fn with_code(message: impl Into<String>, code: &'static str) -> Error {
    Error::new(message).extend_with(|_, extensions| extensions.set("code", code))
}
