//! Interned names: names of a model that live as long as the program, as the store's ports want them.

use onehop_model::PropertyPath;
pub use onehop_store::is_nested;
use onehop_store::property_of_path;

/// The name in place of a name that the program cannot keep. [`super::ServedModel`] refuses models with such
/// names.
const UNKNOWN: &str = "unknown";

/// The interned text: equal texts share one place.
#[must_use]
pub fn interned(text: &str) -> &'static str {
    onehop_store::interned(text).unwrap_or(UNKNOWN)
}

/// The name of the property at a path, as read models and queries have it.
#[must_use]
pub fn property_name(path: &PropertyPath) -> &'static str {
    interned(&property_of_path(path.properties()))
}
