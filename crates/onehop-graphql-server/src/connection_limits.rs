//! Connection limits: how many connections are open, in all and for each network, with a reserve for health
//! checks. Knows addresses, not HTTP.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use super::client_address::Network;

/// Connections beyond the limits on which health is answered, and nothing else. One more takes the place of
/// the oldest.
pub(super) const RESERVE_MAX: usize = 64;

/// Counts the connections of one listener.
pub(super) struct ConnectionLimiter {
    max: usize,
    per_network_max: usize,
    state: Mutex<OpenConnections>,
}

#[derive(Default)]
struct OpenConnections {
    open: usize,
    by_network: HashMap<Network, usize>,
    reserve: VecDeque<(u64, CancellationToken)>,
    reserved: u64,
}

/// The place of one connection, given back when it is dropped.
pub(super) struct ConnectionSlot {
    connections: Arc<ConnectionLimiter>,
    place: SlotKind,
}

enum SlotKind {
    Open(Network),
    Reserve { number: u64, evicted: CancellationToken },
}

impl ConnectionLimiter {
    /// This many connections in all, and this many of each network; 0 for any number.
    pub(super) fn new(max: usize, per_network_max: usize) -> Arc<Self> {
        Arc::new(Self { max, per_network_max, state: Mutex::default() })
    }

    /// A place for a connection from a network: one of the reserve where a limit is reached.
    pub(super) fn open(self: &Arc<Self>, network: Network) -> ConnectionSlot {
        let mut state = self.lock();
        let of_network = state.by_network.get(&network).copied().unwrap_or(0);
        let has_room =
            state.open < self.max && (self.per_network_max == 0 || of_network < self.per_network_max);
        let place = if has_room {
            state.open += 1;
            *state.by_network.entry(network).or_default() += 1;
            SlotKind::Open(network)
        } else {
            state.reserve()
        };
        ConnectionSlot { connections: Arc::clone(self), place }
    }

    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        self.state.lock()
    }
}

impl OpenConnections {
    fn reserve(&mut self) -> SlotKind {
        if self.reserve.len() >= RESERVE_MAX
            && let Some((_, oldest)) = self.reserve.pop_front()
        {
            oldest.cancel();
        }
        self.reserved += 1;
        let (number, evicted) = (self.reserved, CancellationToken::new());
        self.reserve.push_back((number, evicted.clone()));
        SlotKind::Reserve { number, evicted }
    }
}

impl ConnectionSlot {
    /// For a connection of the reserve: fires when it has to make room for another one.
    pub(super) fn eviction(&self) -> Option<CancellationToken> {
        match &self.place {
            SlotKind::Open(_) => None,
            SlotKind::Reserve { evicted, .. } => Some(evicted.clone()),
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut state = self.connections.lock();
        match &self.place {
            SlotKind::Open(network) => {
                state.open -= 1;
                if let Some(of_network) = state.by_network.get_mut(network) {
                    *of_network -= 1;
                    if *of_network == 0 {
                        state.by_network.remove(network);
                    }
                }
            }
            SlotKind::Reserve { number, .. } => state.reserve.retain(|(other, _)| other != number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Network = Network::V6(1);
    const OTHER: Network = Network::V6(2);

    fn is_open(slot: &ConnectionSlot) -> bool {
        slot.eviction().is_none()
    }

    #[test]
    fn beyond_a_limit_there_is_the_reserve() {
        let connections = ConnectionLimiter::new(3, 2);
        let mut slots: Vec<ConnectionSlot> =
            [ONE, ONE, ONE, OTHER, OTHER].map(|network| connections.open(network)).into();
        assert_eq!(slots.iter().map(is_open).collect::<Vec<_>>(), [true, true, false, true, false]);
        slots.clear();
        let state = connections.lock();
        assert!(state.open == 0 && state.by_network.is_empty() && state.reserve.is_empty());
    }

    #[test]
    fn a_new_connection_replaces_the_oldest_of_the_reserve() {
        let connections = ConnectionLimiter::new(0, 0);
        let slots: Vec<ConnectionSlot> = (0..=RESERVE_MAX).map(|_| connections.open(ONE)).collect();
        let evicted =
            slots.iter().filter(|slot| slot.eviction().is_some_and(|evicted| evicted.is_cancelled()));
        assert_eq!(evicted.count(), 1);
        assert!(slots[0].eviction().is_some_and(|evicted| evicted.is_cancelled()));
    }

    #[test]
    fn without_a_limit_one_network_takes_all() {
        let connections = ConnectionLimiter::new(3, 0);
        let slots = [ONE; 4].map(|network| connections.open(network));
        assert_eq!(slots.each_ref().map(is_open), [true, true, true, false]);
    }
}
