//! Striped locks: turns of writers in one process, in bounded memory. Keys of one stripe wait for each other; what is written stays
//! guarded by the store's own conditions.

use tokio::sync::{Mutex, MutexGuard};
use uuid::Uuid;

/// How many stripes there are.
const STRIPES: u128 = 256;

/// Locks for any number of keys.
pub(crate) struct StripedLocks(Vec<Mutex<()>>);

impl Default for StripedLocks {
    fn default() -> Self {
        Self((0..STRIPES).map(|_| Mutex::new(())).collect())
    }
}

impl StripedLocks {
    /// Waits for the turn of a key, first come, first served.
    pub(crate) async fn lock(&self, key: Uuid) -> MutexGuard<'_, ()> {
        // The last bytes of a UUIDv7 are random.
        let stripe = usize::try_from(key.as_u128() % STRIPES).unwrap_or(0);
        self.0[stripe].lock().await
    }
}
