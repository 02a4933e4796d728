//! Read cache of a projection: results that are reused without a read, until a write of the projection
//! changes them.
//!
//! A read during which a write happened is not cached: a cached result was read completely after the last
//! write that invalidated the cache. A write may also state the cached result after it (see
//! [`crate::CacheUpdate`]): that is cached if no other write of the projection happened meanwhile. Writes by
//! other processes are not seen. Where there are any, the cache is invalidated before each page, so that no
//! result is older than the page.

use parking_lot::Mutex;
use std::collections::HashMap;

use super::request::{ReadRequest, ReadResult};

#[derive(Debug, Default)]
pub(super) struct ReadCache(Mutex<CachedReads>);

#[derive(Debug, Default)]
struct CachedReads {
    generation: u64,
    results: HashMap<&'static str, (ReadRequest, ReadResult)>,
}

/// The generation of the cache when a read began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Generation(u64);

impl ReadCache {
    /// The cached result of the same read.
    pub(super) fn get(&self, name: &'static str, read: &ReadRequest) -> Option<ReadResult> {
        let cached = self.lock();
        let (read_before, result) = cached.results.get(name)?;
        (read_before == read).then(|| result.clone())
    }

    /// Begins a read; its result is cached only if the cache is not invalidated meanwhile.
    pub(super) fn begin(&self) -> Generation {
        Generation(self.lock().generation)
    }

    /// Caches the result of a read that began at this generation.
    pub(super) fn keep(&self, begun: Generation, name: &'static str, read: &ReadRequest, result: ReadResult) {
        let mut cached = self.lock();
        if cached.generation == begun.0 {
            cached.results.insert(name, (read.clone(), result));
        }
    }

    /// Invalidates the cache.
    pub(super) fn invalidate(&self) {
        self.lock().invalidate();
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
            cached.results.insert(name, (read, result));
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
        cache.keep(begun, "floor", &read, ReadResult::Count(1));
        assert!(cache.get("floor", &read).is_none());
        cache.keep(cache.begin(), "floor", &read, ReadResult::Count(2));
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
        cache.keep(cache.begin(), "floor", &newest(1), ReadResult::Count(1));
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
        cache.keep(begun, "floor", &read, ReadResult::Count(2));
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
}
