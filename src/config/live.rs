//! Subscription settings: limits on open connections and on their events.

use std::time::Duration;

use clap::Args;

use crate::app::LIVE_POLL_DEFAULT;
use onehop_graphql_server::live::{
    CONNECTIONS_MAX_DEFAULT, CONNECTIONS_PER_NETWORK_MAX_DEFAULT, CONTROL_FRAMES_PER_SECOND_MAX_DEFAULT,
    LiveLimits, OPERATIONS_PER_CONNECTION_MAX_DEFAULT, RESULTS_WAITING_BYTES_MAX, SUBSCRIPTIONS_MAX_DEFAULT,
    SUBSCRIPTIONS_PER_USER_MAX_DEFAULT, UNFINISHED_BYTES_MAX_DEFAULT,
};

/// Settings of subscriptions.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Subscriptions over WebSocket and server-sent events")]
pub struct SubscriptionSettings {
    /// Limit of WebSockets and event streams that are open at once, beside --connections-max. Further ones
    /// get 503. Each takes a file descriptor: the soft limit of open files is raised to the hard one (`ulimit
    /// -Hn`) at the start
    #[arg(
        long = "live-connections",
        value_name = "NUMBER",
        env = "ONEHOP_LIVE_CONNECTIONS",
        default_value_t = CONNECTIONS_MAX_DEFAULT as u32,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub connections: u32,

    /// Limit of WebSockets and event streams of one network, which is an IPv4 address or a /64 of IPv6; 0 for
    /// no limit. Further ones get 429
    #[arg(
        id = "live_connections_per_network",
        long = "live-connections-per-network",
        value_name = "NUMBER",
        env = "ONEHOP_LIVE_CONNECTIONS_PER_NETWORK",
        default_value_t = CONNECTIONS_PER_NETWORK_MAX_DEFAULT as u32,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub connections_per_network: u32,

    /// Rate limit of control frames: pings and pongs that one WebSocket may send in a second. More close it
    /// with 1008
    #[arg(
        long = "live-control-frames-per-second",
        value_name = "NUMBER",
        env = "ONEHOP_LIVE_CONTROL_FRAMES_PER_SECOND",
        default_value_t = CONTROL_FRAMES_PER_SECOND_MAX_DEFAULT,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub control_frames_per_second: u32,

    /// Memory limit of incomplete messages: bytes of all WebSockets, beyond 8 KiB of each. One network may
    /// have an eighth of it. A WebSocket beyond it is closed with 1013
    #[arg(
        long = "live-unfinished-bytes",
        value_name = "BYTES",
        env = "ONEHOP_LIVE_UNFINISHED_BYTES",
        default_value_t = UNFINISHED_BYTES_MAX_DEFAULT as u64,
        value_parser = clap::value_parser!(u64).range(1_048_576..=1_099_511_627_776)
    )]
    pub unfinished_bytes: u64,

    /// Subscription limit of the process. Further subscriptions get LIMIT_EXCEEDED
    #[arg(
        long = "live-subscriptions",
        value_name = "NUMBER",
        env = "ONEHOP_LIVE_SUBSCRIPTIONS",
        default_value_t = SUBSCRIPTIONS_MAX_DEFAULT as u32,
        value_parser = clap::value_parser!(u32).range(1..=10_000_000)
    )]
    pub subscriptions: u32,

    /// Subscription limit of one user, over all connections. Further subscriptions get LIMIT_EXCEEDED
    #[arg(
        long = "live-subscriptions-per-user",
        value_name = "NUMBER",
        env = "ONEHOP_LIVE_SUBSCRIPTIONS_PER_USER",
        default_value_t = SUBSCRIPTIONS_PER_USER_MAX_DEFAULT as u32,
        value_parser = clap::value_parser!(u32).range(1..=10_000_000)
    )]
    pub subscriptions_per_user: u32,

    /// Concurrency limit of one WebSocket: operations at once, subscriptions among them. Further ones get
    /// LIMIT_EXCEEDED
    #[arg(
        long = "live-operations-per-connection",
        value_name = "NUMBER",
        env = "ONEHOP_LIVE_OPERATIONS_PER_CONNECTION",
        default_value_t = OPERATIONS_PER_CONNECTION_MAX_DEFAULT as u32,
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub operations_per_connection: u32,

    /// Backpressure limit: bytes of the results of a subscription that wait for slow clients. A client that
    /// is further behind is disconnected with 1013
    #[arg(
        long = "live-results-bytes-max",
        value_name = "BYTES",
        env = "ONEHOP_LIVE_RESULTS_BYTES_MAX",
        default_value_t = RESULTS_WAITING_BYTES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(16_384..=1_073_741_824)
    )]
    pub results_bytes_max: u32,

    /// Poll interval of the change feed for subscriptions, in milliseconds, with --store cosmos. Nothing is
    /// polled without a subscriber. Each poll is charged about 1 RU for each physical partition
    #[arg(
        long = "live-poll-ms",
        value_name = "MILLISECONDS",
        env = "ONEHOP_LIVE_POLL_MS",
        default_value_t = LIVE_POLL_DEFAULT.as_millis() as u32,
        value_parser = clap::value_parser!(u32).range(10..=3_600_000)
    )]
    pub poll_ms: u32,
}

impl SubscriptionSettings {
    /// How much connections that stay open may take.
    #[must_use]
    pub fn limits(&self) -> LiveLimits {
        LiveLimits {
            connections_max: self.connections as usize,
            connections_per_network_max: self.connections_per_network as usize,
            control_frames_per_second_max: self.control_frames_per_second,
            unfinished_bytes_max: usize::try_from(self.unfinished_bytes).unwrap_or(usize::MAX),
            subscriptions_max: self.subscriptions as usize,
            subscriptions_per_user_max: self.subscriptions_per_user as usize,
            operations_per_connection_max: self.operations_per_connection as usize,
            results_waiting_bytes_max: self.results_bytes_max as usize,
            ..LiveLimits::default()
        }
    }

    /// Between two looks at what other processes have written.
    #[must_use]
    pub fn poll(&self) -> Duration {
        Duration::from_millis(u64::from(self.poll_ms))
    }
}
