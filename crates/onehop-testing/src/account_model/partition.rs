//! Physical partitions: a hash range, its log of changes, and how far lagging replicas have come.

use std::collections::VecDeque;
use std::sync::Arc;

use super::hash_range::HashRange;
use super::positions::LogPosition;

/// A change in the log: the version of an item, which may be a deletion.
#[derive(Debug, Clone)]
pub(super) struct LogEntry {
    pub(super) position: LogPosition,
    pub(super) point: u64,
    pub(super) partition_key: Arc<str>,
    pub(super) id: Arc<str>,
    /// The place among the versions of the item.
    pub(super) version: usize,
}

/// A physical partition.
#[derive(Debug)]
pub(super) struct PhysicalPartition {
    pub(super) number: u32,
    pub(super) range: HashRange,
    /// The number of the last commit.
    pub(super) lsn: u64,
    /// In the order of their positions. It is never shortened.
    pub(super) log: Vec<LogEntry>,
    /// The last commit that lagging replicas have.
    replicated: u64,
    /// Commits that lagging replicas lack, and when each arrives (monotonic ms).
    under_way: VecDeque<(u64, i64)>,
}

impl PhysicalPartition {
    pub(super) fn new(number: u32, range: HashRange) -> Self {
        Self { number, range, lsn: 0, log: Vec::new(), replicated: 0, under_way: VecDeque::new() }
    }

    /// Begins a commit that lagging replicas have at this time (monotonic ms), and returns its number.
    pub(super) fn commit(&mut self, replicated_at_ms: i64) -> u64 {
        self.lsn += 1;
        self.under_way.push_back((self.lsn, replicated_at_ms));
        self.lsn
    }

    /// The last commit that lagging replicas have at this time (monotonic ms). A replica gets commits in
    /// their order.
    pub(super) fn replicated(&mut self, now_ms: i64) -> u64 {
        while let Some((lsn, at_ms)) = self.under_way.front().copied()
            && at_ms <= now_ms
        {
            self.replicated = lsn;
            self.under_way.pop_front();
        }
        self.replicated
    }

    /// The changes behind a position, up to a commit.
    pub(super) fn changes(&self, behind: Option<LogPosition>, lsn: u64) -> &[LogEntry] {
        let from = behind.map_or(0, |behind| self.log.partition_point(|entry| entry.position <= behind));
        let to = self.log.partition_point(|entry| entry.position.lsn <= lsn);
        &self.log[from.min(to)..to]
    }

    /// Its two parts, numbered from `number` on; numbers of commits go on. All replicas of the parts have all
    /// commits.
    pub(super) fn split(&self, number: u32) -> Option<[Self; 2]> {
        let [left, right] = self.range.halves()?;
        let part = |number, range: HashRange| Self {
            log: self.log.iter().filter(|entry| range.contains(entry.point)).cloned().collect(),
            ..Self::at(number, range, self.lsn)
        };
        Some([part(number, left), part(number + 1, right)])
    }

    /// One physical partition of both, which are neighbours. Changes keep the numbers of their commits.
    /// Changes of the right one get a place behind the changes of the left one with the same number: so an
    /// old position of the right one may repeat changes.
    pub(super) fn merged(left: &Self, right: &Self, number: u32) -> Self {
        let range = HashRange { min: left.range.min, max: right.range.max };
        let mut log: Vec<LogEntry> = left.log.iter().chain(&right.log).cloned().collect();
        log.sort_by_key(|entry| entry.position.lsn);
        let mut last = LogPosition { lsn: 0, index: 0 };
        for entry in &mut log {
            let index = if entry.position.lsn == last.lsn { last.index + 1 } else { 0 };
            entry.position.index = entry.position.index.max(index);
            last = entry.position;
        }
        Self { log, ..Self::at(number, range, left.lsn.max(right.lsn)) }
    }

    fn at(number: u32, range: HashRange, lsn: u64) -> Self {
        Self { lsn, replicated: lsn, ..Self::new(number, range) }
    }
}
