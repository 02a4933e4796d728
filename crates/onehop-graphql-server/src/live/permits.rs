//! Permits: the numbers of connections and subscriptions, and their limits. A permit counts as long as it
//! lives.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::caller_shares::{CallerNetwork, CallerShare, CallerShares};
use super::limits::LiveLimits;
use crate::client_address::Network;
use crate::limit_exceeded::LimitExceeded;
use crate::shared_limit::{Share, ShareRefusal, SharedLimit};

/// The part of the bytes of unfinished messages that one network may take.
const NETWORK_BYTES_PART: usize = 8;

/// The numbers of open connections and subscriptions.
#[derive(Debug, Default)]
pub struct LiveLoad {
    connections: AtomicUsize,
    subscriptions: AtomicUsize,
}

impl LiveLoad {
    /// WebSockets and event streams that are open.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Subscriptions that go on.
    #[must_use]
    pub fn subscriptions(&self) -> usize {
        self.subscriptions.load(Ordering::Relaxed)
    }
}

/// Counts connections and subscriptions.
pub(super) struct Permits {
    limits: LiveLimits,
    load: Arc<LiveLoad>,
    subscriptions: CallerShares,
    by_user: Mutex<HashMap<String, usize>>,
    unfinished_bytes: Arc<SharedLimit<Network>>,
    /// Connections of each network.
    by_network: Mutex<HashMap<Network, usize>>,
}

/// That there is room for a connection, and for this network's.
pub(super) struct ConnectionPermit {
    permits: Arc<Permits>,
    network: Network,
}

/// Why there is no room for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionRefusal {
    Process,
    Network(LimitExceeded),
}

/// Room for the messages of one socket that are not complete. A socket keeps its room until it ends, as it
/// keeps the buffer of its longest message.
pub(super) struct MessageRoom {
    share: Share<Network>,
    bytes: usize,
}

/// That there is room for a subscription, and for this user's.
pub(super) struct SubscriptionPermit {
    permits: Arc<Permits>,
    user: Option<String>,
    _share: CallerShare,
}

impl Permits {
    pub(super) fn new(limits: LiveLimits, load: Arc<LiveLoad>) -> Self {
        let bytes_max = limits.unfinished_bytes_max;
        Self {
            limits,
            load,
            subscriptions: CallerShares::new(limits.subscriptions_max, limits.subscriptions_per_network_max),
            by_user: Mutex::default(),
            unfinished_bytes: SharedLimit::new(bytes_max, bytes_max / NETWORK_BYTES_PART),
            by_network: Mutex::default(),
        }
    }

    /// Room for a connection from a network.
    pub(super) fn connection(
        self: &Arc<Self>,
        network: Network,
    ) -> Result<ConnectionPermit, ConnectionRefusal> {
        let max = self.limits.connections_per_network_max;
        let mut by_network = self.by_network();
        let connections = by_network.get(&network).copied().unwrap_or(0);
        if max > 0 && network != Network::Unknown && connections >= max {
            return Err(ConnectionRefusal::Network(self.limits.connections_per_network()));
        }
        if !take(&self.load.connections, 1, self.limits.connections_max) {
            return Err(ConnectionRefusal::Process);
        }
        by_network.insert(network, connections + 1);
        Ok(ConnectionPermit { permits: Arc::clone(self), network })
    }

    /// Room for the unfinished messages of a socket; empty at first.
    pub(super) fn message_room(self: &Arc<Self>, network: Network) -> MessageRoom {
        MessageRoom { share: self.unfinished_bytes.share(network.known()), bytes: 0 }
    }

    fn by_network(&self) -> MutexGuard<'_, HashMap<Network, usize>> {
        self.by_network.lock()
    }

    /// Room for a subscription of a user, or of an anonymous caller, from a network.
    pub(super) fn subscription(
        self: &Arc<Self>,
        user: Option<&str>,
        network: Network,
    ) -> Result<SubscriptionPermit, LimitExceeded> {
        let caller = CallerNetwork { network, is_user: user.is_some() };
        let share = self.subscriptions.take(caller, 1).map_err(|refusal| match refusal {
            ShareRefusal::All => self.limits.subscriptions(),
            ShareRefusal::OneKey => self.limits.subscriptions_per_network(),
        })?;
        if let Some(user) = user {
            let mut by_user = self.by_user.lock();
            let count = by_user.get(user).copied().unwrap_or(0);
            self.limits.subscriptions_per_user().unless(count < self.limits.subscriptions_per_user_max)?;
            by_user.insert(user.to_owned(), count + 1);
        }
        self.load.subscriptions.fetch_add(1, Ordering::Relaxed);
        Ok(SubscriptionPermit { permits: Arc::clone(self), user: user.map(str::to_owned), _share: share })
    }
}

impl MessageRoom {
    /// Takes room for this many bytes in all, and returns whether there was any.
    pub(super) fn grow_to(&mut self, bytes: usize) -> bool {
        if bytes <= self.bytes {
            return true;
        }
        let has_room = self.share.resize(bytes).is_ok();
        if has_room {
            self.bytes = bytes;
        }
        has_room
    }
}

fn take(count: &AtomicUsize, more: usize, limit: usize) -> bool {
    let taken = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
        count.checked_add(more).filter(|count| *count <= limit)
    });
    taken.is_ok()
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.permits.load.connections.fetch_sub(1, Ordering::Relaxed);
        let mut by_network = self.permits.by_network();
        match by_network.get_mut(&self.network) {
            Some(connections) if *connections > 1 => *connections -= 1,
            _ => drop(by_network.remove(&self.network)),
        }
    }
}

impl Drop for SubscriptionPermit {
    fn drop(&mut self) {
        self.permits.load.subscriptions.fetch_sub(1, Ordering::Relaxed);
        let Some(user) = self.user.take() else { return };
        let mut by_user = self.permits.by_user.lock();
        if let Some(count) = by_user.get_mut(&user) {
            *count -= 1;
            if *count == 0 {
                by_user.remove(&user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits() -> Arc<Permits> {
        let limits = LiveLimits {
            connections_max: 1,
            subscriptions_max: 3,
            subscriptions_per_network_max: 0,
            subscriptions_per_user_max: 2,
            ..LiveLimits::default()
        };
        Arc::new(Permits::new(limits, Arc::default()))
    }

    #[test]
    fn a_connection_that_ends_makes_room() {
        let permits = permits();
        let connection = || permits.connection(Network::Unknown);
        let first = connection();
        assert!(first.is_ok() && connection().err() == Some(ConnectionRefusal::Process));
        drop(first);
        assert!(connection().is_ok());
        assert!(permits.by_network().is_empty(), "no network is remembered");
    }

    #[test]
    fn a_network_has_a_part_of_the_connections_and_of_the_bytes() {
        let limits =
            LiveLimits { connections_per_network_max: 2, unfinished_bytes_max: 800, ..LiveLimits::default() };
        let permits = Arc::new(Permits::new(limits, Arc::default()));
        let (one, other) = (Network::V4([192, 0, 2, 1].into()), Network::V6(7));
        let held = [permits.connection(one), permits.connection(one)];
        assert!(held.iter().all(Result::is_ok));
        let refused = permits.connection(one).err();
        let Some(ConnectionRefusal::Network(exceeded)) = refused else { panic!("{refused:?}") };
        assert_eq!((exceeded.limit, exceeded.max), ("live-connections-per-network", 2));
        assert!(permits.connection(other).is_ok());
        let (mut first, mut second) = (permits.message_room(one), permits.message_room(one));
        assert!(first.grow_to(60) && !second.grow_to(60) && second.grow_to(40));
        assert!(permits.message_room(other).grow_to(100));
        drop((first, second, held));
        assert!(permits.by_network().is_empty() && permits.unfinished_bytes.used() == 0);
    }

    #[test]
    fn a_user_has_a_limit_and_everybody_together_another() {
        let permits = permits();
        let subscription = |user: Option<&str>| permits.subscription(user, Network::V6(1));
        let mut held = vec![subscription(Some("ada")), subscription(Some("ada"))];
        let limit_of = |user: Option<&str>| subscription(user).err().map(|over| over.limit);
        assert_eq!(limit_of(Some("ada")), Some("live-subscriptions-per-user"));
        held.push(subscription(Some("grace")));
        assert!(held.iter().all(Result::is_ok), "what was refused counts nowhere");
        assert_eq!(limit_of(None), Some("live-subscriptions"));
        held.clear();
        assert!(subscription(Some("ada")).is_ok());
        assert!(permits.by_user.lock().is_empty(), "nobody is remembered");
        assert_eq!(permits.load.subscriptions(), 0);
    }

    #[test]
    fn a_network_has_a_part_of_the_subscriptions() {
        let limits =
            LiveLimits { subscriptions_max: 16, subscriptions_per_network_max: 2, ..LiveLimits::default() };
        let permits = Arc::new(Permits::new(limits, Arc::default()));
        let (one, other) = (Network::V6(1), Network::V6(2));
        let held = [permits.subscription(None, one), permits.subscription(None, one)];
        let refused = permits.subscription(None, one).err();
        assert_eq!(refused.map(|over| (over.limit, over.max)), Some(("live-subscriptions-per-network", 2)));
        assert!(permits.subscription(Some("ada"), one).is_ok(), "users have a part beside anonymous callers");
        assert!(permits.subscription(None, other).is_ok());
        drop(held);
    }
}
