//! Lease coverage (pure): which feed ranges need a lease, and which leases are divided after a partition
//! split.

use onehop_store::FeedRange;

/// Finds the parts of a range that was split.
pub(super) trait RangeSplits: Sync {
    fn parts_of(&self, whole: &FeedRange, present: &[FeedRange]) -> Option<Vec<FeedRange>>;
}

/// The leased ranges of one projection, beside the ranges that its container has now.
pub(super) struct Coverage<'a> {
    pub(super) parts: &'a dyn RangeSplits,
    pub(super) present: &'a [FeedRange],
    pub(super) leased: &'a [FeedRange],
}

impl Coverage<'_> {
    /// The ranges into which a leased range has to be divided: the present ranges that make it up, or leased
    /// ones from a split that was interrupted.
    pub(super) fn parts_of(&self, leased: &FeedRange) -> Option<Vec<FeedRange>> {
        self.parts.parts_of(leased, self.present).or_else(|| {
            let others: Vec<_> = self.leased.iter().filter(|other| *other != leased).cloned().collect();
            self.parts.parts_of(leased, &others)
        })
    }

    /// The present ranges without a reader: neither their own lease, nor a lease of a range that was split
    /// into them, nor leases of ranges that were merged into them.
    pub(super) fn uncovered(&self) -> Vec<FeedRange> {
        let divided: Vec<_> = self.leased.iter().filter_map(|leased| self.parts_of(leased)).collect();
        let whole: Vec<_> =
            self.leased.iter().filter(|leased| self.parts_of(leased).is_none()).cloned().collect();
        let covered = |range: &&FeedRange| {
            self.leased.contains(range)
                || divided.iter().any(|parts| parts.contains(range))
                || self.parts.parts_of(range, &whole).is_some()
        };
        self.present.iter().filter(|range| !covered(range)).cloned().collect()
    }

    /// The leased ranges that are parts of another leased one. Until that is divided, two would read the same
    /// changes, and out of order.
    pub(super) fn waiting(&self) -> Vec<FeedRange> {
        let parts = self.leased.iter().filter_map(|leased| self.parts_of(leased)).flatten();
        parts.filter(|part| self.leased.contains(part)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranges are spans of letters: `a-d` was split into `a-b` and `c-d`.
    struct Letters;

    fn span(range: &FeedRange) -> (u8, u8) {
        let bytes = range.0.as_bytes();
        (bytes[0], bytes[2])
    }

    impl RangeSplits for Letters {
        fn parts_of(&self, whole: &FeedRange, present: &[FeedRange]) -> Option<Vec<FeedRange>> {
            let (from, to) = span(whole);
            let within = |range: &&FeedRange| span(range).0 >= from && span(range).1 <= to;
            let parts: Vec<_> = present.iter().filter(within).cloned().collect();
            let letters: usize = parts.iter().map(|part| usize::from(span(part).1 - span(part).0) + 1).sum();
            (parts.len() > 1 && letters == usize::from(to - from) + 1).then_some(parts)
        }
    }

    fn ranges(texts: &[&str]) -> Vec<FeedRange> {
        texts.iter().map(|text| FeedRange((*text).to_owned())).collect()
    }

    fn uncovered(present: &[&str], leased: &[&str]) -> Vec<FeedRange> {
        let (present, leased) = (ranges(present), ranges(leased));
        Coverage { parts: &Letters, present: &present, leased: &leased }.uncovered()
    }

    fn waiting(present: &[&str], leased: &[&str]) -> Vec<FeedRange> {
        let (present, leased) = (ranges(present), ranges(leased));
        Coverage { parts: &Letters, present: &present, leased: &leased }.waiting()
    }

    #[test]
    fn a_range_without_any_lease_needs_one() {
        assert_eq!(uncovered(&["a-d", "e-h"], &["a-d"]), ranges(&["e-h"]));
    }

    #[test]
    fn the_parts_of_a_leased_range_need_none() {
        assert!(uncovered(&["a-b", "c-d"], &["a-d"]).is_empty());
    }

    #[test]
    fn a_range_merged_from_leased_ones_needs_none() {
        assert!(uncovered(&["a-d"], &["a-b", "c-d"]).is_empty());
    }

    #[test]
    fn a_merge_after_an_interrupted_split_needs_none() {
        assert!(uncovered(&["a-d"], &["a-b", "a-a", "b-b", "c-d"]).is_empty());
    }

    #[test]
    fn a_range_that_lost_a_part_of_its_leases_needs_one() {
        assert_eq!(uncovered(&["a-d"], &["a-b"]), ranges(&["a-d"]));
    }

    #[test]
    fn the_parts_wait_until_their_parent_is_gone() {
        assert_eq!(waiting(&["a-b", "c-d"], &["a-d", "a-b"]), ranges(&["a-b"]));
        assert!(waiting(&["a-b", "c-d"], &["a-b", "c-d"]).is_empty());
    }

    #[test]
    fn a_split_that_a_merge_overtook_is_finished() {
        assert_eq!(waiting(&["a-d"], &["a-d", "a-b", "c-d"]), ranges(&["a-b", "c-d"]));
    }
}
