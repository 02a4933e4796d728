//! Positions in the change feed, and their texts: continuations, the ends of writes, and the progress of a
//! reader.
//!
//! A continuation has the start of the feed and, for each part of the key space that was read, how far. Parts
//! that were never read begin at the start. That is why a continuation outlives splits and merges, and serves
//! each part of its range.

use std::fmt;

use onehop_store::{Continuation, FeedRange};

use super::hash_range::{HashRange, parse_place};

const FEED: &str = "feed";
const WRITE: &str = "write";
const READ: &str = "read";

/// A place in the log of a physical partition: behind this change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogPosition {
    pub(super) lsn: u64,
    /// The place among the changes of one commit.
    pub(super) index: u32,
}

impl LogPosition {
    /// Behind all changes of a commit.
    pub(super) fn behind(lsn: u64) -> Self {
        Self { lsn, index: u32::MAX }
    }
}

/// Where a reader starts that has no position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FeedStart {
    Beginning,
    /// Behind the changes of this second and all before it, Unix time.
    After(i64),
    Now,
}

/// The progress of a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FeedPosition {
    pub(super) start: FeedStart,
    /// In the order of their ranges, which do not overlap.
    pub(super) parts: Vec<(HashRange, LogPosition)>,
}

impl FeedPosition {
    pub(super) fn of(continuation: &Continuation) -> Option<Self> {
        let mut words = continuation.0.split(';');
        if words.next() != Some(FEED) {
            return None;
        }
        let start = parse_start(words.next()?)?;
        let parts: Vec<_> = words.map(parse_part).collect::<Option<_>>()?;
        let position = Self { start, parts };
        let is_sorted = position.parts.windows(2).all(|pair| pair[0].0.max <= pair[1].0.min);
        (is_sorted && position.to_string() == continuation.0).then_some(position)
    }

    pub(super) fn continuation(&self) -> Continuation {
        Continuation(self.to_string())
    }
}

impl fmt::Display for FeedPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{FEED};")?;
        match self.start {
            FeedStart::Beginning => formatter.write_str("beginning")?,
            FeedStart::After(second) => write!(formatter, "after:{second}")?,
            FeedStart::Now => formatter.write_str("now")?,
        }
        for (range, LogPosition { lsn, index }) in &self.parts {
            write!(formatter, ";{range}@{lsn}.{index}")?;
        }
        Ok(())
    }
}

fn parse_start(word: &str) -> Option<FeedStart> {
    match word {
        "beginning" => Some(FeedStart::Beginning),
        "now" => Some(FeedStart::Now),
        word => Some(FeedStart::After(word.strip_prefix("after:")?.parse().ok()?)),
    }
}

fn parse_part(word: &str) -> Option<(HashRange, LogPosition)> {
    let (range, position) = word.split_once('@')?;
    let (lsn, index) = position.split_once('.')?;
    let position = LogPosition { lsn: lsn.parse().ok()?, index: index.parse().ok()? };
    Some((HashRange::parse(range)?, position))
}

/// A commit of a physical partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Commit {
    /// Numbers of different physical partitions are never compared.
    pub(super) partition: u32,
    pub(super) lsn: u64,
}

impl Commit {
    fn has_passed(self, other: Self) -> bool {
        self.partition == other.partition && self.lsn >= other.lsn
    }
}

/// The end of a write to the logical partition at this point.
pub(super) fn write_end(point: u64, commit: Commit) -> Continuation {
    let Commit { partition, lsn } = commit;
    Continuation(format!("{WRITE}:{point:09x}:{partition}:{lsn}"))
}

/// The progress of a reader of all writes to a range up to a commit.
pub(super) fn read_end(range: HashRange, commit: Commit) -> Continuation {
    let Commit { partition, lsn } = commit;
    Continuation(format!("{READ}:{range}:{partition}:{lsn}"))
}

/// Whether a reader has passed the end of a write, or the progress of another reader of the same range; or
/// whether a write ends behind another write to its logical partition.
pub(super) fn is_past(at: &Continuation, end: &Continuation) -> bool {
    match (parse_read(at), parse_read(end), parse_write(end)) {
        (Some((range, at)), _, Some((point, end))) => range.contains(point) && at.has_passed(end),
        (Some((range, at)), Some((of_end, end)), None) => range == of_end && at.has_passed(end),
        (None, _, Some((point, end))) => {
            parse_write(at).is_some_and(|(of_at, at)| of_at == point && at.has_passed(end))
        }
        (_, _, None) => false,
    }
}

/// Whether a range holds the logical partition of a write. `true` where its place is not known.
pub(super) fn holds(range: &FeedRange, end: &Continuation) -> bool {
    match (HashRange::of(range), parse_write(end)) {
        (Some(range), Some((point, _))) => range.contains(point),
        _ => true,
    }
}

fn parse_write(end: &Continuation) -> Option<(u64, Commit)> {
    let [WRITE, point, partition, lsn] = end.0.split(':').collect::<Vec<_>>()[..] else { return None };
    Some((parse_place(point)?, parse_commit(partition, lsn)?))
}

fn parse_read(at: &Continuation) -> Option<(HashRange, Commit)> {
    let [READ, range, partition, lsn] = at.0.split(':').collect::<Vec<_>>()[..] else { return None };
    Some((HashRange::parse(range)?, parse_commit(partition, lsn)?))
}

fn parse_commit(partition: &str, lsn: &str) -> Option<Commit> {
    Some(Commit { partition: partition.parse().ok()?, lsn: lsn.parse().ok()? })
}
