//! Failures of commands: a [`Refusal`] is an answer to the client, with a code, the field and the limit; a
//! [`Fault`] is a failure to answer, which a client sees masked.

use thiserror::Error;

use crate::accounts::password::HashingError;
use onehop_store::{Fault, FaultKind};

/// Why a command did not succeed.
#[derive(Debug, Error)]
pub enum CommandError {
    #[error(transparent)]
    Rejected(#[from] Refusal),
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl CommandError {
    /// The refusal, if it was one.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Rejected(refusal) => Some(refusal),
            Self::Fault(_) => None,
        }
    }

    /// The error of a command, unless its write may have been done before: then a refusal is an unknown
    /// outcome.
    pub(crate) fn unless_done(self, may_be_done: bool) -> Self {
        match self {
            Self::Rejected(_) if may_be_done => unknown_outcome().into(),
            error => error,
        }
    }
}

/// A command was understood and refused. Nothing was written that a reader can see.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Refusal {
    pub code: RefusalCode,
    /// The input field it is about, in camelCase as clients write it; the first where there are several.
    pub field: Option<&'static str>,
    /// The path of that field, from the input object on.
    pub path: Vec<InputStep>,
    /// For the client; it names the field's limit where there is one.
    pub message: String,
    /// All input fields that are invalid.
    pub invalid_fields: Vec<InvalidField>,
    /// The version that a text has, where an edit was of another one.
    pub current_version: Option<u32>,
}

/// A step from an input to a value within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputStep {
    /// Into a field of an object, in camelCase as clients write it.
    Field(&'static str),
    /// Into an item of a list, from 0 on.
    Index(usize),
}

/// An input field that is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidField {
    /// In camelCase as clients write it.
    pub field: &'static str,
    /// The path of the field, from the input object on: `lines`, 1, `quantity`.
    pub path: Vec<InputStep>,
    /// For the client: the field and the rule that it breaks.
    pub message: String,
}

impl InvalidField {
    /// The message begins with the field: `title must have 1 to 200 characters; this one has 201`.
    pub fn new(field: &'static str, rule: impl std::fmt::Display) -> Self {
        Self { field, path: vec![InputStep::Field(field)], message: format!("{field} {rule}") }
    }

    /// The same in an object that these steps lead to.
    #[must_use]
    pub fn within(self, steps: &[InputStep]) -> Self {
        Self { path: [steps, &self.path].concat(), ..self }
    }

    /// The same at a value within the field: these steps lead there from the field on.
    #[must_use]
    pub fn at(self, steps: &[InputStep]) -> Self {
        Self { path: [&self.path, steps].concat(), ..self }
    }
}

/// Collects the invalid fields of an input, so that a client receives all of them at once.
#[derive(Debug, Default)]
pub(crate) struct InvalidFields(Vec<InvalidField>);

impl InvalidFields {
    /// The parsed field; `None` where it is invalid.
    pub(crate) fn check<T>(&mut self, parsed: Result<T, Refusal>) -> Option<T> {
        parsed.map_err(|refusal| self.0.extend(refusal.invalid_fields)).ok()
    }

    /// As [`check`](Self::check), for a value of an object that these steps lead to.
    pub(crate) fn check_within<T>(&mut self, steps: &[InputStep], parsed: Result<T, Refusal>) -> Option<T> {
        let prefixed = |refusal: Refusal| refusal.invalid_fields.into_iter().map(|field| field.within(steps));
        parsed.map_err(|refusal| self.0.extend(prefixed(refusal))).ok()
    }

    /// This value, unless a field is invalid.
    pub(crate) fn unless_any<T>(self, value: T) -> Result<T, Refusal> {
        if self.0.is_empty() { Ok(value) } else { Err(self.refusal()) }
    }

    /// All of them.
    pub(crate) fn into_vec(self) -> Vec<InvalidField> {
        self.0
    }

    /// The refusal of an input that has some.
    pub(crate) fn refusal(self) -> Refusal {
        Refusal::invalid(self.0)
    }
}

/// The kinds of refusals, each with a stable code for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalCode {
    Unauthenticated,
    /// A wrong name or password. An expired token is `Unauthenticated`.
    InvalidCredentials,
    /// The right name and password, of an account that staff suspended.
    AccountSuspended,
    Forbidden,
    NotFound,
    BadUserInput,
    Conflict,
    LimitExceeded,
}

impl RefusalCode {
    /// The code as clients see it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::InvalidCredentials => "INVALID_CREDENTIALS",
            Self::AccountSuspended => "ACCOUNT_SUSPENDED",
            Self::Forbidden => "FORBIDDEN",
            Self::NotFound => "NOT_FOUND",
            Self::BadUserInput => "BAD_USER_INPUT",
            Self::Conflict => "CONFLICT",
            Self::LimitExceeded => "LIMIT_EXCEEDED",
        }
    }
}

impl Refusal {
    pub(crate) fn new(code: RefusalCode, field: Option<&'static str>, message: impl Into<String>) -> Self {
        Self {
            code,
            field,
            path: field.map(InputStep::Field).into_iter().collect(),
            message: message.into(),
            invalid_fields: Vec::new(),
            current_version: None,
        }
    }

    /// The same about a value within its field: these steps lead there from the field on.
    pub(crate) fn at(mut self, steps: &[InputStep]) -> Self {
        self.path.extend_from_slice(steps);
        self.invalid_fields = self.invalid_fields.into_iter().map(|field| field.at(steps)).collect();
        self
    }

    /// Invalid fields, at least one. The message has all of theirs.
    pub(crate) fn invalid(invalid_fields: Vec<InvalidField>) -> Self {
        let messages: Vec<&str> = invalid_fields.iter().map(|invalid| invalid.message.as_str()).collect();
        Self {
            code: RefusalCode::BadUserInput,
            field: invalid_fields.first().map(|invalid| invalid.field),
            path: invalid_fields.first().map(|invalid| invalid.path.clone()).unwrap_or_default(),
            message: messages.join("; "),
            invalid_fields,
            current_version: None,
        }
    }

    pub(crate) fn unauthenticated(message: &str) -> Self {
        Self::new(RefusalCode::Unauthenticated, None, message)
    }

    pub(crate) fn invalid_credentials(message: &str) -> Self {
        Self::new(RefusalCode::InvalidCredentials, None, message)
    }

    pub(crate) fn account_suspended() -> Self {
        Self::new(RefusalCode::AccountSuspended, None, "this account is suspended")
    }

    pub(crate) fn forbidden(message: &str) -> Self {
        Self::new(RefusalCode::Forbidden, None, message)
    }

    pub(crate) fn not_found(field: &'static str, message: &str) -> Self {
        Self::new(RefusalCode::NotFound, Some(field), message)
    }

    /// The message begins with the field: `title must have 1 to 200 characters; this one has 201`.
    pub(crate) fn bad_input(field: &'static str, rule: impl std::fmt::Display) -> Self {
        Self::invalid(vec![InvalidField::new(field, rule)])
    }

    pub(crate) fn conflict(field: &'static str, message: &str) -> Self {
        Self::new(RefusalCode::Conflict, Some(field), message)
    }

    pub(crate) fn key_reused() -> Self {
        Self::conflict("idempotencyKey", "this idempotencyKey was used with other input")
    }

    pub(crate) fn limit_exceeded(message: impl Into<String>) -> Self {
        Self::new(RefusalCode::LimitExceeded, None, message)
    }
}

impl From<HashingError> for CommandError {
    fn from(error: HashingError) -> Self {
        match error {
            HashingError::Busy => {
                let fault = Fault::new(FaultKind::Unavailable, "too many passwords are being hashed");
                fault.with_retry_after(std::time::Duration::from_secs(1)).into()
            }
            HashingError::Fault(fault) => {
                Fault::new(FaultKind::Internal, "a password could not be hashed").with_source(fault).into()
            }
        }
    }
}

/// Others changed the same items again and again for as long as a command may try.
pub(crate) fn contended(what: &str) -> Fault {
    Fault::new(FaultKind::Unavailable, format!("{what} kept changing while it was being written"))
}

/// A command that would be refused now, and may have had its effect before.
fn unknown_outcome() -> Fault {
    Fault::new(FaultKind::Ambiguous, "the write was not answered, and others have changed the item since")
}

/// A refusal of the store that a command rules out beforehand.
pub(crate) fn unexpected(rejection: onehop_store::Rejection) -> Fault {
    Fault::new(FaultKind::Internal, "the store refused a write that keeps its limits").with_source(rejection)
}

#[cfg(test)]
mod tests {
    use super::InputStep::{Field, Index};
    use super::*;

    #[test]
    fn invalid_fields_of_nested_objects_keep_their_paths() {
        let mut invalid = InvalidFields::default();
        let quantity: Result<(), _> = Err(Refusal::bad_input("quantity", "must be 1 to 1000, is 0"));
        assert_eq!(invalid.check_within(&[Field("lines"), Index(1)], quantity), None);
        let tag: Result<(), _> = Err(Refusal::bad_input("tagIds", "is not the id of a tag").at(&[Index(2)]));
        assert_eq!(invalid.check(tag), None);
        let refusal = invalid.refusal();
        let paths: Vec<_> = refusal.invalid_fields.iter().map(|field| field.path.clone()).collect();
        assert_eq!(
            paths,
            [vec![Field("lines"), Index(1), Field("quantity")], vec![Field("tagIds"), Index(2)]]
        );
        assert_eq!((refusal.field, &refusal.path), (Some("quantity"), &paths[0]));
        assert_eq!(refusal.message, "quantity must be 1 to 1000, is 0; tagIds is not the id of a tag");
    }
}
