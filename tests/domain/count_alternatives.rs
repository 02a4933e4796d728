//! The request charges of the ways to show counts in lists, as docs/adr/0124-counts-written-behind.md has
//! them.

use std::fmt::Write as _;

use onehop_store::charges::{Calibration, QueryWork, ReadConsistency, Replacement, TermCount};

/// Bytes of a post, a like and a short copy, as the worked example has them.
const POST: usize = 1_924;
const LIKE: usize = 227;
const ENTRY: usize = 450;
/// Index terms of a like under the policy of `onehop provision`.
const LIKE_TERMS: TermCount = TermCount { plain: 5, literals: 0, composites: 1 };
/// Lists that show the counts of a post: the feed and the posts of its author.
const LISTS: f64 = 2.0;
const FEED_POSTS: usize = 100;
const PAGE_POSTS: usize = 20;
/// Pages of the change feed a second, at most: changes of a fifth of a second share a page.
const PAGES_MAX: f64 = 5.0;
const RATES: [f64; 3] = [1.0, 10.0, 100.0];

/// RU of one operation each.
struct Charges {
    command: f64,
    page: f64,
    entry: f64,
    post_read: f64,
    feed: f64,
    page_item_read: f64,
    page_item_write: f64,
}

impl Charges {
    fn of(calibration: &Calibration) -> Self {
        let read = |bytes, consistency| calibration.point_read(bytes, consistency).total().0;
        let replace = |bytes| {
            let replacement =
                Replacement { bytes_before: bytes, bytes_after: bytes, ..Replacement::default() };
            calibration.replace(replacement).total().0
        };
        let (one, quorum) = (ReadConsistency::OneReplica, ReadConsistency::Quorum);
        // One more than the page, to know whether there is more.
        let items = PAGE_POSTS + 1;
        let feed = QueryWork {
            physical_partitions: 1,
            conditions: 1,
            items,
            bytes: items * ENTRY,
            ..QueryWork::default()
        };
        let (first, all) = (PAGE_POSTS * ENTRY, FEED_POSTS * ENTRY);
        Self {
            command: read(POST, one) + calibration.create(LIKE, LIKE_TERMS).total().0 + replace(POST),
            page: calibration.change_feed(1, POST, quorum).total().0,
            entry: read(ENTRY, quorum) + replace(ENTRY),
            post_read: read(POST, one),
            feed: calibration.query(&feed, one).total().0,
            page_item_read: read(first, one),
            page_item_write: read(all, quorum) + replace(all) + read(first, quorum) + replace(first),
        }
    }

    /// RU/s of these reads of the feed and likes on this many posts, a second: counts in entries, written
    /// behind, outside the entries, and the feed as two page items.
    fn sums(&self, reads: f64, likes: f64, posts: f64) -> [f64; 4] {
        let commands = likes * self.command;
        let pages = likes.min(PAGES_MAX) * self.page;
        // Posts with a like within a second.
        let liked = posts * (1.0 - (1.0 - 1.0 / posts).powf(likes));
        let behind = commands + pages + liked * LISTS * self.entry;
        let of_items = commands + pages + liked * self.entry + self.page_item_write;
        [
            commands + pages + likes * LISTS * self.entry + reads * self.feed,
            behind + reads * self.feed,
            commands + reads * (self.feed + PAGE_POSTS as f64 * self.post_read),
            of_items + reads * self.page_item_read,
        ]
    }
}

#[test]
fn the_alternatives_of_counts_are_those_of_the_record() {
    let charges = Charges::of(&Calibration::current());
    let mut table = String::new();
    for (posts, name) in [(1.0, "one post"), (100.0, "100 posts")] {
        let mut totals = [0.0; 4];
        for reads in RATES {
            for likes in RATES {
                let sums = charges.sums(reads, likes, posts);
                totals.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
                let [entries, behind, outside, items] = sums.map(f64::round);
                let _ = writeln!(
                    table,
                    "| {name} | {reads} | {likes} | {entries} | {behind} | {outside} | {items} |"
                );
            }
        }
        let [entries, behind, outside, items] = totals.map(f64::round);
        let _ = writeln!(table, "| {name} | sum | | {entries} | {behind} | {outside} | {items} |");
        assert!(behind < entries && behind < outside);
    }
    let record = include_str!("../../docs/adr/0124-counts-written-behind.md");
    assert!(record.contains(&table), "{table}");
}
