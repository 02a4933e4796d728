//! Log sequence numbers (LSN): how far a reader of a feed range has come, and where a write ended, without a
//! request.
//!
//! A physical partition numbers its commits. The answer to a write has the number of that commit. A page of
//! the change feed has the number that the partition had reached, and its items may have their own. So a
//! reader that was given an empty page at a number has read every write up to it.
//!
//! Numbers of different physical partitions are never compared: after a split or a merge nothing is known to
//! be passed until the reader has read the new partition. The session token of an answer names the partition.
//!
//! Both are texts for the port: `write:<point>:<partition>:<lsn>` for the end of a write,
//! `read:<min>:<max>:<partition>:<lsn>` for the progress of a reader. The places are effective partition keys
//! in hexadecimal digits.

use azure_data_cosmos::feed::FeedRange as CosmosRange;
use azure_data_cosmos::models::EffectivePartitionKey;
use azure_data_cosmos::options::SessionToken;

use super::signals::contains;
use crate::{Continuation, FeedRange};

const WRITE: &str = "write";
const READ: &str = "read";

/// A commit of a physical partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Commit {
    pub(super) partition: String,
    pub(super) lsn: u64,
}

impl Commit {
    /// The commit that an answer names; `None` where it does not, or is of several physical partitions.
    pub(super) fn of(lsn: Option<u64>, token: Option<&SessionToken>) -> Option<Self> {
        let token = token?.as_str();
        let (partition, _) = token.split_once(':').filter(|_| !token.contains(','))?;
        Some(Self { partition: partition.to_owned(), lsn: lsn? })
    }

    fn has_passed(&self, other: &Self) -> bool {
        self.partition == other.partition && self.lsn >= other.lsn
    }
}

/// The end of a write.
#[derive(Debug)]
struct WriteEnd {
    point: CosmosRange,
    commit: Commit,
}

/// The progress of a reader of a range.
#[derive(Debug)]
struct ReadEnd {
    range: CosmosRange,
    commit: Commit,
}

/// The end of a write to the logical partition at this point.
pub(super) fn write_end(point: &CosmosRange, commit: &Commit) -> Continuation {
    let Commit { partition, lsn } = commit;
    Continuation(format!("{WRITE}:{}:{partition}:{lsn}", point.min_inclusive().to_hex()))
}

/// The progress of a reader of all writes to a range up to a number.
pub(super) fn read_end(range: &CosmosRange, commit: &Commit) -> Continuation {
    let (min, max) = (range.min_inclusive().to_hex(), range.max_exclusive().to_hex());
    let Commit { partition, lsn } = commit;
    Continuation(format!("{READ}:{min}:{max}:{partition}:{lsn}"))
}

/// Whether a reader has passed the end of a write, or the progress of another reader of the same range; or
/// whether a write ends behind another write to its logical partition.
pub(super) fn is_past(at: &Continuation, end: &Continuation) -> bool {
    let has_passed = |at: &Commit, end: &Commit| at.has_passed(end);
    match (parse_read(at), parse_read(end), parse_write(end)) {
        (Some(at), _, Some(end)) => contains(&at.range, &end.point) && has_passed(&at.commit, &end.commit),
        (Some(at), Some(end), None) => at.range == end.range && has_passed(&at.commit, &end.commit),
        (None, _, Some(end)) => {
            parse_write(at).is_some_and(|at| at.point == end.point && has_passed(&at.commit, &end.commit))
        }
        (_, _, None) => false,
    }
}

/// Whether a range holds the logical partition of a write. `true` where its place is not known.
pub(super) fn holds(range: &FeedRange, end: &Continuation) -> bool {
    match (range.0.parse::<CosmosRange>(), parse_write(end)) {
        (Ok(range), Some(end)) => contains(&range, &end.point),
        _ => true,
    }
}

fn parse_write(end: &Continuation) -> Option<WriteEnd> {
    let [WRITE, point, partition, lsn] = end.0.split(':').collect::<Vec<_>>()[..] else { return None };
    let point = EffectivePartitionKey::try_from(point.to_owned()).ok()?;
    let commit = Commit { partition: partition.to_owned(), lsn: lsn.parse().ok()? };
    Some(WriteEnd { point: CosmosRange::new(point.clone(), point).ok()?, commit })
}

fn parse_read(at: &Continuation) -> Option<ReadEnd> {
    let [READ, min, max, partition, lsn] = at.0.split(':').collect::<Vec<_>>()[..] else { return None };
    let [min, max] = [min, max].map(|place| EffectivePartitionKey::try_from(place.to_owned()));
    let commit = Commit { partition: partition.to_owned(), lsn: lsn.parse().ok()? };
    Some(ReadEnd { range: CosmosRange::new(min.ok()?, max.ok()?).ok()?, commit })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(min: &str, max: &str) -> CosmosRange {
        let place = |text: &str| EffectivePartitionKey::try_from(text.to_owned()).expect("a place");
        CosmosRange::new(place(min), place(max)).expect("a range")
    }

    fn commit(partition: &str, lsn: u64) -> Commit {
        Commit { partition: partition.to_owned(), lsn }
    }

    #[test]
    fn an_answer_names_its_commit() {
        let token = |text: &'static str| SessionToken::new(text);
        assert_eq!(Commit::of(Some(7), Some(&token("3:1#7#0=5"))), Some(commit("3", 7)));
        assert_eq!(Commit::of(Some(7), Some(&token("3:1#7,4:1#9"))), None, "of two partitions");
        assert_eq!(Commit::of(Some(7), None), None);
        assert_eq!(Commit::of(None, Some(&token("3:1#7"))), None);
    }

    #[test]
    fn a_reader_passes_the_writes_of_its_range_up_to_its_number() {
        let at = read_end(&range("20", "40"), &commit("1", 7));
        let write = |point, lsn| write_end(&range(point, point), &commit("1", lsn));
        for (end, passed) in [
            (write("20", 7), true),
            (write("3F", 6), true),
            (write("20", 8), false),
            (write("40", 7), false),
            (write("1F", 7), false),
        ] {
            assert_eq!(is_past(&at, &end), passed, "{end:?}");
        }
        let of_another = write_end(&range("20", "20"), &commit("2", 3));
        assert!(!is_past(&at, &of_another), "the partition was split meanwhile");
    }

    #[test]
    fn readers_of_one_range_and_partition_are_compared() {
        let read = |max, partition, lsn| read_end(&range("20", max), &commit(partition, lsn));
        let at = read("40", "1", 7);
        for (other, passed) in [
            (read("40", "1", 7), true),
            (read("40", "1", 6), true),
            (read("40", "1", 8), false),
            (read("40", "2", 6), false),
            (read("30", "1", 6), false),
        ] {
            assert_eq!(is_past(&at, &other), passed, "{other:?}");
        }
    }

    #[test]
    fn a_write_ends_behind_an_earlier_one_to_its_logical_partition() {
        let write = |point, partition, lsn| write_end(&range(point, point), &commit(partition, lsn));
        let at = write("20", "1", 7);
        for (end, passed) in [
            (write("20", "1", 7), true),
            (write("20", "1", 6), true),
            (write("20", "1", 8), false),
            (write("21", "1", 6), false),
            (write("20", "2", 6), false),
        ] {
            assert_eq!(is_past(&at, &end), passed, "{end:?}");
        }
    }

    #[test]
    fn a_range_holds_the_writes_to_its_logical_partitions() {
        let all = FeedRange(range("20", "40").to_string());
        assert!(holds(&all, &write_end(&range("20", "20"), &commit("1", 1))));
        assert!(!holds(&all, &write_end(&range("40", "40"), &commit("1", 1))));
        assert!(holds(&all, &Continuation("of another store".to_owned())), "it may be anywhere");
    }

    #[test]
    fn what_is_no_end_is_never_passed() {
        let at = read_end(&range("20", "40"), &commit("1", 7));
        for end in
            ["", "write", "write:20:1", "write:20:1:x", "write:20:1:7:7", "read:20:40:1:x", "sequence:7"]
        {
            assert!(!is_past(&at, &Continuation(end.to_owned())), "{end}");
            assert!(!is_past(&Continuation(end.to_owned()), &at), "{end}");
        }
    }
}
