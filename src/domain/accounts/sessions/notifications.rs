//! Notifications of changed sessions to connections that stay open, by account. Bounded by the connections
//! that wait.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;

use crate::accounts::account_id::AccountId;

type Senders = HashMap<AccountId, watch::Sender<()>>;

/// The connections that wait, by account.
#[derive(Default)]
pub(super) struct SessionNotifier(Arc<Mutex<Senders>>);

/// A connection that waits for changes of an account.
pub(super) struct SessionWatcher {
    account: AccountId,
    changes: watch::Receiver<()>,
    senders: Arc<Mutex<Senders>>,
}

impl SessionNotifier {
    /// Waits for changes of an account from now on.
    pub(super) fn watch(&self, account: AccountId) -> SessionWatcher {
        let changes = lock(&self.0).entry(account).or_insert_with(|| watch::Sender::new(())).subscribe();
        SessionWatcher { account, changes, senders: Arc::clone(&self.0) }
    }

    /// Notifies the connections of an account.
    pub(super) fn notify(&self, account: AccountId) {
        if let Some(sender) = lock(&self.0).get(&account) {
            sender.send_replace(());
        }
    }
}

impl SessionWatcher {
    /// The next change.
    pub(super) async fn changed(&mut self) {
        // The sender lives as long as a connection waits.
        let _ = self.changes.changed().await;
    }
}

impl Drop for SessionWatcher {
    fn drop(&mut self) {
        let mut senders = lock(&self.senders);
        // This one is still counted.
        if senders.get(&self.account).is_some_and(|sender| sender.receiver_count() <= 1) {
            senders.remove(&self.account);
        }
    }
}

fn lock(senders: &Mutex<Senders>) -> MutexGuard<'_, Senders> {
    senders.lock()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn changes_reach_those_who_wait_and_nothing_is_left() {
        let (watchers, user) = (SessionNotifier::default(), AccountId::user(Uuid::from_u128(1)));
        watchers.notify(user);
        let [mut one, mut other] = [watchers.watch(user), watchers.watch(user)];
        watchers.notify(user);
        one.changed().await;
        drop(one);
        other.changed().await;
        drop(other);
        assert!(lock(&watchers.0).is_empty());
    }
}
