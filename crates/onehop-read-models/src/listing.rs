//! Listing: the live entries of a bounded list as they are stored, and the writes that keep the list without gaps.

use std::sync::Arc;

use onehop_change_feed::ProjectionError;
use onehop_store::{Item, Keyset, NewItem, QueryPage, WriteOp};

use crate::body::Body;
use crate::entry::Entry;
use crate::rule::ListRule;

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

impl Listing {
    pub(crate) fn of(page: &QueryPage, order_by: &'static str) -> Result<Self, ProjectionError> {
        let listed = |item: &Item| ListedEntry::of(item, order_by);
        page.items.iter().map(listed).collect::<Result<_, _>>().map(Self)
    }

    /// Deletes all but the first `keep` entries.
    pub(crate) fn overflow(&self, keep: usize) -> impl Iterator<Item = WriteOp> {
        self.0.iter().skip(keep).map(ListedEntry::delete)
    }

    /// What is written together with an entry that is added: deletes what has to make room for it, or rewrites the last.
    pub(crate) fn room_for_one(&self, items_max: usize) -> Vec<WriteOp> {
        let mut operations: Vec<_> = self.overflow(items_max - 1).collect();
        if operations.is_empty() {
            operations.extend(self.rewrite_last());
        }
        operations
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
        let is_before =
            |listed: &&ListedEntry| (&listed.order_value, &listed.id) > (&place.order_value, &place.id);
        self.0.iter().take_while(is_before).count() >= items_max
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

    /// The write that makes an entry what its source is by now.
    pub(crate) fn correction(
        &self,
        rule: &ListRule,
        source: Option<&Arc<Item>>,
    ) -> Result<Option<WriteOp>, ProjectionError> {
        let Some(source) = source else { return Ok(Some(self.delete())) };
        let current = Entry::of(rule, &Body::of(source)?)?;
        if current.version() <= self.version {
            return Ok(None);
        }
        Ok(Some(WriteOp::Replace { item: current.into_item(), if_match: Some(self.item.etag.clone()) }))
    }
}
