//! Read cache of a projection: results that are reused without a read, until a write of the projection
//! changes them.
//!
//! A read during which a write happened is not cached: a cached result was read completely after the last
//! write that invalidated the cache. A write may also state the cached result after it (see
//! [`crate::CacheUpdate`]): that is cached if no other write of the projection happened meanwhile.
//!
//! Writes by other processes are not seen. Where there are any, no result may be older than the page of
//! changes: before each page all results become unconfirmed, and are not reused. A guarded result
//! ([`ReadRequest::guarded`](super::request::ReadRequest::guarded)) is reused when a point read has confirmed
//! it, and for at most [`GUARDED_MS_MAX`], because a repair by another process may write without the guard.

use std::collections::HashMap;
use std::sync::Arc;

use onehop_store::QueryPage;
use parking_lot::Mutex;

use super::request::{ReadRequest, ReadResult};

#[derive(Debug, Default)]
pub(super) struct ReadCache(Mutex<CachedReads>);

/// The age from which a guarded result is read as a whole again.
const GUARDED_MS_MAX: i64 = 60_000;

#[derive(Debug, Default)]
struct CachedReads {
    generation: u64,
    results: HashMap<&'static str, CachedRead>,
    /// When each result was last read as a whole (monotonic ms). Writes that derive the next result leave it.
    read_at_ms: HashMap<&'static str, i64>,
}

#[derive(Debug)]
struct CachedRead {
    read: ReadRequest,
    result: ReadResult,
    /// Whether it is as young as the page of changes.
    is_confirmed: bool,
}

/// The generation of the cache when a read began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Generation(u64);

impl ReadCache {
    /// The cached result of the same read.
    pub(super) fn get(&self, name: &'static str, read: &ReadRequest) -> Option<ReadResult> {
        let cached = self.lock();
        let found = cached.results.get(name)?;
        (found.is_confirmed && found.read == *read).then(|| found.result.clone())
    }

    /// The page of the same read from before the present page of changes, if it is not too old.
    pub(super) fn unconfirmed(
        &self,
        name: &'static str,
        read: &ReadRequest,
        now_ms: i64,
    ) -> Option<Arc<QueryPage>> {
        let cached = self.lock();
        let found = cached.results.get(name)?;
        let is_young = now_ms < cached.read_at_ms.get(name)?.saturating_add(GUARDED_MS_MAX);
        match &found.result {
            ReadResult::Page(page) if is_young && found.read == *read => Some(Arc::clone(page)),
            _ => None,
        }
    }

    /// Begins a read; its result is cached only if the cache is not invalidated meanwhile.
    pub(super) fn begin(&self) -> Generation {
        Generation(self.lock().generation)
    }

    /// Caches the result of a read that began at this generation.
    pub(super) fn keep(
        &self,
        begun: Generation,
        name: &'static str,
        read: &ReadRequest,
        result: ReadResult,
        now_ms: i64,
    ) {
        let mut cached = self.lock();
        if cached.generation == begun.0 {
            cached.insert(name, read.clone(), result);
            cached.read_at_ms.insert(name, now_ms);
        }
    }

    /// Confirms a result by a read that began at this generation.
    pub(super) fn confirm(&self, begun: Generation, name: &'static str) {
        let mut cached = self.lock();
        if cached.generation == begun.0
            && let Some(found) = cached.results.get_mut(name)
        {
            found.is_confirmed = true;
        }
    }

    /// Invalidates the cache.
    pub(super) fn invalidate(&self) {
        self.lock().invalidate();
    }

    /// Begins a page of changes beside other processes: all results become unconfirmed.
    pub(super) fn begin_page(&self) {
        let mut cached = self.lock();
        cached.generation += 1;
        cached.results.values_mut().for_each(|found| found.is_confirmed = false);
    }

    /// Begins a write: invalidates the cache now and when the guard is dropped, for every outcome of the
    /// write.
    pub(super) fn begin_write(&self) -> CacheWrite<'_> {
        let mut cached = self.lock();
        cached.invalidate();
        CacheWrite { cache: self, begun: cached.generation }
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, CachedReads> {
        self.0.lock()
    }
}

impl CachedReads {
    fn invalidate(&mut self) {
        self.generation += 1;
        self.results.clear();
    }

    fn insert(&mut self, name: &'static str, read: ReadRequest, result: ReadResult) {
        self.results.insert(name, CachedRead { read, result, is_confirmed: true });
    }
}

/// A write that changes cached results.
pub(super) struct CacheWrite<'a> {
    cache: &'a ReadCache,
    begun: u64,
}

impl CacheWrite<'_> {
    /// Ends a write that succeeded. Caches the result that it leaves, unless another write of the projection
    /// happened meanwhile.
    pub(super) fn end(self, name: &'static str, read: ReadRequest, result: ReadResult) {
        let mut cached = self.cache.lock();
        let is_only_write = cached.generation == self.begun;
        cached.invalidate();
        if is_only_write {
            cached.insert(name, read, result);
        }
        drop(cached);
        std::mem::forget(self);
    }
}

impl Drop for CacheWrite<'_> {
    fn drop(&mut self) {
        self.cache.invalidate();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onehop_store::{ContainerName, Direction};

    #[test]
    fn a_result_whose_read_began_before_a_write_is_not_cached() {
        let cache = ReadCache::default();
        let read = ReadRequest::Newest {
            container: ContainerName("posts"),
            item_type: "post",
            after: None,
            limit: 1,
            order_by: None,
            direction: Direction::NewestFirst,
        };
        let begun = cache.begin();
        drop(cache.begin_write());
        cache.keep(begun, "floor", &read, ReadResult::Count(1), 0);
        assert!(cache.get("floor", &read).is_none());
        cache.keep(cache.begin(), "floor", &read, ReadResult::Count(2), 0);
        assert!(matches!(cache.get("floor", &read), Some(ReadResult::Count(2))));
    }

    #[test]
    fn a_result_to_another_read_is_not_given() {
        let cache = ReadCache::default();
        let newest = |limit| ReadRequest::Newest {
            container: ContainerName("posts"),
            item_type: "post",
            after: None,
            limit,
            order_by: None,
            direction: Direction::NewestFirst,
        };
        cache.keep(cache.begin(), "floor", &newest(1), ReadResult::Count(1), 0);
        assert!(cache.get("floor", &newest(2)).is_none());
    }

    #[test]
    fn a_write_leaves_its_result_unless_another_write_happened_meanwhile() {
        let cache = ReadCache::default();
        let read = ReadRequest::Newest {
            container: ContainerName("posts"),
            item_type: "post",
            after: None,
            limit: 1,
            order_by: None,
            direction: Direction::NewestFirst,
        };
        let begun = cache.begin();
        cache.begin_write().end("floor", read.clone(), ReadResult::Count(1));
        assert!(matches!(cache.get("floor", &read), Some(ReadResult::Count(1))));
        cache.keep(begun, "floor", &read, ReadResult::Count(2), 0);
        assert!(
            matches!(cache.get("floor", &read), Some(ReadResult::Count(1))),
            "a read from before is not kept"
        );

        for first_ends_first in [true, false] {
            let (first, second) = (cache.begin_write(), cache.begin_write());
            let (early, late) = if first_ends_first { (first, second) } else { (second, first) };
            early.end("floor", read.clone(), ReadResult::Count(3));
            late.end("floor", read.clone(), ReadResult::Count(4));
            assert!(cache.get("floor", &read).is_none(), "neither knows the other's write");
        }
    }
    #[test]
    fn a_page_before_the_present_changes_needs_confirmation() {
        let cache = ReadCache::default();
        let read = ReadRequest::item(ContainerName("posts"), "p1".into(), "p1");
        let page = || ReadResult::Page(Arc::new(QueryPage { items: Vec::new().into(), has_more: false }));
        cache.keep(cache.begin(), "listing", &read, page(), 1_000);
        assert!(cache.get("listing", &read).is_some());
        cache.begin_page();
        assert!(cache.get("listing", &read).is_none(), "another process may have written");
        assert!(cache.unconfirmed("listing", &read, 1_000).is_some());

        let begun = cache.begin();
        cache.begin_page();
        cache.confirm(begun, "listing");
        assert!(cache.get("listing", &read).is_none(), "the next page began while it was being confirmed");
        cache.confirm(cache.begin(), "listing");
        assert!(cache.get("listing", &read).is_some());

        cache.begin_page();
        let age_max = 1_000 + GUARDED_MS_MAX;
        assert!(cache.unconfirmed("listing", &read, age_max - 1).is_some());
        assert!(cache.unconfirmed("listing", &read, age_max).is_none(), "it is read as a whole again");
        cache.begin_write().end("listing", read.clone(), page());
        cache.begin_page();
        assert!(cache.unconfirmed("listing", &read, age_max).is_none(), "a write does not make it younger");
        cache.invalidate();
        assert!(cache.unconfirmed("listing", &read, 1_000).is_none());
    }
}
