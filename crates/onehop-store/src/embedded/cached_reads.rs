//! Cached reads: point reads, and pages of a logical partition, from the read caches or from the engine into
//! them.

use std::sync::Arc;

use super::edits::PreparedEdit;
use super::engine::View;
use super::header::{Header, ItemLocation, is_edited};
use super::key_space::KeySpace;
use super::keys;
use super::read_caches::{ItemCopy, Validity, page_key};
use super::reader::{self, StoredItem, parse_item};
use super::store::EmbeddedStore;
use crate::document::can_exist;
use crate::{Direction, Fault, Item, Keyset, WriteMark};

/// Point reads that see the same commit.
pub(super) struct PointReads<'a> {
    store: &'a EmbeddedStore,
    /// The last commit that was done before.
    done: u64,
    /// Taken where the cache does not have an item.
    view: Option<View>,
}

impl PointReads<'_> {
    pub(super) fn view(&mut self) -> Result<&View, Fault> {
        match &mut self.view {
            Some(view) => Ok(view),
            none => Ok(none.insert(self.store.engine.view()?)),
        }
    }

    /// Reads an item from the cache, or from the engine into the cache.
    pub(super) async fn item(
        &mut self,
        container: keys::ContainerId,
        partition_key: &str,
        id: &str,
        now_ms: i64,
    ) -> Result<Option<Item>, Fault> {
        if !can_exist(partition_key, id) {
            return Ok(None);
        }
        let id_key = keys::id_key(container, partition_key, id);
        if let Some(value) = self.store.caches.value(&id_key, self.done) {
            return parse_item(value, now_ms);
        }
        let stored = reader::stored(self.view()?, container, partition_key, id, &id_key)?;
        #[cfg(feature = "simulation")]
        self.store.engine.interruption("read: before the cache").await;
        let Some(StoredItem { header, value }) = stored else { return Ok(None) };
        self.store.caches.remember_item(ItemCopy::of(&id_key, &header, &value), self.done);
        parse_item(value, now_ms)
    }

    /// The difference between a stored item and its next body, where it is small. A fault is no reason to
    /// refuse the write: without a difference the body is stored whole.
    pub(super) fn edit(
        &mut self,
        container: keys::ContainerId,
        partition_key: &str,
        id: &str,
        body: &[u8],
    ) -> Option<PreparedEdit> {
        let id_key = keys::id_key(container, partition_key, id);
        let header = match self.store.caches.item(&id_key) {
            // The base is the item itself.
            Some((header, value)) if !is_edited(&header) => {
                return PreparedEdit::new(Header::decode(&header)?.sequence, &value, body);
            }
            Some((header, _)) => header,
            None => self.view().ok()?.get(KeySpace::Ids, &id_key).ok()??.into(),
        };
        let view = self.view().ok()?;
        let place = ItemLocation::decode(&header)?;
        let base = view.get(KeySpace::Items, &keys::item_key(container, partition_key, place, id)).ok()??;
        PreparedEdit::new(Header::decode(&header)?.sequence, &base, body)
    }
}

impl EmbeddedStore {
    pub(super) fn begin_read(&self) -> PointReads<'_> {
        PointReads { store: self, done: self.caches.done(), view: None }
    }

    /// A page of a logical partition, by the partition's mark. First pages come from the cache, or go into
    /// it.
    pub(super) async fn partition_page(
        &self,
        mark: WriteMark,
        prefix: &[u8],
        direction: Direction,
        after: Option<&Keyset>,
        limit: usize,
        now_ms: i64,
    ) -> Result<(Arc<[Item]>, bool), Fault> {
        let key = after.is_none().then(|| page_key(prefix, direction, limit));
        if let Some(page) = key.as_ref().and_then(|key| self.caches.page(key, now_ms)) {
            return Ok(page);
        }
        let validity = Validity { mark, commit: self.caches.done() };
        let page = reader::partition_page(&self.engine, prefix, direction, after, limit, now_ms)?;
        #[cfg(feature = "simulation")]
        self.engine.interruption("read: before the cache").await;
        if let Some(key) = key {
            self.caches.remember_page(key, validity, page.expires_at_ms, (&page.items, page.has_more));
        }
        Ok((page.items.into(), page.has_more))
    }
}
