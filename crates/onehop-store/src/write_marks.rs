//! Write marks (cache validation for entity tags and caches): whether something that was read may have been
//! written since.
//!
//! Each logical partition has a mark, the number of the last commit that wrote to it, and so has each item.
//! Items with equal hashes share a mark, so a mark may report a write that did not happen, but never misses a
//! write. Each container has a mark for reads across partitions. A commit sets its marks before it becomes
//! visible, and is done after that. A read after a commit was done is unchanged while its marks are not above
//! that commit.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

/// Marks that logical partitions share, a power of two: 512 KiB of them.
const PARTITION_MARKS: usize = 1 << 16;
/// Marks that items share, a power of two: 512 KiB of them.
const ITEM_MARKS: usize = 1 << 16;
/// Containers that a store may have.
const CONTAINER_MARKS: usize = 1 << 8;

/// The index of a mark: the dependency of a read, which is an item, a logical partition or a whole container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WriteMark(pub u32);

/// The marks of a store that this process alone writes to.
#[derive(Debug)]
pub struct WriteMarks {
    marks: Box<[AtomicU64]>,
    /// The last commit that every read sees.
    done: AtomicU64,
    hashing: RandomState,
}

impl Default for WriteMarks {
    fn default() -> Self {
        Self {
            marks: (0..CONTAINER_MARKS + PARTITION_MARKS + ITEM_MARKS).map(|_| AtomicU64::new(0)).collect(),
            done: AtomicU64::new(0),
            hashing: RandomState::new(),
        }
    }
}

impl WriteMarks {
    /// The mark of a whole container, by its number.
    #[must_use]
    pub fn of_container(&self, container: u8) -> WriteMark {
        WriteMark(u32::from(container))
    }

    /// The mark of deletions by other processes, which no change feed of latest versions shows. No container
    /// has its number.
    #[must_use]
    pub fn of_deletions(&self) -> WriteMark {
        self.of_container(u8::MAX)
    }

    /// Records that other processes may have deleted items. Commit numbers grow.
    pub fn write_deletions(&self, commit: u64) {
        self.marks[self.of_deletions().0 as usize].fetch_max(commit, Ordering::SeqCst);
    }

    /// The mark of a logical partition.
    #[must_use]
    pub fn of_partition(&self, container: u8, partition_key: &str) -> WriteMark {
        let hash = self.hashing.hash_one((container, partition_key)) as usize;
        Self::at(CONTAINER_MARKS + hash % PARTITION_MARKS)
    }

    /// The mark of an item, by a key that stands for container, partition key and id.
    #[must_use]
    pub fn of_item(&self, key: &[u8]) -> WriteMark {
        let hash = self.hashing.hash_one(key) as usize;
        Self::at(CONTAINER_MARKS + PARTITION_MARKS + hash % ITEM_MARKS)
    }

    fn at(place: usize) -> WriteMark {
        WriteMark(u32::try_from(place).expect("there are fewer marks than that"))
    }

    /// The last commit that is done: reads that begin now see it.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::SeqCst)
    }

    /// Whether no later commit wrote to the item, the logical partition or the container of the mark. `false`
    /// for a number that is no mark.
    #[must_use]
    pub fn is_unwritten_since(&self, mark: WriteMark, commit: u64) -> bool {
        self.marks.get(mark.0 as usize).is_some_and(|mark| mark.load(Ordering::SeqCst) <= commit)
    }

    /// Records that a commit, which is not visible yet, writes to a logical partition. Commit numbers grow.
    pub fn write(&self, container: u8, partition_key: &str, commit: u64) {
        for mark in [self.of_container(container), self.of_partition(container, partition_key)] {
            self.marks[mark.0 as usize].fetch_max(commit, Ordering::SeqCst);
        }
    }

    /// Records that a commit, which is not visible yet, writes an item. Commit numbers grow.
    pub fn write_item(&self, key: &[u8], commit: u64) {
        self.marks[self.of_item(key).0 as usize].fetch_max(commit, Ordering::SeqCst);
    }

    /// Records that reads which begin from now on see a commit.
    pub fn finish(&self, commit: u64) {
        self.done.fetch_max(commit, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_changes_the_marks_of_its_partition_and_container() {
        let marks = WriteMarks::default();
        let (written, container) = (marks.of_partition(1, "written"), marks.of_container(1));
        let other = (0..).map(|number| marks.of_partition(1, &format!("other {number}")));
        let other = other.into_iter().find(|other| *other != written).expect("not all share one mark");
        marks.write(1, "written", 5);
        for (mark, is_unwritten) in
            [(written, false), (container, false), (other, true), (marks.of_container(2), true)]
        {
            assert_eq!(marks.is_unwritten_since(mark, 4), is_unwritten, "{mark:?}");
            assert!(marks.is_unwritten_since(mark, 5), "{mark:?}");
        }
    }

    #[test]
    fn a_read_beside_a_commit_that_is_not_done_counts_as_changed() {
        let marks = WriteMarks::default();
        marks.write(1, "p", 1);
        assert_eq!(marks.done(), 0);
        assert!(!marks.is_unwritten_since(marks.of_partition(1, "p"), marks.done()));
        marks.finish(1);
        assert!(marks.is_unwritten_since(marks.of_partition(1, "p"), marks.done()));
    }

    #[test]
    fn what_is_no_mark_has_changed() {
        assert!(!WriteMarks::default().is_unwritten_since(WriteMark(u32::MAX), u64::MAX));
    }
}
