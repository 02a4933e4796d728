//! Turns of writers in one process by key. Writers of one key wait for each other, first come, first served;
//! writers of different keys never do. Writes stay guarded by the store's own conditions.
//!
//! A key takes memory only while a writer has its turn or waits for it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Mutex as TurnMutex, OwnedMutexGuard};
use uuid::Uuid;

/// Turns for any number of keys.
#[derive(Default)]
pub(crate) struct KeyedTurns {
    keys: Mutex<HashMap<Uuid, Arc<TurnMutex<()>>>>,
}

/// The turn of one writer, or its wait for the turn. It ends when this value is dropped.
pub(crate) struct WriterTurn<'a> {
    turns: &'a KeyedTurns,
    key: Uuid,
    /// Dropped before the key is looked at for the last time.
    held: Option<HeldTurn>,
}

struct HeldTurn {
    /// Keeps the key while the turn is waited for.
    _turn: Arc<TurnMutex<()>>,
    guard: Option<OwnedMutexGuard<()>>,
}

impl KeyedTurns {
    /// Waits for the turn of a key. A wait that is dropped leaves nothing behind.
    pub(crate) async fn wait(&self, key: Uuid) -> WriterTurn<'_> {
        let turn = Arc::clone(self.keys().entry(key).or_default());
        let mut waiting =
            WriterTurn { turns: self, key, held: Some(HeldTurn { _turn: Arc::clone(&turn), guard: None }) };
        let guard = turn.lock_owned().await;
        if let Some(held) = &mut waiting.held {
            held.guard = Some(guard);
        }
        waiting
    }

    fn keys(&self) -> MutexGuard<'_, HashMap<Uuid, Arc<TurnMutex<()>>>> {
        self.keys.lock()
    }
}

impl Drop for WriterTurn<'_> {
    fn drop(&mut self) {
        self.held = None;
        let mut keys = self.turns.keys();
        // References are only added under this lock, so a single one is the map's own.
        if keys.get(&self.key).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            keys.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const KEY: Uuid = Uuid::from_u128(1);
    /// 256 keys further: no number of stripes makes it the same.
    const OTHER: Uuid = Uuid::from_u128(257);

    #[tokio::test]
    async fn only_writers_of_one_key_wait() {
        let turns = KeyedTurns::default();
        let held = turns.wait(KEY).await;
        assert!(turns.wait(KEY).now_or_never().is_none());
        assert!(turns.wait(OTHER).now_or_never().is_some());
        drop(held);
        assert!(turns.wait(KEY).now_or_never().is_some());
    }

    #[tokio::test]
    async fn the_first_that_waits_is_the_first_that_goes_on() {
        let turns = KeyedTurns::default();
        let held = turns.wait(KEY).await;
        let (mut first, mut second) = (Box::pin(turns.wait(KEY)), Box::pin(turns.wait(KEY)));
        assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
        drop(held);
        assert!(futures::poll!(&mut second).is_pending());
        assert!(futures::poll!(&mut first).is_ready());
    }

    #[tokio::test]
    async fn a_key_that_nobody_uses_takes_no_memory() {
        let turns = KeyedTurns::default();
        let held = turns.wait(KEY).await;
        let mut abandoned = Box::pin(turns.wait(KEY));
        assert!(futures::poll!(&mut abandoned).is_pending());
        drop(abandoned);
        assert_eq!(turns.keys().len(), 1);
        drop(held);
        assert_eq!(turns.keys().len(), 0);
        let held = turns.wait(KEY).await;
        let mut waiting = Box::pin(turns.wait(KEY));
        assert!(futures::poll!(&mut waiting).is_pending());
        drop(held);
        drop(waiting);
        assert_eq!(turns.keys().len(), 0);
    }
}
