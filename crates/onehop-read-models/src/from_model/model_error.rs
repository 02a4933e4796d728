//! Errors of read models that are built from a model.

use onehop_store::InternError;
use thiserror::Error;

use crate::check::DeclarationError;

/// A part of a model that the read models cannot express.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ModelError {
    /// A directive asks for something that is not supported.
    #[error("{place}: {directive}: {reason}")]
    Unsupported {
        /// The container, type or `Type.field`.
        place: String,
        /// The directive, such as `@list`.
        directive: &'static str,
        /// The unsupported feature and the supported form.
        reason: String,
    },
    /// The rules contradict each other or the containers.
    #[error(transparent)]
    Declaration(#[from] DeclarationError),
    /// A name cannot be kept.
    #[error(transparent)]
    Name(#[from] InternError),
}

impl ModelError {
    pub(super) fn unsupported(place: &str, directive: &'static str, reason: impl Into<String>) -> Self {
        Self::Unsupported { place: place.to_owned(), directive, reason: reason.into() }
    }
}
