//! Errors as clients see them: a stable code, the field where there is one, and a text. A refusal reaches the
//! client as it is; a fault reaches it masked, under an id that the log repeats beside the real cause.

use std::time::Duration;

use async_graphql::{
    Error, ErrorExtensionValues, ErrorExtensions as _, Name, PathSegment, ServerError, Value,
};
use tracing::{debug, error, warn};
use uuid::Uuid;

use crate::accounts::brute_force_protection::TooManyAttempts;
use crate::accounts::write_limits::TooManyWrites;
use crate::blog::commands::{InvalidField, Refusal};
use crate::domain::error::InputStep;
use onehop_graphql_server::input_path::{FIELD, PATH, path_value};
use onehop_graphql_server::limit_exceeded::LimitExceeded;
use onehop_store::{Fault, FaultKind};

/// The codes of `extensions.code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    Unauthenticated,
    Forbidden,
    NotFound,
    BadUserInput,
    Unavailable,
    Internal,
    /// The document does not fit the schema.
    ValidationFailed,
}

impl Code {
    /// The code as clients see it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::Forbidden => "FORBIDDEN",
            Self::NotFound => "NOT_FOUND",
            Self::BadUserInput => "BAD_USER_INPUT",
            Self::Unavailable => "UNAVAILABLE",
            Self::Internal => "INTERNAL",
            Self::ValidationFailed => "GRAPHQL_VALIDATION_FAILED",
        }
    }
}

const CODE: &str = "code";
/// All invalid fields, with the problem of each.
const FIELDS: &str = "fields";
/// The version that a post has, where an edit was of another one.
const CURRENT_VERSION: &str = "currentVersion";
/// When to try again, in milliseconds.
const RETRY_AFTER: &str = "retryAfterMs";
/// The id under which the log has the details.
const ERROR_ID: &str = "errorId";

/// An error with a code.
pub(super) fn limit_exceeded(message: impl Into<String>) -> Error {
    Error::new(message).extend_with(|_, extensions| extensions.set("code", LimitExceeded::CODE))
}

/// An error with a code.
pub(super) fn error(code: Code, message: impl Into<String>) -> Error {
    Error::new(message).extend_with(|_, extensions| extensions.set(CODE, code.as_str()))
}

/// An argument that is not valid. The message states the rule of the field.
pub(super) fn bad_input(field: &'static str, rule: impl std::fmt::Display) -> Error {
    invalid(&[InvalidField::new(field, rule)])
}

/// Fields of an input that cannot be taken as they are, at least one. The message has all of theirs.
pub(super) fn invalid(fields: &[InvalidField]) -> Error {
    let messages: Vec<&str> = fields.iter().map(|invalid| invalid.message.as_str()).collect();
    error(Code::BadUserInput, messages.join("; ")).extend_with(|_, extensions| set_fields(extensions, fields))
}

/// `field` is the first of them and `path` its path, `fields` are all.
fn set_fields(extensions: &mut ErrorExtensionValues, fields: &[InvalidField]) {
    let Some(first) = fields.first() else { return };
    extensions.set(FIELD, first.field);
    extensions.set(PATH, path_value(&segments(&first.path)));
    let all = fields.iter().map(|InvalidField { field, path, message }| {
        let entry = [
            (FIELD, Value::from(*field)),
            (PATH, path_value(&segments(path))),
            ("message", Value::from(message.as_str())),
        ];
        Value::Object(entry.into_iter().map(|(name, value)| (Name::new(name), value)).collect())
    });
    extensions.set(FIELDS, Value::List(all.collect()));
}

fn segments(path: &[InputStep]) -> Vec<PathSegment> {
    let segments = path.iter().map(|step| match step {
        InputStep::Field(name) => PathSegment::Field((*name).to_owned()),
        InputStep::Index(index) => PathSegment::Index(*index),
    });
    segments.collect()
}

/// An error of the document as a whole.
pub(super) fn document_error(code: Code, message: impl Into<String>) -> ServerError {
    let mut error = ServerError::new(message, None);
    set(&mut error, code);
    error
}

/// A refused command.
pub(super) fn refusal(refusal: &Refusal) -> Error {
    Error::new(refusal.message.as_str()).extend_with(|_, extensions| {
        extensions.set(CODE, refusal.code.as_str());
        if let Some(field) = refusal.field {
            extensions.set(FIELD, field);
            extensions.set(PATH, path_value(&segments(&refusal.path)));
        }
        set_fields(extensions, &refusal.invalid_fields);
        if let Some(version) = refusal.current_version {
            extensions.set(CURRENT_VERSION, version);
        }
    })
}

/// Brute-force protection: too many attempts to sign in or up.
pub(super) fn too_many_attempts(over: &TooManyAttempts) -> Error {
    Error::new(over.to_string()).extend_with(|_, extensions| {
        extensions.set(CODE, LimitExceeded::CODE);
        extensions.set("limit", over.limit);
        extensions.set("max", over.max);
        extensions.set(RETRY_AFTER, whole_ms(over.retry_after));
    })
}

/// Too many writes of one kind.
pub(super) fn too_many_writes(over: &TooManyWrites) -> Error {
    Error::new(over.to_string()).extend_with(|_, extensions| {
        extensions.set(CODE, LimitExceeded::CODE);
        extensions.set("limit", over.limit);
        extensions.set("max", over.max);
        extensions.set(RETRY_AFTER, whole_ms(over.retry_after));
    })
}

/// Rounded up, so that a client never comes too early.
fn whole_ms(delay: Duration) -> u64 {
    u64::try_from(delay.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// A fault, masked. It is logged here and nowhere else.
pub(super) fn fault(fault: &Fault, error_id: Uuid) -> Error {
    let transient = fault.kind.is_transient();
    if fault.kind == FaultKind::Full {
        // The store says once that it has no room. A line for each write would go onto the disk that is full.
        debug!(%error_id, %fault, "a write was refused");
    } else if transient {
        warn!(%error_id, kind = ?fault.kind, %fault, "a request was not answered");
    } else {
        error!(%error_id, kind = ?fault.kind, %fault, "a request failed");
    }
    let (code, message) = if transient {
        (Code::Unavailable, "The service is not available right now: try again later.")
    } else {
        (Code::Internal, "Something went wrong on the server.")
    };
    error(code, message).extend_with(|_, extensions| {
        extensions.set(ERROR_ID, error_id.to_string());
        if let Some(delay) = fault.retry_after.filter(|_| transient) {
            extensions.set(RETRY_AFTER, whole_ms(delay));
        }
    })
}

/// Gives a code to an error that async-graphql raised itself. Without a path it is about the document.
pub(super) fn complete(error: &mut ServerError) {
    if error.extensions.as_ref().is_some_and(|extensions| extensions.get(CODE).is_some()) {
        return;
    }
    set(error, if error.path.is_empty() { Code::ValidationFailed } else { Code::BadUserInput });
}

/// Gives an error a code.
pub(super) fn set(error: &mut ServerError, code: Code) {
    error.extensions.get_or_insert_with(ErrorExtensionValues::default).set(CODE, code.as_str());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(error: Error) -> serde_json::Value {
        serde_json::to_value(error.into_server_error(async_graphql::Pos::default())).unwrap()
    }

    #[test]
    fn a_fault_is_masked_with_the_id_of_its_log_entry() {
        let secret = Fault::new(FaultKind::Corrupt, "/var/data/posts: bad checksum");
        let shown = json(fault(&secret, Uuid::nil()));
        assert_eq!(shown["extensions"]["code"], "INTERNAL");
        assert_eq!(shown["extensions"]["errorId"], Uuid::nil().to_string());
        assert!(!shown.to_string().contains("checksum"));
    }

    #[test]
    fn a_busy_store_says_when_to_try_again() {
        let busy = Fault::new(FaultKind::Throttled, "429").with_retry_after(Duration::from_millis(250));
        let shown = json(fault(&busy, Uuid::nil()));
        assert_eq!(shown["extensions"]["code"], "UNAVAILABLE");
        assert_eq!(shown["extensions"]["retryAfterMs"], 250);
    }

    #[test]
    fn bad_input_names_its_field() {
        let shown = json(bad_input("first", "must be 1 to 100"));
        assert_eq!(shown["message"], "first must be 1 to 100");
        assert_eq!(shown["extensions"]["field"], "first");
        assert_eq!(shown["extensions"]["path"], serde_json::json!(["first"]));
        let entry =
            serde_json::json!({ "field": "first", "path": ["first"], "message": "first must be 1 to 100" });
        assert_eq!(shown["extensions"]["fields"], serde_json::json!([entry]));
    }
}
