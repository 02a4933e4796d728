//! Limits of connections that stay open: how many there may be, and how much each may take.

use std::time::Duration;

use super::caller_shares::PART;
use crate::limit_exceeded::LimitExceeded;

/// Subscriptions at once.
const SUBSCRIPTIONS_MAX: usize = 50_000;

/// Bytes of all subscriptions that differ.
const DIFFERENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The limits of connections that stay open.
#[derive(Debug, Clone, Copy)]
pub struct LiveLimits {
    /// WebSockets and event streams that are open at once.
    pub connections_max: usize,
    /// Connections of one network; 0 for any number.
    pub connections_per_network_max: usize,
    /// Pings and pongs of one WebSocket in a second.
    pub control_frames_per_second_max: u32,
    /// Bytes of the messages of all WebSockets that are not complete, beyond the first 8 KiB of each; an
    /// eighth of them for one network.
    pub unfinished_bytes_max: usize,
    /// Subscriptions at once. Anonymous callers leave an eighth of them to users.
    pub subscriptions_max: usize,
    /// Subscriptions of the anonymous callers of one network, and again of its users; 0 for any number.
    pub subscriptions_per_network_max: usize,
    pub subscriptions_per_user_max: usize,
    /// Operations of one WebSocket that run at once, subscriptions among them.
    pub operations_per_connection_max: usize,
    /// Bytes of the document, the variables and the extensions of a subscription.
    pub subscription_bytes_max: usize,
    /// Bytes of the texts of all different subscriptions. Each takes tens of times its text while it runs.
    /// Anonymous callers leave an eighth of them to users.
    pub different_bytes_max: usize,
    /// Bytes of the different subscriptions that the anonymous callers of one network have begun, and again
    /// its users; 0 for any number.
    pub different_bytes_per_network_max: usize,
    /// Results of a subscription that are kept for slow subscribers.
    pub results_waiting_max: usize,
    /// Bytes of those results. The newest result waits however large it is.
    pub results_waiting_bytes_max: usize,
    /// For how long results may be held back for slow subscribers, before they lose the connection.
    pub patience: Duration,
    /// Timeout of a client's `connection_init`.
    pub init_timeout: Duration,
    /// Between two signs of life. A WebSocket whose client gives no sign of life between two of the server's
    /// is dropped.
    pub keep_alive: Duration,
    /// Timeout of a client's answer to the closing of its WebSocket.
    pub close_timeout: Duration,
}

impl Default for LiveLimits {
    fn default() -> Self {
        Self {
            connections_max: 20_000,
            connections_per_network_max: 1_000,
            control_frames_per_second_max: 20,
            unfinished_bytes_max: 64 * 1024 * 1024,
            subscriptions_max: SUBSCRIPTIONS_MAX,
            subscriptions_per_network_max: SUBSCRIPTIONS_MAX / PART,
            subscriptions_per_user_max: 200,
            operations_per_connection_max: 100,
            subscription_bytes_max: 8 * 1024,
            different_bytes_max: DIFFERENT_BYTES_MAX,
            different_bytes_per_network_max: DIFFERENT_BYTES_MAX / PART,
            results_waiting_max: 64,
            results_waiting_bytes_max: 4 * 1024 * 1024,
            patience: Duration::from_secs(2),
            // The value of the protocol's own implementation.
            init_timeout: Duration::from_secs(3),
            keep_alive: Duration::from_secs(20),
            close_timeout: Duration::from_secs(5),
        }
    }
}

impl LiveLimits {
    /// The same for this many subscriptions, of which a network has its part.
    #[must_use]
    pub fn with_subscriptions(self, subscriptions_max: usize) -> Self {
        Self { subscriptions_max, subscriptions_per_network_max: (subscriptions_max / PART).max(1), ..self }
    }

    /// The same without limits for one network, as where all clients have one address.
    #[must_use]
    pub fn without_network_limits(self) -> Self {
        Self {
            connections_per_network_max: 0,
            subscriptions_per_network_max: 0,
            different_bytes_per_network_max: 0,
            ..self
        }
    }

    pub(super) fn subscriptions(&self) -> LimitExceeded {
        let what = "The server does not take more than";
        LimitExceeded::new("live-subscriptions", self.subscriptions_max, what, "subscriptions at once")
    }

    pub(super) fn connections_per_network(&self) -> LimitExceeded {
        let (max, what) = (self.connections_per_network_max, "A network may not have more than");
        LimitExceeded::new("live-connections-per-network", max, what, "open connections at once")
    }

    pub(super) fn subscriptions_per_network(&self) -> LimitExceeded {
        let (max, what) = (self.subscriptions_per_network_max, "A network may not have more than");
        LimitExceeded::new("live-subscriptions-per-network", max, what, "subscriptions at once")
    }

    pub(super) fn subscriptions_per_user(&self) -> LimitExceeded {
        let (max, what) = (self.subscriptions_per_user_max, "A user may not have more than");
        LimitExceeded::new("live-subscriptions-per-user", max, what, "subscriptions at once")
    }

    pub(super) fn operations_per_connection(&self) -> LimitExceeded {
        let (max, what) = (self.operations_per_connection_max, "A connection may not have more than");
        LimitExceeded::new("live-operations-per-connection", max, what, "operations at once")
    }

    pub(super) fn subscription_bytes(&self) -> LimitExceeded {
        let (max, what) = (self.subscription_bytes_max, "A subscription may not have more than");
        LimitExceeded::new("subscription-bytes", max, what, "bytes of document, variables and extensions")
    }

    pub(super) fn different_bytes(&self) -> LimitExceeded {
        let (max, what) = (self.different_bytes_max, "The server does not take more than");
        LimitExceeded::new("different-subscriptions-bytes", max, what, "bytes of subscriptions that differ")
    }

    pub(super) fn different_bytes_per_network(&self) -> LimitExceeded {
        let (max, what) = (self.different_bytes_per_network_max, "A network may not have more than");
        let limit = "different-subscriptions-bytes-per-network";
        LimitExceeded::new(limit, max, what, "bytes of subscriptions that differ")
    }
}
