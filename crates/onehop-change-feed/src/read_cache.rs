//! Read cache of a projection: results that are reused without a read, until the projection writes what changes them.
//!
//! A read during which a write happened is not cached: a cached result was read completely after the last write that
//! invalidated the cache. Writes by other processes are not seen. Where there are any, the cache is invalidated before each
//! page, so that no result is older than the page.

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
        let mut cached = self.lock();
        cached.generation += 1;
        cached.results.clear();
    }

    /// Invalidates the cache now and when the guard is dropped, whatever the outcome of the writes in between.
    pub(super) fn invalidate_around(&self) -> InvalidateOnDrop<'_> {
        self.invalidate();
        InvalidateOnDrop(self)
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, CachedReads> {
        self.0.lock()
    }
}

pub(super) struct InvalidateOnDrop<'a>(&'a ReadCache);

impl Drop for InvalidateOnDrop<'_> {
    fn drop(&mut self) {
        self.0.invalidate();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onehop_store::ContainerName;

    #[test]
    fn a_result_whose_read_began_before_a_write_is_not_cached() {
        let cache = ReadCache::default();
        let read = ReadRequest::Newest {
            container: ContainerName("posts"),
            item_type: "post",
            after: None,
            limit: 1,
        };
        let begun = cache.begin();
        drop(cache.invalidate_around());
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
        };
        cache.keep(cache.begin(), "floor", &newest(1), ReadResult::Count(1));
        assert!(cache.get("floor", &newest(2)).is_none());
    }
}
