//! The one error of every limit on a request: it says which limit, by the name of its setting, and its value.

use async_graphql::{ErrorExtensionValues, ServerError};

/// A limit that a request exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} {max} {unit} (limit {limit}).")]
pub struct LimitExceeded {
    /// The name of the limit, such as `complexity-max`.
    pub limit: &'static str,
    /// The largest value that is taken.
    pub max: u64,
    /// The words before the number: `The document has more than`.
    what: &'static str,
    /// The unit after the number.
    unit: &'static str,
}

impl LimitExceeded {
    /// The code that clients get.
    pub const CODE: &'static str = "LIMIT_EXCEEDED";

    /// For example `document-bytes-max`, 1000, `The document is longer than`, `bytes`.
    pub fn new(limit: &'static str, max: usize, what: &'static str, unit: &'static str) -> Self {
        Self { limit, max: u64::try_from(max).unwrap_or(u64::MAX), what, unit }
    }

    /// An error, unless the limit is kept.
    pub fn unless(self, is_kept: bool) -> Result<(), Self> {
        if is_kept { Ok(()) } else { Err(self) }
    }

    /// Adds the limit's name and value to the error's extensions.
    pub fn describe(&self, extensions: &mut ErrorExtensionValues) {
        extensions.set("code", Self::CODE);
        extensions.set("limit", self.limit);
        extensions.set("max", self.max);
    }
}

impl From<LimitExceeded> for ServerError {
    fn from(exceeded: LimitExceeded) -> Self {
        let mut error = Self::new(exceeded.to_string(), None);
        exceeded.describe(error.extensions.get_or_insert_default());
        error
    }
}
