//! Deduplication of changes: which items of a list a listener has seen, in which version.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use onehop_model::Event;
use serde_json::Value;

use crate::served::model::Body;
use crate::served::reads::ServedItem;

/// The most items of a list that a listener remembers.
const REMEMBERED_MAX: usize = 10_000;

/// The items of a list that were seen.
pub(super) struct Seen {
    items: HashMap<String, SeenItem>,
    /// Whether these are all items of the list.
    is_complete: bool,
}

#[derive(Clone, Copy)]
struct SeenItem {
    version: u64,
    /// `None` where an entry of the list was seen, and not the item.
    digest: Option<u64>,
}

impl Seen {
    /// The items of a list at the beginning.
    pub(super) fn new(items: &[ServedItem], is_complete: bool) -> Self {
        let seen = |item: &ServedItem| {
            let digest = item.entry_fields.is_none().then(|| digest_of(&item.body));
            (item.place.id.clone(), SeenItem { version: version_of(&item.body), digest })
        };
        Self { items: items.iter().map(seen).collect(), is_complete }
    }

    /// The event that a change of an item is; `None` where nothing new was written.
    pub(super) fn hear(&mut self, id: &str, body: &Body, is_member: bool) -> Option<Event> {
        let version = version_of(body);
        let Some(seen) = self.items.get(id).copied() else {
            return match (is_member, self.is_complete) {
                (true, is_complete) => {
                    self.remember(id, body);
                    // An item of a long list that was not seen before is new in its first version.
                    Some(if is_complete || version <= 1 { Event::Added } else { Event::Changed })
                }
                (false, true) => None,
                // It may have been an item of a long list.
                (false, false) => Some(Event::Removed),
            };
        };
        if version < seen.version {
            return None;
        }
        if !is_member {
            self.items.remove(id);
            return Some(Event::Removed);
        }
        self.remember(id, body);
        let is_same = version == seen.version && seen.digest.is_none_or(|digest| digest == digest_of(body));
        (!is_same).then_some(Event::Changed)
    }

    fn remember(&mut self, id: &str, body: &Body) {
        if self.items.len() >= REMEMBERED_MAX && !self.items.contains_key(id) {
            self.is_complete = false;
            if let Some(any) = self.items.keys().next().cloned() {
                self.items.remove(&any);
            }
        }
        let item = SeenItem { version: version_of(body), digest: Some(digest_of(body)) };
        self.items.insert(id.to_owned(), item);
    }
}

/// The version of an item.
pub(super) fn version_of(body: &Body) -> u64 {
    body.get("version").and_then(Value::as_u64).unwrap_or(1)
}

/// A digest of the properties, without the store's own.
pub(super) fn digest_of(body: &Body) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (name, value) in body.iter().filter(|(name, _)| !name.starts_with('_')) {
        name.hash(&mut hasher);
        value.to_string().hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body(version: u64, title: &str) -> Body {
        let Value::Object(body) = json!({ "version": version, "title": title }) else { unreachable!() };
        body
    }

    #[test]
    fn an_item_is_added_once_changes_and_leaves() {
        let mut seen = Seen::new(&[], true);
        assert_eq!(seen.hear("a", &body(3, "x"), true), Some(Event::Added));
        assert_eq!(seen.hear("a", &body(3, "x"), true), None, "a repeat");
        assert_eq!(seen.hear("a", &body(4, "y"), true), Some(Event::Changed));
        assert_eq!(seen.hear("a", &body(4, "z"), true), Some(Event::Changed), "a copy has changed");
        assert_eq!(seen.hear("a", &body(5, "z"), false), Some(Event::Removed));
        assert_eq!(seen.hear("a", &body(5, "z"), false), None, "a repeat");
    }

    #[test]
    fn items_of_a_long_list_are_told_by_their_versions() {
        let mut seen = Seen::new(&[], false);
        assert_eq!(seen.hear("new", &body(1, "x"), true), Some(Event::Added));
        assert_eq!(seen.hear("old", &body(2, "x"), true), Some(Event::Changed));
        assert_eq!(seen.hear("older", &body(7, "x"), false), Some(Event::Removed));
    }
}
