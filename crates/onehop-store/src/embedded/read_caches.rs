//! Read caches: the items, and the first pages of logical partitions, that were read or written lately. A
//! cached entry needs no look-up in the engine.
//!
//! An entry holds the result of a read, and the last commit that was done before that read began. It is valid
//! until a later commit writes to its dependency, as [`WriteMarks`] record: for an item the mark of its key,
//! for a page the mark of its logical partition. A commit sets its marks before it becomes visible, so an
//! entry is never older than the result of an earlier read.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::header::decode_value_prefix;
use crate::{Direction, Item, WriteMark, WriteMarks};
use onehop_runtime::planted;

/// The share of the memory for caches that items get, and pages as much: an eighth.
const SHARE: u64 = 8;
/// Bytes that an entry takes beside its key and its value, about.
const ENTRY_BYTES: usize = 128;
/// Bytes that an item of a page takes beside its body.
const PAGE_ITEM_BYTES: usize = size_of::<Item>();
/// The mean size of an entry, from which the number of entries is estimated.
const ENTRY_BYTES_MEAN: u64 = 1024;
/// The mean size of a page.
const PAGE_BYTES_MEAN: u64 = 16 * 1024;

/// The division of memory for caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CacheShares {
    /// Bytes of the engine's block cache.
    pub blocks: u64,
    pub items: u64,
    pub pages: u64,
}

impl CacheShares {
    pub(super) fn of(cache_bytes: u64) -> Self {
        let share = cache_bytes / SHARE;
        Self { blocks: cache_bytes - 2 * share, items: share, pages: share }
    }
}

/// The dependency of an entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Validity {
    pub(super) mark: WriteMark,
    /// The last commit that was done before the read began.
    pub(super) commit: u64,
}

/// The entry of `ids` and the value of an item.
#[derive(Debug, Clone)]
struct CachedItem {
    validity: Validity,
    header_bytes: usize,
    /// The header, and then the value.
    bytes: Bytes,
}

/// A copy of an item for the cache, which does not keep the block in memory that it was read from.
pub(super) struct ItemCopy {
    id_key: Box<[u8]>,
    header_bytes: usize,
    bytes: Bytes,
}

impl ItemCopy {
    /// Copies the key in `ids`, the entry there, and the value.
    pub(super) fn of(id_key: &[u8], header: &[u8], value: &[u8]) -> Self {
        let bytes = Bytes::from([header, value].concat());
        Self { id_key: id_key.into(), header_bytes: header.len(), bytes }
    }
}

/// A page as it was read.
#[derive(Debug, Clone)]
struct CachedPage {
    validity: Validity,
    /// Unix ms: when the first of its items expires.
    expires_at_ms: i64,
    items: Arc<[Item]>,
    has_more: bool,
    bytes: usize,
}

#[derive(Debug, Clone)]
struct EntryWeighter;

impl Weighter<Box<[u8]>, CachedItem> for EntryWeighter {
    fn weight(&self, key: &Box<[u8]>, item: &CachedItem) -> u64 {
        (key.len() + item.bytes.len() + ENTRY_BYTES) as u64
    }
}

impl Weighter<Box<[u8]>, CachedPage> for EntryWeighter {
    fn weight(&self, key: &Box<[u8]>, page: &CachedPage) -> u64 {
        (key.len() + page.bytes + page.items.len() * PAGE_ITEM_BYTES + ENTRY_BYTES) as u64
    }
}

/// The key of a first page: the prefix of its items, direction and limit.
pub(super) fn page_key(prefix: &[u8], direction: Direction, limit: usize) -> Vec<u8> {
    let mut key = Vec::with_capacity(prefix.len() + 1 + size_of::<usize>());
    key.extend_from_slice(prefix);
    key.push(match direction {
        Direction::OldestFirst => 0,
        Direction::NewestFirst => 1,
    });
    key.extend_from_slice(&limit.to_be_bytes());
    key
}

/// Items and pages that were read or written lately.
pub(super) struct ReadCaches {
    items: Cache<Box<[u8]>, CachedItem, EntryWeighter>,
    pages: Cache<Box<[u8]>, CachedPage, EntryWeighter>,
    marks: Arc<WriteMarks>,
}

impl ReadCaches {
    pub(super) fn new(shares: CacheShares, marks: Arc<WriteMarks>) -> Self {
        let entries = |bytes: u64, mean: u64| usize::try_from(bytes / mean).unwrap_or(usize::MAX).max(1);
        Self {
            items: Cache::with_weighter(entries(shares.items, ENTRY_BYTES_MEAN), shares.items, EntryWeighter),
            pages: Cache::with_weighter(entries(shares.pages, PAGE_BYTES_MEAN), shares.pages, EntryWeighter),
            marks,
        }
    }

    /// The last commit that is done: a read that begins now is valid from it.
    pub(super) fn done(&self) -> u64 {
        self.marks.done()
    }

    fn is_valid(&self, validity: Validity) -> bool {
        self.marks.is_unwritten_since(validity.mark, validity.commit)
    }

    /// The dependency of a new entry: all of it.
    fn depending_on(&self, validity: Validity) -> Validity {
        if planted!("cache-entry-without-mark") {
            return Validity { mark: self.marks.of_container(u8::MAX), ..validity };
        }
        validity
    }

    /// The value of an item by its key in `ids`, if no commit has written it since a commit that was done.
    pub(super) fn value(&self, id_key: &[u8], done: u64) -> Option<Bytes> {
        let cached = self.items.get(id_key).filter(|cached| cached.validity.commit <= done)?;
        let CachedItem { header_bytes, mut bytes, validity } = cached;
        bytes.advance(header_bytes);
        self.is_valid(validity).then_some(bytes)
    }

    /// The entry of an item in `ids`.
    pub(super) fn header(&self, id_key: &[u8]) -> Option<Bytes> {
        let CachedItem { header_bytes, mut bytes, validity } = self.items.get(id_key)?;
        bytes.truncate(header_bytes);
        self.is_valid(validity).then_some(bytes)
    }

    /// The entry of an item in `ids`, and its value as a whole.
    pub(super) fn item(&self, id_key: &[u8]) -> Option<(Bytes, Bytes)> {
        let CachedItem { header_bytes, bytes: mut value, validity } = self.items.get(id_key)?;
        let header = value.split_to(header_bytes);
        self.is_valid(validity).then_some((header, value))
    }

    /// The value that one write gave an item. It needs no mark: a number of a write is never given out twice.
    pub(super) fn value_of_write(&self, id_key: &[u8], sequence: u64) -> Option<Bytes> {
        let CachedItem { header_bytes, mut bytes, .. } = self.items.get(id_key)?;
        bytes.advance(header_bytes);
        (decode_value_prefix(&bytes)?.0 == sequence).then_some(bytes)
    }

    /// Whether an item was read lately: then a new value in its place is cached, too.
    pub(super) fn has(&self, id_key: &[u8]) -> bool {
        self.items.contains_key(id_key)
    }

    /// Caches an item that was read after a commit was done, or written by it.
    pub(super) fn remember_item(&self, item: ItemCopy, done: u64) {
        let ItemCopy { id_key, header_bytes, bytes } = item;
        let validity = self.depending_on(Validity { mark: self.marks.of_item(&id_key), commit: done });
        self.items.insert(id_key, CachedItem { validity, header_bytes, bytes });
    }

    /// A first page by its key, unless an item of it has expired by now (Unix ms).
    pub(super) fn page(&self, key: &[u8], now_ms: i64) -> Option<(Arc<[Item]>, bool)> {
        let page = self.pages.get(key)?;
        let is_present = page.expires_at_ms > now_ms && self.is_valid(page.validity);
        is_present.then_some((page.items, page.has_more))
    }

    /// Caches the first page of a logical partition, by the partition's mark, that was read after a commit
    /// was done. The first of its items expires at a time (Unix ms). Items are copied side by side.
    pub(super) fn remember_page(
        &self,
        key: Vec<u8>,
        validity: Validity,
        expires_at_ms: i64,
        (items, has_more): (&[Item], bool),
    ) {
        let bytes = items.iter().map(|item| item.body.len()).sum();
        let mut bodies = Vec::with_capacity(bytes);
        for item in items {
            bodies.extend_from_slice(&item.body);
        }
        let mut bodies = Bytes::from(bodies);
        let copy = |item: &Item| Item {
            body: bodies.split_to(item.body.len()),
            etag: item.etag.clone(),
            timestamp_ms: item.timestamp_ms,
        };
        let items = items.iter().map(copy).collect();
        let validity = self.depending_on(validity);
        self.pages.insert(key.into(), CachedPage { validity, expires_at_ms, items, has_more, bytes });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ETag;
    use crate::embedded::header::encode_value;

    fn caches() -> (ReadCaches, Arc<WriteMarks>) {
        let marks = Arc::new(WriteMarks::default());
        (ReadCaches::new(CacheShares::of(1 << 23), Arc::clone(&marks)), marks)
    }

    fn item(body: &'static [u8]) -> Item {
        Item { body: Bytes::from_static(body), etag: ETag::from_number(1), timestamp_ms: 0 }
    }

    #[test]
    fn an_item_is_valid_until_a_commit_writes_it() {
        let (caches, marks) = caches();
        caches.remember_item(ItemCopy::of(b"key", b"header", b"value"), 0);
        assert_eq!(caches.value(b"key", 0).as_deref(), Some(&b"value"[..]));
        assert_eq!(caches.header(b"key").as_deref(), Some(&b"header"[..]));
        assert_eq!(caches.value(b"other", 0), None);
        marks.write_item(b"key", 1);
        assert_eq!(caches.value(b"key", 0), None, "the commit may be visible");
        marks.finish(1);
        assert_eq!((caches.value(b"key", 1), caches.header(b"key")), (None, None));
    }

    #[test]
    fn what_was_read_before_a_commit_was_done_is_not_valid_after_it() {
        let (caches, marks) = caches();
        let before = caches.done();
        marks.write_item(b"key", 1);
        let beside = caches.done();
        marks.finish(1);
        for done in [before, beside] {
            caches.remember_item(ItemCopy::of(b"key", b"", b"old"), done);
            assert_eq!(caches.value(b"key", 1), None);
        }
        caches.remember_item(ItemCopy::of(b"key", b"", b"new"), caches.done());
        assert_eq!(caches.value(b"key", 1).as_deref(), Some(&b"new"[..]));
    }

    #[test]
    fn a_read_that_began_before_a_commit_does_not_find_what_it_wrote() {
        let (caches, marks) = caches();
        let done = caches.done();
        marks.write_item(b"key", 1);
        marks.finish(1);
        caches.remember_item(ItemCopy::of(b"key", b"", b"new"), 1);
        assert_eq!(caches.value(b"key", done), None);
        assert_eq!(caches.value(b"key", 1).as_deref(), Some(&b"new"[..]));
    }

    #[test]
    fn a_page_is_valid_until_its_partition_is_written_or_an_item_expires() {
        let (caches, marks) = caches();
        let mark = marks.of_partition(0, "partition");
        let key = page_key(b"prefix", Direction::NewestFirst, 2);
        let items = [item(b"first"), item(b"second")];
        caches.remember_page(key.clone(), Validity { mark, commit: 0 }, 100, (&items, true));
        let (page, has_more) = caches.page(&key, 99).expect("a page");
        let bodies: Vec<&[u8]> = page.iter().map(|item| &*item.body).collect();
        assert_eq!((bodies, has_more), (vec![&b"first"[..], b"second"], true));
        assert!(caches.page(&key, 100).is_none(), "an item has expired");
        assert!(caches.page(&page_key(b"prefix", Direction::OldestFirst, 2), 0).is_none());
        assert!(caches.page(&page_key(b"prefix", Direction::NewestFirst, 3), 0).is_none());
        marks.write(0, "partition", 1);
        assert!(caches.page(&key, 0).is_none());
    }

    #[test]
    fn the_value_of_a_write_is_found_by_the_number_of_that_write_alone() {
        let (caches, marks) = caches();
        let value = encode_value(7, 0, 0, b"body");
        caches.remember_item(ItemCopy::of(b"key", b"header", &value), 0);
        marks.write_item(b"key", 1);
        marks.finish(1);
        assert_eq!(caches.item(b"key"), None, "a later commit has written it");
        assert_eq!(caches.value_of_write(b"key", 7).as_deref(), Some(&value[..]));
        assert_eq!(caches.value_of_write(b"key", 8), None);
        assert_eq!(caches.value_of_write(b"other", 7), None);
    }

    #[test]
    fn memory_for_caches_is_divided_without_a_rest() {
        let shares = CacheShares::of(1000);
        assert_eq!(shares, CacheShares { blocks: 750, items: 125, pages: 125 });
    }
}
