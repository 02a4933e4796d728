//! Listing: the live entries of a bounded list as they are stored, and the writes that keep the list without
//! gaps.

use std::sync::Arc;

use onehop_change_feed::ProjectionError;
use onehop_store::{Item, Keyset, NewItem, QueryPage, WriteOp};

use crate::body::Body;
use crate::entry::Entry;
use crate::rule::{Keep, ListRule};

/// The live entries of a bounded list, the first of its order first.
#[derive(Debug)]
pub(crate) struct Listing(pub(crate) Vec<ListedEntry>);

/// A live entry.
#[derive(Debug)]
pub(crate) struct ListedEntry {
    pub(crate) id: String,
    order_value: String,
    version: u64,
    item: Item,
}

/// The write that makes an entry agree with its source.
#[derive(Debug)]
pub(crate) enum Correction {
    /// The entry stays in the list.
    Stays(WriteOp),
    /// The entry leaves the list: its source is deleted, or has a lower place in a ranking.
    Leaves(WriteOp),
}

impl Listing {
    pub(crate) fn of(page: &QueryPage, order_by: &'static str) -> Result<Self, ProjectionError> {
        let listed = |item: &Item| ListedEntry::of(item, order_by);
        page.items.iter().map(listed).collect::<Result<_, _>>().map(Self)
    }

    /// Deletes all but the first `keep` entries.
    pub(crate) fn overflow(&self, keep: usize) -> impl Iterator<Item = WriteOp> {
        self.0.iter().skip(keep).map(ListedEntry::delete)
    }

    /// The writes that accompany an added entry: delete the entries that make room for it, or rewrite the
    /// last.
    pub(crate) fn room_for_one(&self, items_max: usize) -> Vec<WriteOp> {
        let mut operations: Vec<_> = self.overflow(items_max - 1).collect();
        if operations.is_empty() {
            operations.extend(self.rewrite_last());
        }
        operations
    }

    /// The writes that accompany leaving entries: delete the other entries but the first `keep`, or rewrite
    /// the last. Nothing is rewritten where the last entry itself leaves.
    pub(crate) fn shortened(&self, leaving: &[&str], keep: usize) -> Vec<WriteOp> {
        let rest = self.0.iter().filter(|listed| !leaving.contains(&listed.id.as_str()));
        let mut operations: Vec<_> = rest.skip(keep).map(ListedEntry::delete).collect();
        let last_leaves = self.0.last().is_some_and(|last| leaving.contains(&last.id.as_str()));
        if operations.is_empty() && !last_leaves {
            operations.extend(self.rewrite_last());
        }
        operations
    }

    pub(crate) fn find(&self, id: &str) -> Option<&ListedEntry> {
        self.0.iter().find(|listed| listed.id == id)
    }

    /// Where the listing ends.
    pub(crate) fn end(&self) -> Option<Keyset> {
        let last = self.0.last()?;
        Some(Keyset { order_value: last.order_value.clone(), id: last.id.clone() })
    }

    /// Writes the last entry as it was read: refused when it is not there any more.
    pub(crate) fn rewrite_last(&self) -> Option<WriteOp> {
        let last = self.0.last()?;
        let unchanged = NewItem { id: last.id.clone(), body: last.item.body.clone() };
        Some(WriteOp::Replace { item: unchanged, if_match: Some(last.item.etag.clone()) })
    }

    /// Whether the list is full with items before this place of its order.
    pub(crate) fn is_full_before(&self, place: &Keyset, items_max: usize) -> bool {
        self.0.iter().take_while(|listed| listed.is_before(place)).count() >= items_max
    }

    /// Whether an entry that moves to this place stays before the last entry of a full list. No unlisted item
    /// comes before it then.
    pub(crate) fn stays_before_last(&self, place: &Keyset, items_max: usize) -> bool {
        let last_place = items_max.checked_sub(2);
        let mut others = self.0.iter().filter(|listed| listed.id != place.id);
        last_place.and_then(|last| others.nth(last)).is_some_and(|last| !last.is_before(place))
    }
}

impl ListedEntry {
    pub(crate) fn of(item: &Item, order_by: &'static str) -> Result<Self, ProjectionError> {
        let body = Body::selected(item, &[order_by])?;
        let Keyset { order_value, id } = body.keyset(Some(order_by))?;
        Ok(Self { id, order_value, version: body.version(), item: item.clone() })
    }

    pub(crate) fn delete(&self) -> WriteOp {
        WriteOp::Delete { id: self.id.clone(), if_match: Some(self.item.etag.clone()) }
    }

    /// The version of the source as it is listed.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    fn is_before(&self, place: &Keyset) -> bool {
        (&self.order_value, &self.id) > (&place.order_value, &place.id)
    }

    /// The write that brings an entry up to date with its source. A source that no rule can read is parked
    /// with its own change.
    pub(crate) fn correction(
        &self,
        rule: &ListRule,
        order_by: &'static str,
        source: Option<&Arc<Item>>,
    ) -> Option<Correction> {
        let Some(source) = source else { return Some(Correction::Leaves(self.delete())) };
        let source = Body::of(source).ok()?;
        let current = Entry::of(rule, &source).ok()?;
        if current.version() <= self.version {
            return None;
        }
        let order_value = source.order_value(order_by).unwrap_or_default();
        let goes_down = matches!(rule.keep, Keep::Highest(_)) && order_value < self.order_value;
        if goes_down && !current.is_deleted() {
            return Some(Correction::Leaves(self.delete()));
        }
        let is_deleted = current.is_deleted();
        let replace = WriteOp::Replace { item: current.into_item(), if_match: Some(self.item.etag.clone()) };
        Some(if is_deleted { Correction::Leaves(replace) } else { Correction::Stays(replace) })
    }
}
