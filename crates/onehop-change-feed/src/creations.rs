//! Creations: distinguishes created items from changed items, in a feed that has the latest version of each
//! item, at least once.
//!
//! The first version of an item is its creation. The feed may skip it: an item that was created and changed
//! at once comes with a later version. So an item that was not seen before is a creation, too, if it was
//! created since the feed is followed. That is decided by the creation date that its writer gave it.
//! Announced items are remembered, so each is announced once.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use onehop_store::ETag;

/// The version of an item as it was created.
const VERSION_FIRST: u64 = 1;

/// A version of an item as the feed has it.
#[derive(Debug, Clone, Copy)]
pub struct SeenVersion<'a> {
    /// The version: 1 is the item as it was created, and every writer increases it by one.
    pub version: u64,
    /// When the item was created (Unix ms), by the clock of its writer. Where that is not known, only the
    /// first version is a creation.
    pub created_ms: Option<i64>,
    /// The ETag, by which an item that was deleted and created again is told from a repetition.
    pub etag: &'a ETag,
}

/// The items that were announced as created. The memory is bounded.
#[derive(Debug)]
pub struct Creations<K> {
    /// Of items created before this (Unix ms) only the first version is a creation.
    since_ms: i64,
    remembered_max: usize,
    /// Announced items, with the ETag of the first version if that was announced.
    announced: HashMap<K, Option<ETag>>,
    order: VecDeque<(K, Option<i64>)>,
}

impl<K: Clone + Eq + Hash> Creations<K> {
    /// Follows a feed from this moment on (Unix ms), which was before its first page. It remembers this many
    /// items. Of older items than the forgotten ones only the first version is a creation.
    #[must_use]
    pub fn since(since_ms: i64, remembered_max: usize) -> Self {
        Self { since_ms, remembered_max, announced: HashMap::new(), order: VecDeque::new() }
    }

    /// Whether this version announces the creation of an item. It does so once.
    pub fn announces(&mut self, key: &K, seen: SeenVersion<'_>) -> bool {
        let first = (seen.version == VERSION_FIRST).then(|| seen.etag.clone());
        match self.announced.get_mut(key) {
            // The versions of an item never go back: another first version is another item under the same id.
            Some(known) => {
                let is_another = first.is_some() && *known != first;
                if is_another {
                    *known = first;
                }
                is_another
            }
            None => {
                let is_recent = seen.created_ms.is_some_and(|created_ms| created_ms >= self.since_ms);
                let is_creation = first.is_some() || is_recent;
                if is_creation {
                    self.remember(key.clone(), first, seen.created_ms);
                }
                is_creation
            }
        }
    }

    fn remember(&mut self, key: K, first: Option<ETag>, created_ms: Option<i64>) {
        self.announced.insert(key.clone(), first);
        self.order.push_back((key, created_ms));
        if self.order.len() > self.remembered_max
            && let Some((forgotten, created_ms)) = self.order.pop_front()
        {
            self.announced.remove(&forgotten);
            self.since_ms = created_ms
                .map_or(self.since_ms, |created_ms| self.since_ms.max(created_ms.saturating_add(1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START_MS: i64 = 1_750_000_000_000;

    fn creations() -> Creations<&'static str> {
        Creations::since(START_MS, 3)
    }

    fn announces(
        creations: &mut Creations<&'static str>,
        key: &'static str,
        version: u64,
        etag: u64,
        after_ms: i64,
    ) -> bool {
        let etag = ETag::from_number(etag);
        creations.announces(&key, SeenVersion { version, created_ms: Some(START_MS + after_ms), etag: &etag })
    }

    #[test]
    fn a_creation_is_announced_once() {
        let mut creations = creations();
        assert!(announces(&mut creations, "a", 1, 7, 5));
        assert!(!announces(&mut creations, "a", 1, 7, 5), "the feed repeats it");
        assert!(!announces(&mut creations, "a", 2, 8, 5), "it was changed");
    }

    #[test]
    fn a_creation_whose_first_version_was_skipped_is_announced() {
        let mut creations = creations();
        assert!(announces(&mut creations, "a", 3, 7, 0));
        assert!(!announces(&mut creations, "a", 4, 8, 0));
    }

    #[test]
    fn a_change_of_an_older_item_announces_nothing() {
        let mut creations = creations();
        assert!(!announces(&mut creations, "a", 3, 7, -1));
        assert!(announces(&mut creations, "b", 1, 8, -1), "the clock of its writer is slow");
        let etag = ETag::from_number(9);
        let undated = |version| SeenVersion { version, created_ms: None, etag: &etag };
        assert!(!creations.announces(&"c", undated(2)));
        assert!(creations.announces(&"c", undated(1)));
    }

    #[test]
    fn an_item_that_is_created_again_is_announced_again() {
        let mut creations = creations();
        assert!(announces(&mut creations, "a", 1, 7, 5));
        assert!(!announces(&mut creations, "a", 2, 8, 5));
        assert!(announces(&mut creations, "a", 1, 9, 6));
        assert!(!announces(&mut creations, "a", 1, 9, 6));
        assert!(announces(&mut creations, "b", 2, 10, 6), "its first version was skipped");
        assert!(announces(&mut creations, "b", 1, 11, 7));
    }

    #[test]
    fn a_change_of_a_forgotten_item_announces_nothing() {
        let mut creations = creations();
        for (place, key) in ["a", "b", "c", "d"].into_iter().enumerate() {
            assert!(announces(&mut creations, key, 1, place as u64, i64::try_from(place).unwrap()));
        }
        assert!(!announces(&mut creations, "a", 2, 9, 0));
        assert!(!announces(&mut creations, "d", 2, 10, 3));
        assert!(announces(&mut creations, "e", 2, 11, 4));
        assert_eq!((creations.announced.len(), creations.order.len()), (3, 3));
    }
}
