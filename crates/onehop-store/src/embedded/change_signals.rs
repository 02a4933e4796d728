//! Change signals: wake the readers of a feed range when an item that they read is written to it.

use parking_lot::Mutex;
use tokio::sync::watch;

use super::feed::parse_range;
use super::write_requests::{ItemChange, WriteRequest};
use crate::SignalScope;

/// The signals of a container.
#[derive(Default)]
pub(super) struct ChangeSignals {
    subscriptions: Mutex<Vec<Subscription>>,
}

struct Subscription {
    /// `None` for all physical partitions.
    physical: Option<u16>,
    /// `None` for all types.
    types: Option<Vec<String>>,
    /// Counts the writes.
    sender: watch::Sender<u64>,
}

/// The written items of a completed request, by the parts that signals distinguish.
pub(super) struct WrittenItems {
    physical: u16,
    /// `None` where an item was deleted: the request does not say of which type it was.
    types: Option<Vec<String>>,
}

impl WrittenItems {
    pub(super) fn of(request: &WriteRequest) -> Self {
        let mut types: Vec<String> = Vec::with_capacity(1);
        for operation in &request.operations {
            let ItemChange::Put { properties, .. } = &operation.change else {
                return Self { physical: request.physical, types: None };
            };
            if !types.contains(&properties.item_type) {
                types.push(properties.item_type.clone());
            }
        }
        Self { physical: request.physical, types: Some(types) }
    }
}

impl ChangeSignals {
    /// A signal of the writes in this scope; `None` where its range is not one of this store.
    pub(super) fn subscribe(&self, scope: &SignalScope<'_>, partitions: u16) -> Option<watch::Receiver<u64>> {
        let physical = match scope.range {
            Some(range) => Some(parse_range(range, partitions).ok()?),
            None => None,
        };
        let types = scope.types.map(|types| types.iter().map(|is| (*is).to_owned()).collect());
        let mut subscriptions = self.subscriptions.lock();
        subscriptions.retain(|subscription| subscription.sender.receiver_count() > 0);
        let found = subscriptions.iter().find(|other| other.physical == physical && other.types == types);
        if let Some(found) = found {
            return Some(found.sender.subscribe());
        }
        let (sender, receiver) = watch::channel(0);
        subscriptions.push(Subscription { physical, types, sender });
        Some(receiver)
    }

    /// Signals that items were written.
    pub(super) fn announce(&self, written: &WrittenItems) {
        for subscription in self.subscriptions.lock().iter().filter(|other| other.is_about(written)) {
            subscription.sender.send_modify(|writes| *writes += 1);
        }
    }

    /// Signals that anything may have been written.
    pub(super) fn announce_all(&self) {
        for subscription in self.subscriptions.lock().iter() {
            subscription.sender.send_modify(|writes| *writes += 1);
        }
    }
}

impl Subscription {
    fn is_about(&self, written: &WrittenItems) -> bool {
        let is_read = match (&self.types, &written.types) {
            (Some(wanted), Some(types)) => types.iter().any(|is| wanted.contains(is)),
            _ => true,
        };
        is_read && self.physical.is_none_or(|physical| physical == written.physical)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContainerName;
    use crate::embedded::feed::range_of;

    #[test]
    fn a_write_signals_its_own_range_and_type() {
        let signals = ChangeSignals::default();
        let scope = SignalScope::of(ContainerName("things"));
        let subscribe = |scope: &SignalScope<'_>| signals.subscribe(scope, 4).expect("a signal");
        let (own, other, unknown) = (range_of(2), range_of(1), range_of(4));
        let all = subscribe(&scope);
        let of_range = subscribe(&SignalScope { range: Some(&own), ..scope });
        let of_other_range = subscribe(&SignalScope { range: Some(&other), ..scope });
        let of_type = subscribe(&SignalScope { types: Some(&["thing"]), ..scope });
        let of_other_type = subscribe(&SignalScope { types: Some(&["tool"]), ..scope });
        assert!(signals.subscribe(&SignalScope { range: Some(&unknown), ..scope }, 4).is_none());
        let mut readers = [all, of_range, of_other_range, of_type, of_other_type];
        let mut heard = |written: &WrittenItems| {
            signals.announce(written);
            readers.each_mut().map(|signal| {
                let has_changed = signal.has_changed().expect("it is open");
                signal.mark_unchanged();
                has_changed
            })
        };
        let put = WrittenItems { physical: 2, types: Some(vec!["thing".to_owned()]) };
        assert_eq!(heard(&put), [true, true, false, true, false]);
        let deleted = WrittenItems { physical: 2, types: None };
        assert_eq!(heard(&deleted), [true, true, false, true, true], "a deletion may be of any type");
    }
}
