//! Interned names: names of a model that live as long as the program, as the store's ports want them.

/// The name in place of a name that the program cannot keep. [`super::ServedModel`] refuses models with such
/// names.
const UNKNOWN: &str = "unknown";

/// The interned text: equal texts share one place.
#[must_use]
pub fn interned(text: &str) -> &'static str {
    onehop_store::interned(text).unwrap_or(UNKNOWN)
}
