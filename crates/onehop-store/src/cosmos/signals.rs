//! Change signals: wake the readers of a feed range when this process writes an item to it.
//!
//! They know the writes of this process alone. A write of another process is found by polling.

use azure_data_cosmos::PartitionKey as CosmosKey;
use azure_data_cosmos::feed::FeedRange as CosmosRange;
use azure_data_cosmos::models::PartitionKeyDefinition;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::SignalScope;

/// The signals of a container.
pub(super) struct ChangeSignals {
    partition_key: PartitionKeyDefinition,
    subscriptions: Mutex<Vec<Subscription>>,
}

struct Subscription {
    /// `None` for all of the container.
    range: Option<CosmosRange>,
    /// `None` for all types.
    types: Option<Vec<String>>,
    /// Counts the writes.
    sender: watch::Sender<u64>,
}

impl ChangeSignals {
    pub(super) fn new(partition_key: PartitionKeyDefinition) -> Self {
        Self { partition_key, subscriptions: Mutex::default() }
    }

    /// A signal of the writes in this scope; `None` where its range is not one of this store.
    pub(super) fn subscribe(&self, scope: &SignalScope<'_>) -> Option<watch::Receiver<u64>> {
        let range = match scope.range {
            Some(range) => Some(range.0.parse::<CosmosRange>().ok()?),
            None => None,
        };
        let types = scope.types.map(|types| types.iter().map(|is| (*is).to_owned()).collect());
        let mut subscriptions = self.subscriptions.lock();
        subscriptions.retain(|subscription| subscription.sender.receiver_count() > 0);
        let found = subscriptions.iter().find(|other| other.range == range && other.types == types);
        if let Some(found) = found {
            return Some(found.sender.subscribe());
        }
        let (sender, receiver) = watch::channel(0);
        subscriptions.push(Subscription { range, types, sender });
        Some(receiver)
    }

    /// The place of a logical partition among all.
    pub(super) fn point_of(&self, partition_key: CosmosKey) -> CosmosRange {
        CosmosRange::for_partition(partition_key, &self.partition_key)
    }

    /// Signals that items of these types were written to a logical partition.
    pub(super) fn announce(&self, partition_key: CosmosKey, types: &[String]) {
        if types.is_empty() {
            return;
        }
        let point = self.point_of(partition_key);
        for subscription in self.subscriptions.lock().iter() {
            if subscription.is_about(&point, types) {
                subscription.sender.send_modify(|writes| *writes += 1);
            }
        }
    }
}

impl Subscription {
    fn is_about(&self, point: &CosmosRange, types: &[String]) -> bool {
        let wanted = |wanted: &Vec<String>| types.iter().any(|is| wanted.contains(is));
        self.range.as_ref().is_none_or(|range| contains(range, point))
            && self.types.as_ref().is_none_or(wanted)
    }
}

/// Whether a range holds the logical partition at this point.
pub(super) fn contains(range: &CosmosRange, point: &CosmosRange) -> bool {
    range.min_inclusive() <= point.min_inclusive() && point.min_inclusive() < range.max_exclusive()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContainerName, FeedRange};

    const THINGS: ContainerName = ContainerName("things");

    fn key(text: &str) -> CosmosKey {
        CosmosKey::from(text.to_owned())
    }

    #[test]
    fn a_write_signals_its_own_range_and_type() {
        let definition = PartitionKeyDefinition::from("/home");
        let signals = ChangeSignals::new(definition.clone());
        let point = CosmosRange::for_partition(key("h1"), &definition);
        let full = CosmosRange::full();
        let before =
            CosmosRange::new(full.min_inclusive().clone(), point.min_inclusive().clone()).expect("a range");
        let after =
            CosmosRange::new(point.min_inclusive().clone(), full.max_exclusive().clone()).expect("a range");
        let [before, after] = [before, after].map(|range| FeedRange(range.to_string()));
        let scope = SignalScope::of(THINGS);
        let subscribe = |scope: &SignalScope<'_>| signals.subscribe(scope).expect("a signal");
        let all = subscribe(&scope);
        let of_range = subscribe(&SignalScope { range: Some(&after), ..scope });
        let of_other_range = subscribe(&SignalScope { range: Some(&before), ..scope });
        let of_type = subscribe(&SignalScope { types: Some(&["thing"]), ..scope });
        let of_other_type = subscribe(&SignalScope { types: Some(&["tool"]), ..scope });
        signals.announce(key("h1"), &["thing".to_owned()]);
        let changed = |signal: &watch::Receiver<u64>| signal.has_changed().expect("it is open");
        let heard = [&all, &of_range, &of_other_range, &of_type, &of_other_type].map(changed);
        assert_eq!(heard, [true, true, false, true, false]);
    }
}
