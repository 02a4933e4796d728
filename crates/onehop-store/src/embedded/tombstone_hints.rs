//! Tombstone hints: the oldest live key of lists from whose end items are deleted, as from a queue. The
//! engine keeps a tombstone for each deletion until compaction. A page that reaches the end of its list would
//! scan all tombstones behind it: thousands, where a list of a hundred items is kept short. Pages that go
//! from new to old stop at the hint. Only lists with deletions are known here, and only some of them. It
//! knows keys, no items.

use std::collections::BTreeMap;

use parking_lot::{Mutex, MutexGuard};

use super::key_space::{KeyChange, KeySpace};
use super::keys;

/// Lists that are known; the lists with the fewest deletions give way to others.
const LISTS_MAX: usize = 64;
/// A list with this many deletions is known again when the engine is opened again: the marks may be there
/// still.
const KEPT_DELETIONS_MIN: u64 = 64;

/// Where the engine keeps the lists that are to be known again.
pub(super) const META_LISTS: &[u8] = b"lists-with-deletions";

/// The known ends of lists. A list is the live items of a type in a logical partition, under one prefix.
#[derive(Debug, Default)]
pub(super) struct TombstoneHints(Mutex<ListStates>);

#[derive(Debug, Default)]
struct ListStates {
    /// By their prefixes, in order, so that equal histories know equal lists.
    lists: BTreeMap<Vec<u8>, ListState>,
    /// Counts the events of lists, so that no two states of a list look the same.
    events: u64,
    /// Whether other lists than those kept have enough deletions now.
    is_kept_outdated: bool,
}

#[derive(Debug)]
struct ListState {
    deletions: u64,
    last_event: u64,
    /// Whether a commit is under way that changes the list: views may or may not show it.
    is_changing: bool,
    /// No live key under the prefix is less.
    oldest: Option<Vec<u8>>,
}

/// The knowledge of a list before a view was taken.
#[derive(Debug)]
pub(super) struct TombstoneHint {
    last_event: u64,
    oldest: Option<Vec<u8>>,
}

impl TombstoneHints {
    /// The lists that the engine kept under [`META_LISTS`]. They are a hint: unreadable lists are left out.
    pub(super) fn restored(kept: &[u8]) -> Self {
        let mut lists = ListStates::default();
        let mut rest = kept;
        while let Some((length, more)) = rest.split_at_checked(size_of::<u32>())
            && let Ok(length) = <[u8; size_of::<u32>()]>::try_from(length)
            && let Some((prefix, more)) = more.split_at_checked(u32::from_be_bytes(length) as usize)
        {
            let list = ListState {
                deletions: KEPT_DELETIONS_MIN,
                last_event: lists.events,
                is_changing: false,
                oldest: None,
            };
            lists.lists.insert(prefix.to_vec(), list);
            rest = more;
        }
        Self(Mutex::new(lists))
    }

    /// Records all changes before they are committed, so that no view contains a put that is unknown here.
    /// There is one commit at a time. The result is to be kept under [`META_LISTS`].
    #[must_use]
    pub(super) fn expect(&self, changes: &[KeyChange]) -> Option<Vec<u8>> {
        let mut lists = self.lock();
        for (space, key, value) in changes {
            // An edit is put and removed beside its item, whose place in the list stays.
            if *space != KeySpace::Items || keys::is_edit_key(key) {
                continue;
            }
            match (keys::live_prefix_of(key), value) {
                (Some(prefix), Some(_)) => lists.put(prefix, key),
                (Some(prefix), None) => lists.delete(prefix),
                (None, _) => {}
            }
        }
        std::mem::take(&mut lists.is_kept_outdated).then(|| lists.to_keep())
    }

    /// Records that the expected changes are committed, or failed.
    pub(super) fn settle(&self) {
        let mut lists = self.lock();
        let ListStates { lists, events, .. } = &mut *lists;
        for list in lists.values_mut().filter(|list| list.is_changing) {
            *events += 1;
            list.last_event = *events;
            list.is_changing = false;
        }
    }

    /// Forgets where all lists end, including reads under way. Called when the engine was opened again: a
    /// commit whose outcome was unknown may be in it.
    pub(super) fn forget(&self) {
        let mut lists = self.lock();
        let ListStates { lists, events, .. } = &mut *lists;
        for list in lists.values_mut() {
            *events += 1;
            *list = ListState { last_event: *events, is_changing: false, oldest: None, ..*list };
        }
    }

    /// The knowledge of a list; to be taken before the view.
    pub(super) fn known(&self, prefix: &[u8]) -> Option<TombstoneHint> {
        let lists = self.lock();
        let list = lists.lists.get(prefix)?;
        Some(TombstoneHint { last_event: list.last_event, oldest: list.oldest.clone() })
    }

    /// The oldest live key in a view, if it is known: nothing was put between the question and the view.
    pub(super) fn oldest_in_view(&self, prefix: &[u8], known: &TombstoneHint) -> Option<Vec<u8>> {
        let is_current = self.lock().unchanged(prefix, known).is_some();
        if is_current { known.oldest.clone() } else { None }
    }

    /// Remembers the oldest live key that a view showed, unless the view may lack something that is put.
    pub(super) fn remember(&self, prefix: &[u8], known: &TombstoneHint, oldest: Vec<u8>) {
        if let Some(list) = self.lock().unchanged(prefix, known).filter(|list| !list.is_changing) {
            list.oldest = Some(oldest);
        }
    }

    fn lock(&self) -> MutexGuard<'_, ListStates> {
        self.0.lock()
    }
}

impl ListStates {
    fn put(&mut self, prefix: &[u8], key: &[u8]) {
        let Some(list) = self.lists.get_mut(prefix) else { return };
        self.events += 1;
        list.last_event = self.events;
        list.is_changing = true;
        list.oldest.take_if(|oldest| key < oldest.as_slice());
    }

    fn delete(&mut self, prefix: &[u8]) {
        if let Some(list) = self.lists.get_mut(prefix) {
            list.deletions += 1;
            self.is_kept_outdated |= list.deletions == KEPT_DELETIONS_MIN;
            return;
        }
        if self.lists.len() >= LISTS_MAX {
            self.forget_one();
        }
        self.events += 1;
        // Entries that the same commit puts into the list were not noticed.
        let list = ListState { deletions: 1, last_event: self.events, is_changing: true, oldest: None };
        self.lists.insert(prefix.to_vec(), list);
    }

    fn forget_one(&mut self) {
        let fewest = self.lists.iter().min_by_key(|(_, list)| list.deletions);
        if let Some(prefix) = fewest.map(|(prefix, _)| prefix.clone()) {
            let forgotten = self.lists.remove(&prefix);
            self.is_kept_outdated |= forgotten.is_some_and(|list| list.deletions >= KEPT_DELETIONS_MIN);
        }
    }

    /// The prefixes of the lists with many deletions, each after its length.
    fn to_keep(&self) -> Vec<u8> {
        let mut kept = Vec::new();
        for (prefix, _) in self.lists.iter().filter(|(_, list)| list.deletions >= KEPT_DELETIONS_MIN) {
            kept.extend_from_slice(&u32::try_from(prefix.len()).unwrap_or(u32::MAX).to_be_bytes());
            kept.extend_from_slice(prefix);
        }
        kept
    }

    fn unchanged(&mut self, prefix: &[u8], known: &TombstoneHint) -> Option<&mut ListState> {
        self.lists.get_mut(prefix).filter(|list| list.last_event == known.last_event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::keys::{live_prefix, with_keyset};

    fn prefix() -> Vec<u8> {
        live_prefix(1, "partition", "post")
    }

    fn key(order_value: &str) -> Vec<u8> {
        with_keyset(prefix(), order_value, "id")
    }

    fn expect_put(ends: &TombstoneHints, order_value: &str) {
        assert_eq!(ends.expect(&[(KeySpace::Items, key(order_value), Some(Vec::new()))]), None);
    }

    fn put(ends: &TombstoneHints, order_value: &str) {
        expect_put(ends, order_value);
        ends.settle();
    }

    fn delete(ends: &TombstoneHints, order_value: &str) -> Option<Vec<u8>> {
        let kept = ends.expect(&[(KeySpace::Items, key(order_value), None)]);
        ends.settle();
        kept
    }

    /// The ends of one list from which something was deleted, and whose oldest key is "5".
    fn ends() -> TombstoneHints {
        let ends = TombstoneHints::default();
        delete(&ends, "1");
        let known = ends.known(&prefix()).expect("the list had a deletion");
        ends.remember(&prefix(), &known, key("5"));
        ends
    }

    fn oldest(ends: &TombstoneHints) -> Option<Vec<u8>> {
        let known = ends.known(&prefix())?;
        ends.oldest_in_view(&prefix(), &known)
    }

    #[test]
    fn a_list_without_deletions_is_not_known() {
        let ends = TombstoneHints::default();
        put(&ends, "5");
        assert!(ends.known(&prefix()).is_none());
    }

    #[test]
    fn a_newer_item_or_a_deletion_leaves_the_end_where_it_is() {
        let ends = ends();
        put(&ends, "6");
        delete(&ends, "5");
        assert_eq!(oldest(&ends), Some(key("5")));
    }

    #[test]
    fn an_older_item_makes_the_end_unknown() {
        let ends = ends();
        put(&ends, "4");
        assert_eq!(oldest(&ends), None);
    }

    #[test]
    fn a_put_between_hint_and_view_invalidates_the_hint() {
        let ends = ends();
        let known = ends.known(&prefix()).expect("the list is known");
        put(&ends, "4");
        assert_eq!(ends.oldest_in_view(&prefix(), &known), None);
    }

    #[test]
    fn a_put_during_a_page_prevents_a_new_hint() {
        let ends = ends();
        let known = ends.known(&prefix()).expect("the list is known");
        put(&ends, "4");
        ends.remember(&prefix(), &known, key("5"));
        assert_eq!(oldest(&ends), None);
    }

    #[test]
    fn a_put_that_the_view_may_lack_prevents_a_new_hint() {
        let ends = ends();
        expect_put(&ends, "4");
        let known = ends.known(&prefix()).expect("the list is known");
        ends.remember(&prefix(), &known, key("5"));
        assert_eq!(oldest(&ends), None, "the commit is under way");
        ends.settle();
        ends.remember(&prefix(), &known, key("5"));
        assert_eq!(oldest(&ends), None, "the commit ended after the question");
    }

    #[test]
    fn a_page_read_before_a_reset_makes_no_hint() {
        let ends = ends();
        let known = ends.known(&prefix()).expect("the list is known");
        ends.forget();
        assert_eq!(oldest(&ends), None);
        ends.remember(&prefix(), &known, key("5"));
        assert_eq!(oldest(&ends), None);
    }

    #[test]
    fn a_list_that_was_forgotten_and_is_known_again_is_another_one() {
        let ends = ends();
        delete(&ends, "5");
        let known = ends.known(&prefix()).expect("the list is known");
        for other in 0..LISTS_MAX + 1 {
            let prefix = live_prefix(1, &other.to_string(), "post");
            for _ in 0..3 {
                assert_eq!(
                    ends.expect(&[(KeySpace::Items, with_keyset(prefix.clone(), "1", "id"), None)]),
                    None
                );
                ends.settle();
            }
        }
        assert!(ends.known(&prefix()).is_none(), "it had the fewest deletions");
        delete(&ends, "5");
        ends.remember(&prefix(), &known, key("5"));
        assert_eq!(oldest(&ends), None);
    }

    #[test]
    fn a_list_with_many_deletions_is_known_after_a_restart() {
        let ends = TombstoneHints::default();
        let kept: Vec<_> = (0..2 * KEPT_DELETIONS_MIN).filter_map(|_| delete(&ends, "1")).collect();
        assert_eq!(kept.len(), 1, "it is kept once");
        let ends = TombstoneHints::restored(&kept[0]);
        let known = ends.known(&prefix()).expect("the list is known");
        ends.remember(&prefix(), &known, key("5"));
        assert_eq!(oldest(&ends), Some(key("5")));
    }

    #[test]
    fn what_was_kept_and_is_damaged_is_left_out() {
        for kept in [&b""[..], &[0], &[0, 0, 0, 9, 1], &[255; 8]] {
            assert!(TombstoneHints::restored(kept).lock().lists.is_empty());
        }
    }
}
