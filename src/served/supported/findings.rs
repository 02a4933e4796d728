//! Findings of the support check: parts of a model that the server cannot serve.

use std::fmt;

use onehop_read_models::ModelError;

/// A part of a model that the server cannot serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Unsupported {
    /// The type and the field, such as `Post.comments`, or the container.
    pub place: String,
    /// The directive.
    pub directive: String,
    /// The reason, as the end of a sentence.
    pub reason: String,
}

impl Unsupported {
    /// A finding.
    pub fn new(place: impl Into<String>, directive: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { place: place.into(), directive: directive.into(), reason: reason.into() }
    }
}

impl From<&ModelError> for Unsupported {
    fn from(error: &ModelError) -> Self {
        match error {
            ModelError::Unsupported { place, directive, reason } => {
                Self::new(place, *directive, format!("is not served: {reason}"))
            }
            error => Self::new("the read models", "", error.to_string()),
        }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {} {}", self.place, self.directive, self.reason)
    }
}

/// Collects the findings of a model.
pub(super) struct Findings(pub(super) Vec<Unsupported>);

impl Findings {
    pub(super) fn add(&mut self, place: &str, directive: &'static str, reason: &str) {
        self.0.push(Unsupported::new(place, directive, reason));
    }

    pub(super) fn add_if(&mut self, is_found: bool, place: &str, directive: &'static str, reason: &str) {
        if is_found {
            self.add(place, directive, reason);
        }
    }
}
