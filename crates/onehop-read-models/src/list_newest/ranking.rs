//! Ranking: the list of the highest items by a value that rises and falls.
//!
//! An unlisted item is left out because as many entries as the list keeps come before it. So every writer
//! that takes one of these entries out asks for the highest items again. The list itself says that this is
//! due: a batch that takes an entry out leaves the list shorter than full. Nothing but the highest items is
//! added to a short list, all in one batch. So a crash in between loses nothing: the change is run again,
//! finds the list short, and asks again.
//!
//! An entry that moves down without becoming the last one is replaced in its place, since no unlisted item
//! comes before it. Both kinds of batches write the last entry, too, so that none of them is decided by an
//! outdated listing.

use std::sync::Arc;

use onehop_change_feed::{ProjectionError, ReadRequest, Step};
use onehop_runtime::planted;
use onehop_store::{Direction, Item, QueryPage, WriteOp};

use super::next_rank::NextRank;
use super::{BoundedList, ListState};
use crate::batches::in_one_batch;
use crate::body::Body;
use crate::entry::Entry;
use crate::listing::Listing;

impl BoundedList {
    /// The step for an item that has no live entry in a list with room: the highest items, of which it may be
    /// one.
    pub(super) fn fill(&self, entry: Entry, existing: Option<&Arc<Item>>) -> Result<Step, ProjectionError> {
        if !entry.is_deleted() {
            return Ok(self.ask_rank());
        }
        let tombstone = entry.update(existing.map(|item| &**item))?;
        Ok(self.ask_rank().after_writing(self.writes(tombstone)))
    }

    /// Writes the entry of a ranked item whose place may have changed. An item that goes down or is deleted
    /// may leave its place to an item that is not listed.
    pub(super) fn rerank(
        &self,
        source: &Body,
        existing: Option<&Arc<Item>>,
        listing: &Listing,
        operation: WriteOp,
    ) -> Result<Step, ProjectionError> {
        let stored = existing.map(|entry| Body::selected(entry, &[self.order_by])).transpose()?;
        let stored = stored.map(|entry| self.place_of(&entry)).transpose()?;
        let present = self.place_of(source)?;
        if source.is_deleted() {
            return Ok(self.take_out(listing, vec![operation]));
        }
        let goes_down = stored.is_some_and(|stored| stored.order_value > present.order_value);
        if !goes_down {
            return Ok(self
                .ask_settle(Vec::new())
                .after_writing(self.writes([operation]))
                .invalidate_cache());
        }
        if !listing.stays_before_last(&present, self.items_max) {
            let if_match = existing.map(|entry| entry.etag.clone());
            return Ok(self.take_out(listing, vec![WriteOp::Delete { id: present.id, if_match }]));
        }
        let guarded = self.writes([operation].into_iter().chain(listing.rewrite_last()));
        Ok(self.ask_settle(Vec::new()).after_writing(guarded).invalidate_cache())
    }

    /// Takes entries out in a batch that leaves the list short, and asks for the highest items. Entries for
    /// which the batch has no room are compared with these.
    pub(super) fn take_out(&self, listing: &Listing, leaving: Vec<WriteOp>) -> Step {
        let ids: Vec<_> = leaving.iter().map(WriteOp::id).collect();
        let shortened = listing.shortened(&ids, self.items_max.saturating_sub(1));
        let operations = shortened.into_iter().chain(leaving);
        let batch = in_one_batch(self.rule.container, &self.partition(), operations);
        self.ask_rank().after_writing(batch).invalidate_cache()
    }

    pub(super) fn ask_rank(&self) -> Step {
        let highest = ReadRequest::Newest {
            container: self.rule.source.container,
            item_type: self.rule.source.name,
            after: None,
            limit: self.items_max,
            order_by: self.rule.order_by,
            direction: Direction::NewestFirst,
        };
        Step::ask(vec![self.read_listing(), highest]).with_state(&ListState::Rank).checkpoint()
    }

    /// Adds the highest items that are not listed. Surplus entries are deleted by settling. It compares
    /// entries that the query does not confirm, too: a run that was interrupted may have added them.
    pub(super) fn rank(&self, listing: &Listing, highest: &QueryPage) -> Step {
        let entry = |item| Entry::of(&self.rule, &Body::of(item).ok()?).ok();
        let highest: Vec<_> = highest.items.iter().filter_map(entry).collect();
        let is_confirmed = |id: &str, version: u64| {
            highest.iter().any(|entry| entry.id() == id && entry.version() <= version)
        };
        let unconfirmed = listing.0.iter().filter(|listed| !is_confirmed(&listed.id, listed.version()));
        let mut entered: Vec<_> = unconfirmed.map(|listed| listed.id.clone()).collect();
        let missing: Vec<_> =
            highest.into_iter().filter(|entry| listing.find(entry.id()).is_none()).collect();
        if missing.is_empty() {
            return self.ask_settle(entered);
        }
        let missing_count = missing.len();
        // Created and never replaced: an entry that another writer adds meanwhile may be newer, and makes
        // this change run again.
        let (writes, added) = self.add_guarded(listing, missing.into_iter());
        let next_rank = if added.len() < missing_count { NextRank::Always } else { NextRank::IfShort };
        entered.extend(added);
        self.ask_settle_then(entered, next_rank).after_writing(writes).invalidate_cache().checkpoint()
    }

    /// The step after a ranking is settled.
    pub(super) fn rank_again(&self, listing: &Listing, next_rank: NextRank) -> Step {
        let is_due = match next_rank {
            _ if planted!("ranking-without-another-look") => false,
            NextRank::Never => false,
            NextRank::IfShort => listing.0.len() < self.items_max,
            NextRank::Always => true,
        };
        if is_due { self.ask_rank() } else { Step::done() }
    }
}
