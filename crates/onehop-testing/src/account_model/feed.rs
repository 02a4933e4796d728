//! The change feed over a read view: latest versions, in the order of the log, from one physical partition
//! for each page.

use onehop_store::{Change, Continuation, Fault, FaultKind, FeedRequest, PartitionKey, limits};

use super::container::Content;
use super::hash_range::HashRange;
use super::partition::{LogEntry, PhysicalPartition};
use super::positions::{Commit, FeedPosition, FeedStart, LogPosition, read_end};
use super::read_view::ReadView;

/// The result of one look at a feed range.
#[derive(Debug)]
pub(super) struct RangeLookup {
    pub(super) changes: Vec<Change>,
    /// Items and bytes of the page, items of other types included.
    pub(super) read: (usize, usize),
    pub(super) continuation: Continuation,
    /// Nothing came from any part of the range.
    pub(super) drained: bool,
    pub(super) passed: Option<Continuation>,
    pub(super) behind: Option<u64>,
    /// The places of the physical partitions that answered.
    pub(super) places: Vec<usize>,
}

/// A part of the range that lies in one physical partition.
struct FeedPart {
    range: HashRange,
    place: usize,
    position: Option<LogPosition>,
}

impl ReadView<'_> {
    /// Looks at each part of the range until one has changes.
    ///
    /// # Errors
    /// A range or a continuation that is not one of this account.
    pub(super) fn look(&self, request: &FeedRequest<'_>, start: FeedStart) -> Result<RangeLookup, Fault> {
        let range = HashRange::of(request.range).ok_or_else(not_ours)?;
        let position = match request.continuation {
            Some(continuation) => FeedPosition::of(continuation).ok_or_else(not_ours)?,
            None => FeedPosition { start, parts: Vec::new() },
        };
        let mut parts = self.feed_parts(range, &position);
        if parts.iter().any(|part| self.is_from_the_future(part)) {
            return Err(not_ours());
        }
        let (mut page, mut places, mut standing) = (Vec::new(), Vec::new(), None);
        let is_whole = parts.len() == 1;
        for part in &mut parts {
            let lsn = self.lsn(part.place);
            page = self.feed_page(part, position.start, request.limit);
            places.push(part.place);
            let last = page.last().map(|(entry, _)| entry.position);
            let end = last.unwrap_or(LogPosition::behind(lsn));
            part.position = part.position.max(Some(end));
            standing = Some((self.commit(part.place), last));
            if last.is_some() {
                break;
            }
        }
        let parts = parts.into_iter().filter_map(|part| Some((part.range, part.position?))).collect();
        let continuation = FeedPosition { start: position.start, parts }.continuation();
        let (passed, behind) = match standing.filter(|_| is_whole) {
            Some(standing) => passed_and_behind(
                range,
                standing,
                page.len() < request.limit.clamp(1, limits::PAGE_ITEMS_MAX),
            ),
            None => (None, page.is_empty().then_some(0)),
        };
        let drained = page.is_empty() || passed.is_some();
        let read = (page.len(), page.iter().map(|(_, content)| content.item.body.len()).sum());
        let changes = changes_of(request, page);
        Ok(RangeLookup { changes, read, continuation, drained, passed, behind, places })
    }

    /// The parts of a range, in their order, each with the position in it that was reached.
    fn feed_parts(&self, range: HashRange, position: &FeedPosition) -> Vec<FeedPart> {
        let mut parts = Vec::new();
        for (place, partition) in self.container.partitions.iter().enumerate() {
            let Some(within) = partition.range.intersection(range) else { continue };
            let mut min = within.min;
            for (read, position) in &position.parts {
                let Some(read) = read.intersection(within) else { continue };
                if min < read.min {
                    let gap = HashRange { min, max: read.min };
                    parts.push(FeedPart { range: gap, place, position: None });
                }
                parts.push(FeedPart { range: read, place, position: Some(*position) });
                min = read.max;
            }
            if min < within.max {
                let rest = HashRange { min, max: within.max };
                parts.push(FeedPart { range: rest, place, position: None });
            }
        }
        parts
    }

    fn is_from_the_future(&self, part: &FeedPart) -> bool {
        part.position.is_some_and(|position| position.lsn > self.container.partitions[part.place].lsn)
    }

    /// The next changes of a part that are the latest version of their item.
    fn feed_page<'a>(
        &'a self,
        part: &FeedPart,
        start: FeedStart,
        limit: usize,
    ) -> Vec<(&'a LogEntry, &'a Content)> {
        let (partition, lsn) = (&self.container.partitions[part.place], self.lsn(part.place));
        let behind = part.position.or_else(|| self.start_in(partition, start, lsn));
        let entries = partition.changes(behind, lsn).iter().filter(|entry| part.range.contains(entry.point));
        let latest = entries.filter_map(|entry| Some((entry, self.latest(entry, lsn)?)));
        latest.take(limit.clamp(1, limits::PAGE_ITEMS_MAX)).collect()
    }

    fn start_in(&self, partition: &PhysicalPartition, start: FeedStart, lsn: u64) -> Option<LogPosition> {
        match start {
            FeedStart::Beginning => None,
            FeedStart::Now => Some(LogPosition::behind(lsn)),
            FeedStart::After(second) => {
                let is_later = |entry: &&LogEntry| {
                    self.content(entry)
                        .is_some_and(|content| content.item.timestamp_ms.div_euclid(1000) > second)
                };
                // Behind the last change before the first later one: the clock may have been set back since.
                let first = partition.log.iter().find(is_later);
                let lsn = first.map_or(lsn, |first| first.position.lsn - 1);
                Some(LogPosition::behind(lsn))
            }
        }
    }

    fn content(&self, entry: &LogEntry) -> Option<&Content> {
        let chain = self.container.logical.get(&entry.partition_key)?.items.get(&entry.id)?;
        chain.0.get(entry.version)?.content.as_deref()
    }

    /// The content of a change, if it is the latest version that the replica has, and its time is not over.
    fn latest(&self, entry: &LogEntry, lsn: u64) -> Option<&Content> {
        let chain = self.container.logical.get(&entry.partition_key)?.items.get(&entry.id)?;
        if chain.place_at(lsn) != Some(entry.version) {
            return None;
        }
        self.content(entry).filter(|content| content.is_live(self.now_ms))
    }
}

/// The progress of a reader behind a page of a range within one physical partition, and the number of commits
/// behind the page.
fn passed_and_behind(
    range: HashRange,
    (reached, last): (Commit, Option<LogPosition>),
    has_room: bool,
) -> (Option<Continuation>, Option<u64>) {
    let behind = last.map_or(0, |last| reached.lsn.saturating_sub(last.lsn));
    // An item before the end of a page may have been written again, and comes after it. A full page may
    // have a part of the last commit.
    let is_whole = last.is_none() || behind == 0 && has_room;
    (is_whole.then(|| read_end(range, reached)), Some(behind))
}

fn changes_of(request: &FeedRequest<'_>, page: Vec<(&LogEntry, &Content)>) -> Vec<Change> {
    let wanted = |content: &Content| {
        request.types.is_none_or(|types| types.contains(&content.properties.item_type.as_str()))
    };
    let changes = page.into_iter().filter(|(_, content)| wanted(content));
    let change = |(entry, content): (&LogEntry, &Content)| Change {
        partition_key: PartitionKey::new(&*entry.partition_key),
        id: entry.id.to_string(),
        item: content.item.clone(),
    };
    changes.map(change).collect()
}

fn not_ours() -> Fault {
    Fault::new(FaultKind::InvalidContinuation, "a feed range or a continuation is not one of this store")
}
