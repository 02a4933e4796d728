//! Interned names: names of a model that live as long as the program, as the store's ports want them. A
//! program serves one model, whose file has a size limit, so that the memory is bounded.

use std::collections::HashSet;
use std::sync::LazyLock;

use parking_lot::Mutex;

static NAMES: LazyLock<Mutex<HashSet<&'static str>>> = LazyLock::new(Mutex::default);

/// The interned text: equal texts share one place.
#[must_use]
pub fn interned(text: &str) -> &'static str {
    let mut names = NAMES.lock();
    if let Some(known) = names.get(text) {
        return known;
    }
    let name: &'static str = Box::leak(text.into());
    names.insert(name);
    name
}
