//! Owned leases: the readers of the leases that this instance owns, and the signal to its supervisor that
//! they changed.

use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

use super::notifications::LeaseEvent;
use super::reader::RangeReader;

#[derive(Default)]
pub(super) struct OwnedLeases {
    /// By the id of the lease.
    readers: Mutex<BTreeMap<String, Arc<RangeReader>>>,
    generation: AtomicU64,
    balancing_requested: AtomicBool,
    /// A reader has no task yet, or a balancing round is requested.
    pub(super) changed: Notify,
}

impl OwnedLeases {
    pub(super) fn all(&self) -> Vec<Arc<RangeReader>> {
        self.lock().values().cloned().collect()
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<RangeReader>> {
        self.lock().get(id).cloned()
    }

    pub(super) fn insert(&self, reader: Arc<RangeReader>) {
        reader.notify(LeaseEvent::Acquired);
        let former = self.lock().insert(reader.lease.id.clone(), reader);
        if let Some(former) = former {
            former.lease.mark_lost();
        }
        self.generation.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Removes a reader whose lease is lost or released.
    pub(super) fn remove(&self, reader: &Arc<RangeReader>) {
        reader.lease.mark_lost();
        reader.source.forget_stalls(&reader.lease.id);
        let mut readers = self.lock();
        if readers.get(&reader.lease.id).is_some_and(|held| Arc::ptr_eq(held, reader)) {
            readers.remove(&reader.lease.id);
            drop(readers);
            self.generation.fetch_add(1, Ordering::Relaxed);
            reader.notify(LeaseEvent::Released);
        }
    }

    /// Grows whenever a reader is added or removed.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// The readers without a task; marks them as started.
    pub(super) fn take_unstarted(&self) -> Vec<Arc<RangeReader>> {
        let unstarted = |reader: &Arc<RangeReader>| !reader.statistics.started.swap(true, Ordering::Relaxed);
        self.lock().values().filter(|reader| unstarted(reader)).cloned().collect()
    }

    /// Requests a balancing round before the next is due.
    pub(super) fn request_balancing(&self) {
        self.balancing_requested.store(true, Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Whether a balancing round was requested; clears the request.
    pub(super) fn take_balancing_request(&self) -> bool {
        self.balancing_requested.swap(false, Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<RangeReader>>> {
        self.readers.lock()
    }
}
