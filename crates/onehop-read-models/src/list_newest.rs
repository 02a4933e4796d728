//! Bounded list: entries of the newest items in one logical partition, never more than the rule keeps, and
//! never fewer where there are as many.
//!
//! A change of an item older than the last of a full list costs nothing: the listing is a cached read. That
//! is safe because an entry is added in two steps, written and then compared with its source. A change of
//! that source was either seen by the comparison, or is looked at after the write, when no cached listing
//! from before it is left: this process invalidates the cache around its own writes, and where other
//! processes write too, a point read of the last entry confirms the cached listing after each page was read.
//! If the listing lacks the entry, the entry was written after the page was read, and the comparison, later
//! still, reads the state in the page. This needs a store whose reads see all earlier writes.
//!
//! The last entry is evidence because each write that adds or removes an entry writes the last one too, or
//! deletes it. A ranking has writes without this guard, and is listed for each page.
//!
//! A new item of a full list costs no listing either: the listing after the batch follows from the batch and
//! its ETags. A list that is not full is listed again, because two writers may both begin an empty one.
//!
//! Readers of several feed ranges, and a rebuild beside them, write at the same time. The list has no gaps
//! because a writer that adds an entry also writes the last entry that it saw, with If-Match: deletes it to
//! make room, or rewrites it unchanged. So items older than the last entry are only ever added by continuing
//! from it. After its write each writer settles the list: deletes surplus entries, fetches missing ones. The
//! last writer to settle sees the writes of all.
//!
//! The list of the highest items, whose order changes, has rules of its own in `ranking`.

mod cost;
mod next_rank;
mod ranking;

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use onehop_change_feed::{
    CacheUpdate, IntendedWrite, Projection, ProjectionError, ReadRequest, Step, StepInput,
};
use onehop_runtime::planted;
use onehop_store::{Change, ContainerName, Direction, ETag, Item, Keyset, PartitionKey, QueryPage, WriteOp};
use serde::{Deserialize, Serialize};

use self::next_rank::NextRank;
use crate::batches::{in_batches, in_one_batch};
use crate::body::Body;
use crate::entry::Entry;
use crate::listing::{Correction, ListedEntry, Listing};
use crate::rule::{Keep, ListRule};

/// The multiple of a list's size that is read: the entries that it keeps, and far more than concurrent
/// inserts can be over.
pub(crate) const LISTING_FACTOR: usize = 3;

/// The name of the cached listing.
const LISTING: &str = "listing";

/// Keeps entries of the newest items.
#[derive(Debug)]
pub(crate) struct BoundedList {
    pub(crate) rule: Arc<ListRule>,
    pub(crate) partition_key: &'static str,
    pub(crate) items_max: usize,
    /// The property that orders the list and its source.
    pub(crate) order_by: &'static str,
    pub(crate) types: [&'static str; 1],
}

/// The requested reads; without a state, the listing alone.
#[derive(Debug, Serialize, Deserialize)]
enum ListState {
    /// The listing, to which the entry of a new item may be added.
    Add,
    /// The listing and the item's own entry.
    Place,
    /// The listing, and the sources of the entries that were just added.
    Settle {
        entered: Vec<String>,
        #[serde(default, skip_serializing_if = "NextRank::is_never")]
        next_rank: NextRank,
    },
    /// The listing, and the items older than its last, which is where `after` says.
    Refill { after: Option<Keyset> },
    /// The listing of a ranking, and the highest items.
    Rank,
}

impl Projection for BoundedList {
    fn name(&self) -> &'static str {
        self.rule.name
    }

    fn source(&self) -> ContainerName {
        self.rule.source.container
    }

    fn types(&self) -> Option<&[&'static str]> {
        Some(&self.types)
    }

    /// An item that goes down in a ranking may leave it.
    fn deletes_from(&self) -> Option<ContainerName> {
        self.is_ranking().then_some(self.rule.container)
    }

    /// All changes write to one logical partition: at the same time they would only refuse each other.
    fn concurrent_partitions_max(&self) -> usize {
        1
    }

    /// The newest first: of a page of new items only the lasting ones are inserted.
    fn arrange(&self, changes: &mut Vec<Change>) {
        changes.sort_by_cached_key(|change| {
            let place = Body::selected(&change.item, &[self.order_by]).and_then(|body| self.place_of(&body));
            Reverse(place.map_or_else(|_| String::new(), |place| place.order_value))
        });
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        if input.is_first() {
            return Ok(Step::ask(vec![self.read_listing()]));
        }
        let state = input.state()?;
        match state {
            Some(ListState::Settle { entered, next_rank }) if input.results.is_empty() => {
                return Ok(self.ask_settle_then(entered, next_rank));
            }
            Some(ListState::Rank) if input.results.is_empty() => return Ok(self.ask_rank()),
            _ => {}
        }
        let page = input.page(0)?;
        match state {
            Some(ListState::Settle { entered, next_rank })
                if entered.is_empty() && next_rank != NextRank::Always && self.is_settled(page) =>
            {
                Ok(Step::done())
            }
            None => self.look(change, page, input.may_be_projected),
            Some(ListState::Add) => self.add(change, page),
            Some(ListState::Place) => self.place(change, page, input.item(1)?),
            Some(ListState::Rank) => Ok(self.rank(&self.listing(page)?, input.page(1)?)),
            Some(ListState::Settle { entered, next_rank }) => {
                self.settle(&self.listing(page)?, &entered, next_rank, input)
            }
            Some(ListState::Refill { after }) => {
                self.refill(change, &self.listing(page)?, after.as_ref(), input.page(1)?)
            }
        }
    }
}

impl BoundedList {
    /// Ends at once for an item that is too old for a full list.
    fn look(
        &self,
        change: &Change,
        page: &Arc<QueryPage>,
        may_be_projected: bool,
    ) -> Result<Step, ProjectionError> {
        if self.is_older_than_all(change, page)? && !self.is_ranked(change, page)? {
            return Ok(match page.items.len().cmp(&self.items_max) {
                Ordering::Less => self.ask_refill(&self.listing(page)?, |older| older),
                Ordering::Equal => Step::done(),
                Ordering::Greater => self.ask_settle(Vec::new()),
            });
        }
        if !may_be_projected && !self.is_ranking() && Body::selected(&change.item, &[])?.is_new() {
            return Ok(Step::ask(vec![self.read_listing()]).with_state(&ListState::Add).in_turn());
        }
        Ok(self.ask_place(change))
    }

    fn ask_place(&self, change: &Change) -> Step {
        let entry = ReadRequest::item(self.rule.container, self.partition(), change.id.clone());
        Step::ask(vec![self.read_listing(), entry]).with_state(&ListState::Place)
    }

    /// Adds the entry of a new item, or asks for the entry. Earlier items of the page may have made it too
    /// old.
    fn add(&self, change: &Change, page: &Arc<QueryPage>) -> Result<Step, ProjectionError> {
        if self.is_older_than_all(change, page)? {
            return self.look(change, page, true);
        }
        Ok(self.add_new(change, page)?.unwrap_or_else(|| self.ask_place(change)))
    }

    /// Adds the entry of a new item to a full list, without looking for one and without listing again; `None`
    /// where that is not so. Where there is an entry after all, the write is refused, and the change run
    /// again. While a list is filled, entries of new items often exist already, fetched as missing older
    /// items.
    ///
    /// The entry is not compared with its item afterwards: no change of it can have been left out as too old.
    /// Then the list was full of newer items, and got its present older item only by fetching newer items
    /// first.
    fn add_new(&self, change: &Change, page: &Arc<QueryPage>) -> Result<Option<Step>, ProjectionError> {
        let (true, Some(last)) = (self.is_settled(page), page.items.last()) else {
            return Ok(None);
        };
        let may_be_listed = page.items.iter().any(|listed| holds_text(&listed.body, &change.id));
        if may_be_listed {
            return Ok(None);
        }
        let source = Body::of(&change.item)?;
        let place = self.place_of(&source)?;
        let mut position = 0;
        for listed in &*page.items {
            let listed = self.place_of(&Body::selected(listed, &[self.order_by])?)?;
            if (&listed.order_value, &listed.id) < (&place.order_value, &place.id) {
                break;
            }
            position += 1;
        }
        let created = Entry::of(&self.rule, &source)?.into_item();
        let body = created.body.clone();
        let writes = [WriteOp::Create(created), ListedEntry::of(last, self.order_by)?.delete()];
        let page = Arc::clone(page);
        let after = move |etags: &[Option<ETag>]| {
            let added = Item { body, etag: etags.first()?.clone()?, timestamp_ms: 0 };
            let mut items = page.items.to_vec();
            items.pop();
            items.insert(position.min(items.len()), added);
            Some(QueryPage { items: items.into(), has_more: false })
        };
        let update = CacheUpdate::new(LISTING, self.query_listing(), after);
        Ok(Some(Step::done().after_writing(self.writes(writes)).update_cache(update)))
    }

    /// Whether the value that orders an item may change.
    fn is_ranking(&self) -> bool {
        matches!(self.rule.keep, Keep::Highest(_))
    }

    /// Whether an item of a ranking has to be looked at although it is behind the last entry: there is room,
    /// or its entry is from when it was before.
    fn is_ranked(&self, change: &Change, page: &QueryPage) -> Result<bool, ProjectionError> {
        if !self.is_ranking() {
            return Ok(false);
        }
        let listing = self.listing(page)?;
        Ok(listing.0.len() < self.items_max || listing.0.iter().any(|listed| listed.id == change.id))
    }

    fn is_older_than_all(&self, change: &Change, page: &QueryPage) -> Result<bool, ProjectionError> {
        let item = Body::selected(&change.item, &[self.order_by])?;
        item.required_version()?;
        let Some(last) = page.items.last() else { return Ok(true) };
        let last = self.place_of(&Body::selected(last, &[self.order_by])?)?;
        let item = self.place_of(&item)?;
        Ok((item.order_value, item.id) < (last.order_value, last.id))
    }

    /// Writes the item's entry. A new one makes room for itself in the same batch.
    fn place(
        &self,
        change: &Change,
        page: &Arc<QueryPage>,
        existing: Option<&Arc<Item>>,
    ) -> Result<Step, ProjectionError> {
        let source = Body::of(&change.item)?;
        let entry = Entry::of(&self.rule, &source)?;
        let was_live = match existing {
            Some(existing) => !Body::selected(existing, &[])?.is_deleted(),
            None => false,
        };
        let listing = self.listing(page)?;
        if self.is_ranking() && !was_live && listing.0.len() < self.items_max {
            return self.fill(entry, existing);
        }
        let enters = !was_live && !entry.is_deleted();
        if enters && self.is_older_than_all(change, page)? && !self.is_ranked(change, page)? {
            return self.look(change, page, true);
        }
        if enters && listing.is_full_before(&self.place_of(&source)?, self.items_max) {
            return Ok(self.ask_settle(Vec::new()));
        }
        let (id, is_deleted) = (entry.id().to_owned(), entry.is_deleted());
        let Some(operation) = entry.update(existing.map(|item| &**item))? else {
            return Ok(self.ask_settle(Vec::new()));
        };
        if self.is_ranking() && was_live {
            return self.rerank(&source, existing, &listing, operation);
        }
        if was_live && !is_deleted {
            // The listing keeps its order, and stays cached.
            return Ok(self.ask_settle(Vec::new()).after_writing(self.writes([operation])));
        }
        let mut operations = vec![operation];
        let mut entered = Vec::new();
        if enters {
            operations.extend(listing.room_for_one(self.items_max));
            entered.push(id);
        } else if was_live && !planted!("entry-leaves-without-guard") {
            operations.extend(listing.shortened(&[&id], self.items_max));
        }
        let step = self.ask_settle(entered).after_writing(self.writes(operations));
        Ok(if planted!("stale-listing-stays-cached") { step } else { step.invalidate_cache() })
    }

    /// Compares the added entries with their sources, deletes surplus entries, asks for missing ones.
    fn settle(
        &self,
        listing: &Listing,
        entered: &[String],
        next_rank: NextRank,
        input: StepInput<'_>,
    ) -> Result<Step, ProjectionError> {
        let (mut operations, mut leaving) = (Vec::new(), Vec::new());
        let mut left = Vec::new();
        for (place, id) in entered.iter().enumerate() {
            let Some(entry) = listing.find(id) else { continue };
            match entry.correction(&self.rule, self.order_by, input.item(place + 1)?) {
                Some(Correction::Leaves(operation))
                    if self.is_ranking() && !planted!("ranking-without-another-look") =>
                {
                    leaving.push(operation);
                }
                Some(Correction::Leaves(operation)) => {
                    operations.push(operation);
                    left.push(id.as_str());
                }
                Some(Correction::Stays(operation)) => operations.push(operation),
                None => {}
            }
        }
        if !leaving.is_empty() {
            return Ok(self.take_out(listing, leaving));
        }
        if !left.is_empty() {
            let guards = listing.shortened(&left, self.items_max).into_iter();
            let guards: Vec<_> =
                guards.filter(|guard| operations.iter().all(|other| other.id() != guard.id())).collect();
            operations.extend(guards);
        }
        if operations.is_empty() {
            operations.extend(listing.overflow(self.items_max));
        }
        if !operations.is_empty() {
            let next = self.ask_settle_then(Vec::new(), next_rank);
            return Ok(next.after_writing(self.writes(operations)).invalidate_cache());
        }
        if self.is_ranking() {
            return Ok(self.rank_again(listing, next_rank));
        }
        if listing.0.len() >= self.items_max {
            return Ok(Step::done());
        }
        Ok(self.ask_refill(listing, |older| ReadRequest::cached("older", older)))
    }

    /// Whether a list in which nothing was added is neither too long nor too short.
    fn is_settled(&self, page: &QueryPage) -> bool {
        page.items.len() == self.items_max && !page.has_more
    }

    /// Adds the next older items, where the last entry is still the one from which they were requested. An
    /// unreadable item is parked with its own change, and keeps no other from the list.
    fn refill(
        &self,
        change: &Change,
        listing: &Listing,
        after: Option<&Keyset>,
        older: &QueryPage,
    ) -> Result<Step, ProjectionError> {
        Entry::of(&self.rule, &Body::of(&change.item)?)?;
        if listing.end().as_ref() != after {
            // From the start: the changed item itself may have to follow, and only there the older items are
            // requested afresh. A cached page of them may be from before it was written.
            return Ok(Step::ask(vec![self.read_listing()]));
        }
        let entry = |item| Entry::of(&self.rule, &Body::of(item).ok()?).ok();
        let mut entries = older.items.iter().filter_map(entry).peekable();
        if entries.peek().is_none() {
            return Ok(Step::done());
        }
        let (writes, entered) = self.add_guarded(listing, entries);
        // Saved, because the added entries have to be compared with their sources even after a fault or a
        // crash.
        Ok(self.ask_settle(entered).after_writing(writes).invalidate_cache().checkpoint())
    }

    /// Adds entries, and writes the last one in the same batch. Returns the ids of the entries that fit into
    /// it: a second batch would be written without the guard.
    fn add_guarded(
        &self,
        listing: &Listing,
        entries: impl Iterator<Item = Entry>,
    ) -> (Vec<IntendedWrite>, Vec<String>) {
        let creates = entries.map(|entry| WriteOp::Create(entry.into_item()));
        let operations = listing.rewrite_last().into_iter().chain(creates);
        let writes = in_one_batch(self.rule.container, &self.partition(), operations);
        let created = |operation: &WriteOp| match operation {
            WriteOp::Create(item) => Some(item.id.clone()),
            _ => None,
        };
        let entered = writes.iter().flat_map(|batch| &batch.operations).filter_map(created).collect();
        (writes, entered)
    }

    fn ask_refill(&self, listing: &Listing, older: impl FnOnce(ReadRequest) -> ReadRequest) -> Step {
        let after = listing.end();
        let newest = ReadRequest::Newest {
            container: self.rule.source.container,
            item_type: self.rule.source.name,
            after: after.clone(),
            limit: self.items_max.saturating_sub(listing.0.len()),
            order_by: self.rule.order_by,
            direction: Direction::NewestFirst,
        };
        Step::ask(vec![self.read_listing(), older(newest)]).with_state(&ListState::Refill { after })
    }

    fn ask_settle(&self, entered: Vec<String>) -> Step {
        self.ask_settle_then(entered, NextRank::Never)
    }

    fn ask_settle_then(&self, entered: Vec<String>, next_rank: NextRank) -> Step {
        let source = |id: &String| {
            ReadRequest::item(self.rule.source.container, PartitionKey::from(id.as_str()), id.clone())
        };
        let reads = std::iter::once(self.read_listing()).chain(entered.iter().map(source)).collect();
        Step::ask(reads).with_state(&ListState::Settle { entered, next_rank })
    }

    fn writes(&self, operations: impl IntoIterator<Item = WriteOp>) -> Vec<IntendedWrite> {
        in_batches(self.rule.container, &self.partition(), operations)
    }

    fn read_listing(&self) -> ReadRequest {
        let read = if self.is_ranking() { ReadRequest::cached } else { ReadRequest::guarded };
        read(LISTING, self.query_listing())
    }

    fn query_listing(&self) -> ReadRequest {
        ReadRequest::Partition {
            container: self.rule.container,
            partition_key: self.partition(),
            item_type: self.rule.entry_type,
            direction: Direction::NewestFirst,
            after: None,
            limit: LISTING_FACTOR * self.items_max,
            order_by: self.rule.order_by,
        }
    }

    fn listing(&self, page: &QueryPage) -> Result<Listing, ProjectionError> {
        Listing::of(page, self.order_by)
    }

    fn partition(&self) -> PartitionKey {
        PartitionKey::from(self.partition_key)
    }

    fn place_of(&self, body: &Body) -> Result<Keyset, ProjectionError> {
        body.order_value(self.order_by)?;
        body.keyset(Some(self.order_by))
    }
}

/// Whether a body may hold a text.
fn holds_text(body: &[u8], text: &str) -> bool {
    std::str::from_utf8(body).map_or(true, |body| body.contains(text))
}
