//! The readers of the leases that this instance holds, and the word to its supervisor that something has changed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::reader::RangeReader;

#[derive(Default)]
pub(super) struct Held {
    /// By the id of the lease.
    readers: Mutex<BTreeMap<String, Arc<RangeReader>>>,
    generation: AtomicU64,
    tick_wanted: AtomicBool,
    /// There is a reader to follow, or a tick is wanted.
    pub(super) news: Notify,
}

impl Held {
    pub(super) fn all(&self) -> Vec<Arc<RangeReader>> {
        self.lock().values().cloned().collect()
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<RangeReader>> {
        self.lock().get(id).cloned()
    }

    pub(super) fn insert(&self, reader: Arc<RangeReader>) {
        let former = self.lock().insert(reader.hold.id.clone(), reader);
        if let Some(former) = former {
            former.hold.lose();
        }
        self.generation.fetch_add(1, Ordering::Relaxed);
        self.news.notify_one();
    }

    /// Takes a reader out whose lease is not held any more.
    pub(super) fn remove(&self, reader: &Arc<RangeReader>) {
        reader.hold.lose();
        let mut readers = self.lock();
        if readers.get(&reader.hold.id).is_some_and(|held| Arc::ptr_eq(held, reader)) {
            readers.remove(&reader.hold.id);
            self.generation.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Grows whenever a reader comes or goes.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// The readers for which no task was started yet; from now on they count as started.
    pub(super) fn start_following(&self) -> Vec<Arc<RangeReader>> {
        let unfollowed = |reader: &Arc<RangeReader>| !reader.seen.followed.swap(true, Ordering::Relaxed);
        self.lock().values().filter(|reader| unfollowed(reader)).cloned().collect()
    }

    /// Asks for a tick before the next is due.
    pub(super) fn want_tick(&self) {
        self.tick_wanted.store(true, Ordering::Relaxed);
        self.news.notify_one();
    }

    /// Whether a tick was asked for since this was asked last.
    pub(super) fn take_tick_wanted(&self) -> bool {
        self.tick_wanted.swap(false, Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<RangeReader>>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
