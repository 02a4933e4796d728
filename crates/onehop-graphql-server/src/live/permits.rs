//! How many connections and subscriptions there are, and may be. A permit counts as long as it lives.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::limits::LiveLimits;
use crate::client_address::Network;
use crate::limit_exceeded::LimitExceeded;

/// The part of the bytes of unfinished messages that one network may take.
const NETWORK_BYTES_PART: usize = 8;

/// How much is open at the moment.
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
    by_user: Mutex<HashMap<String, usize>>,
    unfinished_bytes: AtomicUsize,
    by_network: Mutex<HashMap<Network, Usage>>,
}

/// What the connections of one network take.
#[derive(Debug, Default)]
struct Usage {
    connections: usize,
    unfinished_bytes: usize,
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

/// Room for the messages of one socket that are not complete. What a socket has taken it keeps until it ends, as it
/// keeps the buffer of its longest message.
pub(super) struct MessageRoom {
    permits: Arc<Permits>,
    network: Network,
    bytes: usize,
}

/// That there is room for a subscription, and for this user's.
pub(super) struct SubscriptionPermit {
    permits: Arc<Permits>,
    user: Option<String>,
}

impl Permits {
    pub(super) fn new(limits: LiveLimits, load: Arc<LiveLoad>) -> Self {
        Self {
            limits,
            load,
            by_user: Mutex::default(),
            unfinished_bytes: AtomicUsize::default(),
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
        let usage = by_network.entry(network).or_default();
        if max > 0 && network != Network::Unknown && usage.connections >= max {
            return Err(ConnectionRefusal::Network(self.limits.connections_per_network()));
        }
        if !take(&self.load.connections, 1, self.limits.connections_max) {
            forget_unused(&mut by_network, network);
            return Err(ConnectionRefusal::Process);
        }
        usage.connections += 1;
        Ok(ConnectionPermit { permits: Arc::clone(self), network })
    }

    /// Room for the unfinished messages of a socket; none is taken yet.
    pub(super) fn message_room(self: &Arc<Self>, network: Network) -> MessageRoom {
        MessageRoom { permits: Arc::clone(self), network, bytes: 0 }
    }

    fn by_network(&self) -> MutexGuard<'_, HashMap<Network, Usage>> {
        self.by_network.lock()
    }

    /// Room for a subscription. An anonymous caller is bounded by the connection and by the process alone.
    pub(super) fn subscription(
        self: &Arc<Self>,
        user: Option<&str>,
    ) -> Result<SubscriptionPermit, LimitExceeded> {
        let is_taken = take(&self.load.subscriptions, 1, self.limits.subscriptions_max);
        self.limits.subscriptions().unless(is_taken)?;
        let mut permit = SubscriptionPermit { permits: Arc::clone(self), user: None };
        if let Some(user) = user {
            let mut by_user = self.by_user.lock();
            let count = by_user.entry(user.to_owned()).or_default();
            self.limits.subscriptions_per_user().unless(*count < self.limits.subscriptions_per_user_max)?;
            *count += 1;
            permit.user = Some(user.to_owned());
        }
        Ok(permit)
    }
}

impl MessageRoom {
    /// Takes room for this many bytes in all, and returns whether there was any.
    pub(super) fn grow_to(&mut self, bytes: usize) -> bool {
        let Some(more) = bytes.checked_sub(self.bytes).filter(|more| *more > 0) else { return true };
        let max = self.permits.limits.unfinished_bytes_max;
        let mut by_network = self.permits.by_network();
        let usage = by_network.entry(self.network).or_default();
        let network_max = if self.network == Network::Unknown { max } else { max / NETWORK_BYTES_PART };
        let has_room = usage.unfinished_bytes.saturating_add(more) <= network_max
            && take(&self.permits.unfinished_bytes, more, max);
        if has_room {
            usage.unfinished_bytes += more;
            self.bytes = bytes;
        } else {
            forget_unused(&mut by_network, self.network);
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

fn forget_unused(by_network: &mut HashMap<Network, Usage>, network: Network) {
    if by_network.get(&network).is_some_and(|usage| usage.connections == 0 && usage.unfinished_bytes == 0) {
        by_network.remove(&network);
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.permits.load.connections.fetch_sub(1, Ordering::Relaxed);
        let mut by_network = self.permits.by_network();
        if let Some(usage) = by_network.get_mut(&self.network) {
            usage.connections = usage.connections.saturating_sub(1);
        }
        forget_unused(&mut by_network, self.network);
    }
}

impl Drop for MessageRoom {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        self.permits.unfinished_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        let mut by_network = self.permits.by_network();
        if let Some(usage) = by_network.get_mut(&self.network) {
            usage.unfinished_bytes = usage.unfinished_bytes.saturating_sub(self.bytes);
        }
        forget_unused(&mut by_network, self.network);
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
        assert!(permits.by_network().is_empty() && permits.unfinished_bytes.load(Ordering::Relaxed) == 0);
    }

    #[test]
    fn a_user_has_a_limit_and_everybody_together_another() {
        let permits = permits();
        let mut held = vec![permits.subscription(Some("ada")), permits.subscription(Some("ada"))];
        let limit_of = |user: Option<&str>| permits.subscription(user).err().map(|over| over.limit);
        assert_eq!(limit_of(Some("ada")), Some("live-subscriptions-per-user"));
        held.push(permits.subscription(Some("grace")));
        assert!(held.iter().all(Result::is_ok), "what was refused counts nowhere");
        assert_eq!(limit_of(None), Some("live-subscriptions"));
        held.clear();
        assert!(permits.subscription(Some("ada")).is_ok());
        assert!(permits.by_user.lock().is_empty(), "nobody is remembered");
    }
}
