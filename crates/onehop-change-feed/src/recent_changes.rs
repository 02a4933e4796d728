//! Recent changes: the waking fields of items whose last change this process projected, so that a change
//! which directly follows and touches none of them costs no operation.
//!
//! "Directly" is decided by the version: between version n, which was projected, and version n + 1 there was
//! no other state of the item that another process could have projected. So this process's projection of n
//! holds for n + 1, too. The memory is bounded.

use onehop_runtime::planted;
use onehop_store::{Change, PartitionKey};
use quick_cache::sync::Cache;

use super::projection::WakingFields;

/// Items that are remembered.
const ITEMS_MAX: usize = 4096;
/// The largest encoded values that are remembered, in bytes.
const VALUES_BYTES_MAX: usize = 1024;

pub(super) struct RecentChanges(Cache<(PartitionKey, String), WakingFields>);

impl Default for RecentChanges {
    fn default() -> Self {
        Self(Cache::new(planted::size(ITEMS_MAX, 8)))
    }
}

impl RecentChanges {
    /// Whether the change is a projected version, or directly follows one, with the same waking fields.
    pub(super) fn is_projected(&self, change: &Change, fields: &WakingFields) -> bool {
        let projected = self.0.get(&key_of(change));
        projected.is_some_and(|projected| {
            let is_next = (projected.version..=projected.version + 1).contains(&fields.version)
                || planted!("any-version-is-projected");
            is_next && projected.values == fields.values
        })
    }

    /// Remembers a change that was projected.
    pub(super) fn remember(&self, change: &Change, fields: WakingFields) {
        let key = key_of(change);
        if fields.values.len() > VALUES_BYTES_MAX {
            self.0.remove(&key);
        } else {
            self.0.insert(key, fields);
        }
    }
}

fn key_of(change: &Change) -> (PartitionKey, String) {
    (change.partition_key.clone(), change.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use onehop_store::{ETag, Item};

    fn change(id: usize) -> Change {
        let item = Item { body: "{}".into(), etag: ETag::from_text("\"1\""), timestamp_ms: 0 };
        Change { partition_key: PartitionKey::from("p"), id: id.to_string(), item }
    }

    fn fields(version: u64, values: &str) -> WakingFields {
        WakingFields { version, values: values.into() }
    }

    #[test]
    fn only_the_next_version_with_the_same_fields_is_projected_already() {
        let recent = RecentChanges::default();
        assert!(!recent.is_projected(&change(1), &fields(2, "ada")));
        recent.remember(&change(1), fields(1, "ada"));
        assert!(recent.is_projected(&change(1), &fields(1, "ada")), "a write that keeps the version");
        assert!(recent.is_projected(&change(1), &fields(2, "ada")));
        for other in [fields(2, "eve"), fields(3, "ada"), fields(0, "ada")] {
            assert!(!recent.is_projected(&change(1), &other), "{other:?}");
        }
        assert!(!recent.is_projected(&change(2), &fields(2, "ada")));
    }

    #[test]
    fn large_values_are_not_remembered() {
        let recent = RecentChanges::default();
        recent.remember(&change(7), fields(1, "ada"));
        let large = "x".repeat(VALUES_BYTES_MAX + 1);
        recent.remember(&change(7), fields(2, &large));
        assert!(!recent.is_projected(&change(7), &fields(3, &large)));
        assert!(!recent.is_projected(&change(7), &fields(2, "ada")), "what was remembered before is old");
    }
}
