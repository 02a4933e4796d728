//! How many connections and subscriptions there are, and may be. A permit counts as long as it lives.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::LiveLimits;
use crate::http::limit_exceeded::LimitExceeded;

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
}

/// That there is room for a connection.
pub(super) struct ConnectionPermit(Arc<Permits>);

/// That there is room for a subscription, and for this user's.
pub(super) struct SubscriptionPermit {
    permits: Arc<Permits>,
    user: Option<String>,
}

impl Permits {
    pub(super) fn new(limits: LiveLimits, load: Arc<LiveLoad>) -> Self {
        Self { limits, load, by_user: Mutex::default() }
    }

    /// Room for a connection, if there is any.
    pub(super) fn connection(self: &Arc<Self>) -> Option<ConnectionPermit> {
        take(&self.load.connections, self.limits.connections_max).then(|| ConnectionPermit(Arc::clone(self)))
    }

    /// Room for a subscription. Somebody anonymous is bounded by the connection and by the process alone.
    pub(super) fn subscription(
        self: &Arc<Self>,
        user: Option<&str>,
    ) -> Result<SubscriptionPermit, LimitExceeded> {
        let is_taken = take(&self.load.subscriptions, self.limits.subscriptions_max);
        self.limits.subscriptions().unless(is_taken)?;
        let mut permit = SubscriptionPermit { permits: Arc::clone(self), user: None };
        if let Some(user) = user {
            let mut by_user = self.by_user.lock().unwrap_or_else(PoisonError::into_inner);
            let count = by_user.entry(user.to_owned()).or_default();
            self.limits.subscriptions_per_user().unless(*count < self.limits.subscriptions_per_user_max)?;
            *count += 1;
            permit.user = Some(user.to_owned());
        }
        Ok(permit)
    }
}

fn take(count: &AtomicUsize, limit: usize) -> bool {
    let taken = count
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| (count < limit).then_some(count + 1));
    taken.is_ok()
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.0.load.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for SubscriptionPermit {
    fn drop(&mut self) {
        self.permits.load.subscriptions.fetch_sub(1, Ordering::Relaxed);
        let Some(user) = self.user.take() else { return };
        let mut by_user = self.permits.by_user.lock().unwrap_or_else(PoisonError::into_inner);
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
        let first = permits.connection();
        assert!(first.is_some() && permits.connection().is_none());
        drop(first);
        assert!(permits.connection().is_some());
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
        assert!(permits.by_user.lock().unwrap().is_empty(), "nobody is remembered");
    }
}
