//! Numbers and times of archived batches: the entries of a commit that say which one it is.

use crate::embedded::item_entries::{META_COMMIT, META_COMMIT_TIME};
use crate::embedded::salvage::JournalBatch;

/// The number of a commit and its time; a batch of the engine's own settings has neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct BatchNumbers {
    pub commit: Option<u64>,
    /// Unix ms.
    pub time_ms: Option<i64>,
}

impl BatchNumbers {
    /// The numbers in a batch, whose settings lie in a key space with this number.
    pub(super) fn of(batch: &JournalBatch, settings_space: u64) -> Self {
        let value = |name: &[u8]| -> Option<[u8; 8]> {
            let mut entries = batch.entries.iter();
            let (_, entry) = entries.find(|(space, entry)| *space == settings_space && entry.key == name)?;
            entry.value.as_deref()?.try_into().ok()
        };
        Self {
            commit: value(META_COMMIT).map(u64::from_be_bytes),
            time_ms: value(META_COMMIT_TIME).map(i64::from_be_bytes),
        }
    }
}
