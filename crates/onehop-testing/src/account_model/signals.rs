//! Change signals: wake the readers of a feed range when their own process writes an item to it.

use onehop_store::SignalScope;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::hash_range::HashRange;

/// The signals of a container in one process.
#[derive(Default)]
pub(super) struct ChangeSignals(Mutex<Vec<Subscription>>);

struct Subscription {
    /// `None` for all of the container.
    range: Option<HashRange>,
    /// `None` for all types.
    types: Option<Vec<String>>,
    /// Counts the writes.
    sender: watch::Sender<u64>,
}

impl ChangeSignals {
    /// A signal of the writes in this scope; `None` where its range is not one of this account.
    pub(super) fn subscribe(&self, scope: &SignalScope<'_>) -> Option<watch::Receiver<u64>> {
        let range = match scope.range {
            Some(range) => Some(HashRange::of(range)?),
            None => None,
        };
        let types = scope.types.map(|types| types.iter().map(|is| (*is).to_owned()).collect());
        let mut subscriptions = self.0.lock();
        subscriptions.retain(|subscription| subscription.sender.receiver_count() > 0);
        let found = subscriptions.iter().find(|other| other.range == range && other.types == types);
        if let Some(found) = found {
            return Some(found.sender.subscribe());
        }
        let (sender, receiver) = watch::channel(0);
        subscriptions.push(Subscription { range, types, sender });
        Some(receiver)
    }

    /// Signals that items of these types were written to the logical partition at a point.
    pub(super) fn announce(&self, point: u64, types: &[String]) {
        if types.is_empty() {
            return;
        }
        for subscription in self.0.lock().iter().filter(|subscription| subscription.is_about(point, types)) {
            subscription.sender.send_modify(|writes| *writes += 1);
        }
    }
}

impl Subscription {
    fn is_about(&self, point: u64, types: &[String]) -> bool {
        let wanted = |wanted: &Vec<String>| types.iter().any(|is| wanted.contains(is));
        self.range.is_none_or(|range| range.contains(point)) && self.types.as_ref().is_none_or(wanted)
    }
}
