//! Log sequence numbers (LSN): how far a reader of a feed range has come, and where a write ended, without a request.
//!
//! A physical partition numbers its commits. The answer to a write has the number of that commit. A page of the change feed has the
//! number that the partition had reached, and its items may have their own. So a reader that was given an empty page at a number has
//! read every write up to it.
//!
//! Both are texts for the port: `write:<point>:<lsn>` for the end of a write, `read:<min>:<max>:<lsn>` for what a reader has passed. The
//! places are effective partition keys in hexadecimal digits.

use azure_data_cosmos::feed::FeedRange as CosmosRange;
use azure_data_cosmos::models::EffectivePartitionKey;

use super::signals::contains;
use crate::{Continuation, FeedRange};

const WRITE: &str = "write";
const READ: &str = "read";

/// The end of a write.
#[derive(Debug)]
struct WriteEnd {
    point: CosmosRange,
    lsn: u64,
}

/// What a reader of a range has passed.
#[derive(Debug)]
struct ReadEnd {
    range: CosmosRange,
    lsn: u64,
}

/// The end of a write to the logical partition at this point.
pub(super) fn write_end(point: &CosmosRange, lsn: u64) -> Continuation {
    Continuation(format!("{WRITE}:{}:{lsn}", point.min_inclusive().to_hex()))
}

/// What a reader has passed that has read all writes to a range up to a number.
pub(super) fn read_end(range: &CosmosRange, lsn: u64) -> Continuation {
    let (min, max) = (range.min_inclusive().to_hex(), range.max_exclusive().to_hex());
    Continuation(format!("{READ}:{min}:{max}:{lsn}"))
}

/// Whether a reader has passed the end of a write.
pub(super) fn is_past(at: &Continuation, end: &Continuation) -> bool {
    let (Some(at), Some(end)) = (parse_read(at), parse_write(end)) else { return false };
    contains(&at.range, &end.point) && at.lsn >= end.lsn
}

/// Whether a range holds the logical partition of a write. `true` where its place is not known.
pub(super) fn holds(range: &FeedRange, end: &Continuation) -> bool {
    match (range.0.parse::<CosmosRange>(), parse_write(end)) {
        (Ok(range), Some(end)) => contains(&range, &end.point),
        _ => true,
    }
}

fn parse_write(end: &Continuation) -> Option<WriteEnd> {
    let mut parts = end.0.split(':');
    let (WRITE, point, lsn, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next()) else {
        return None;
    };
    let point = EffectivePartitionKey::try_from(point.to_owned()).ok()?;
    Some(WriteEnd { point: CosmosRange::new(point.clone(), point).ok()?, lsn: lsn.parse().ok()? })
}

fn parse_read(at: &Continuation) -> Option<ReadEnd> {
    let mut parts = at.0.split(':');
    let (READ, min, max) = (parts.next()?, parts.next()?, parts.next()?) else { return None };
    let (lsn, None) = (parts.next()?, parts.next()) else { return None };
    let [min, max] = [min, max].map(|place| EffectivePartitionKey::try_from(place.to_owned()));
    Some(ReadEnd { range: CosmosRange::new(min.ok()?, max.ok()?).ok()?, lsn: lsn.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(min: &str, max: &str) -> CosmosRange {
        let place = |text: &str| EffectivePartitionKey::try_from(text.to_owned()).expect("a place");
        CosmosRange::new(place(min), place(max)).expect("a range")
    }

    #[test]
    fn a_reader_passes_the_writes_of_its_range_up_to_its_number() {
        let at = read_end(&range("20", "40"), 7);
        let write = |point, lsn| write_end(&range(point, point), lsn);
        for (end, passed) in [
            (write("20", 7), true),
            (write("3F", 6), true),
            (write("20", 8), false),
            (write("40", 7), false),
            (write("1F", 7), false),
        ] {
            assert_eq!(is_past(&at, &end), passed, "{end:?}");
        }
    }

    #[test]
    fn a_range_holds_the_writes_to_its_logical_partitions() {
        let all = FeedRange(range("20", "40").to_string());
        assert!(holds(&all, &write_end(&range("20", "20"), 1)));
        assert!(!holds(&all, &write_end(&range("40", "40"), 1)));
        assert!(holds(&all, &Continuation("of another store".to_owned())), "it may be anywhere");
    }

    #[test]
    fn what_is_no_end_is_never_passed() {
        let at = read_end(&range("20", "40"), 7);
        for end in ["", "write", "write:20", "write:20:x", "write:20:7:7", "read:20:40:7", "sequence:7"] {
            assert!(!is_past(&at, &Continuation(end.to_owned())), "{end}");
            assert!(!is_past(&Continuation(end.to_owned()), &at), "{end}");
        }
    }
}
