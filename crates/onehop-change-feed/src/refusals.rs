//! Refused writes of a change, in succession: a lost race, or a write that contradicts the projection's
//! reads.
//!
//! Between two lost races something has changed: another writer was first. A write that is refused again and
//! again while all reads of the projection stay the same would be refused for ever. It is a poison message.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::request::ReadResult;
use onehop_store::ETag;

/// The refused attempts of a change since its last progress.
#[derive(Default)]
pub(super) struct Refusals {
    pub(super) count: u32,
    /// The versions of the items that the present attempt has read.
    reads: DefaultHasher,
    /// The same of the refused attempt before.
    reads_before: Option<u64>,
    has_anything_changed: bool,
}

impl Refusals {
    /// Begins an attempt with this version of the changed item.
    pub(super) fn begin_attempt(&mut self, version: &ETag) {
        self.reads = DefaultHasher::new();
        version.hash(&mut self.reads);
    }

    /// Notes the versions of the items that the attempt has read. The first attempt is compared with nothing:
    /// it may read from caches.
    pub(super) fn note_reads(&mut self, results: &[ReadResult]) {
        if self.count == 0 {
            return;
        }
        for result in results {
            match result {
                ReadResult::Item(item) => item.as_ref().map(|item| &item.etag).hash(&mut self.reads),
                ReadResult::Page(page) => {
                    page.items.iter().for_each(|item| item.etag.hash(&mut self.reads));
                    page.has_more.hash(&mut self.reads);
                }
                ReadResult::Count(count) => count.hash(&mut self.reads),
            }
        }
    }

    /// Notes that the attempt was refused.
    pub(super) fn record(&mut self) {
        if self.count > 0 {
            let reads = self.reads.finish();
            self.has_anything_changed |= self.reads_before.is_some_and(|before| before != reads);
            self.reads_before = Some(reads);
        }
        self.count += 1;
    }

    /// Whether anything that the change read has changed between two refusals.
    pub(super) fn are_lost_races(&self) -> bool {
        self.has_anything_changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(counts: &[u64]) -> Refusals {
        let mut refusals = Refusals::default();
        for count in counts {
            refusals.begin_attempt(&ETag::from_number(1));
            refusals.note_reads(&[ReadResult::Count(*count), ReadResult::Item(None)]);
            refusals.record();
        }
        refusals
    }

    #[test]
    fn a_race_is_lost_where_something_has_changed() {
        assert!(!refused(&[1, 1, 1, 1]).are_lost_races());
        assert!(refused(&[1, 1, 2, 2]).are_lost_races());
        assert!(!refused(&[7, 1, 1]).are_lost_races(), "the first attempt may have read from a cache");
    }

    #[test]
    fn a_newer_version_of_the_change_is_a_change() {
        let mut refusals = Refusals::default();
        for version in [1, 1, 2] {
            refusals.begin_attempt(&ETag::from_number(version));
            refusals.record();
        }
        assert!(refusals.are_lost_races());
        assert_eq!(refusals.count, 3);
    }
}
