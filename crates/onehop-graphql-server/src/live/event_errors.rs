//! Errors that end a subscription, as GraphQL errors with a code.

use async_graphql::ServerError;

/// The message to a subscriber that did not keep up.
pub(super) const TOO_SLOW: &str = "The subscription did not keep up with what is written: begin it again.";

/// An error with this code.
pub(super) fn error(code: &str, message: &str) -> ServerError {
    let mut error = ServerError::new(message, None);
    error.extensions.get_or_insert_default().set("code", code);
    error
}
