//! Witnesses of a salvage: the hidden keys of each key space, and the writes of lost values that the
//! change log names.

use std::collections::HashMap;

use super::hidden_keys::HiddenKeys;
use super::lost_items::LostItems;
use crate::embedded::key_space::KeySpace;
use crate::embedded::keys::{ContainerId, base_key, edit_key, is_edit_key};

/// Whether an item that is there is the newest version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Currency {
    Current,
    /// The newest version is lost.
    Earlier {
        lost_write: u64,
    },
    /// It was deleted, or lies elsewhere: the damage hides its deletion.
    Gone,
    /// Nothing tells.
    Unconfirmed,
}

/// The damage of the key spaces, and the lost items that follow from it.
#[derive(Debug, Default)]
pub(in super::super) struct Witnesses {
    ids: HiddenKeys,
    items: HiddenKeys,
    log: HiddenKeys,
    /// Whether commits are missing. Then key spaces are of different moments, and an absent entry tells
    /// nothing.
    pub(in super::super) are_commits_missing: bool,
    /// The lost writes that the change log names, by container, partition key and id.
    lost_writes: HashMap<(ContainerId, String, String), u64>,
    pub(in super::super) lost: LostItems,
}

impl Witnesses {
    /// Adds the hidden keys of a key space.
    pub(super) fn add(&mut self, space: KeySpace, hidden: HiddenKeys) {
        match space {
            KeySpace::Ids => self.ids = hidden,
            KeySpace::Items => self.items = hidden,
            KeySpace::Log => self.log = hidden,
            KeySpace::Index | KeySpace::Meta => {}
        }
    }

    /// Whether the value of an item or of its edit may be hidden, or a newer one.
    pub(in super::super) fn may_hide_value(&self, key: &[u8]) -> bool {
        let other = if is_edit_key(key) { base_key(key) } else { Some(edit_key(key)) };
        self.items.contains(key) || other.is_some_and(|other| self.items.contains(&other))
    }

    pub(in super::super) fn may_hide_any_value(&self) -> bool {
        !self.items.is_empty()
    }

    pub(in super::super) fn may_hide_any_log(&self) -> bool {
        self.are_commits_missing || !self.log.is_empty()
    }

    /// Whether the state of a key of `ids` is known: the absence of an entry is one.
    pub(in super::super) fn is_certain_of_ids(&self, key: &[u8]) -> bool {
        !self.are_commits_missing && !self.ids.contains(key)
    }

    /// The same for a key of the change log.
    pub(in super::super) fn is_certain_of_log(&self, key: &[u8]) -> bool {
        !self.are_commits_missing && !self.log.contains(key)
    }

    /// Notes a write whose value is lost, by container, partition key and id.
    pub(in super::super) fn note_lost_write(&mut self, item: (ContainerId, String, String), write: u64) {
        let last = self.lost_writes.entry(item).or_default();
        *last = write.max(*last);
    }

    /// The last noted write of an item.
    pub(in super::super) fn lost_write(
        &self,
        container: ContainerId,
        partition_key: &str,
        id: &str,
    ) -> Option<u64> {
        self.lost_writes.get(&(container, partition_key.to_owned(), id.to_owned())).copied()
    }
}
