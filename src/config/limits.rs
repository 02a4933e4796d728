//! Limit settings: the limits that depend on the machine, on the proxy before it, or on the clients'
//! documents. All other limits are constants of the GraphQL server.

use std::time::Duration;

use clap::Args;

use super::{CallerSettings, number};
use crate::app::LIVE_POLL_DEFAULT;
use onehop_graphql_server::body_memory::BODIES_IN_FLIGHT_BYTES_MAX;
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::live::LiveLimits;
use onehop_graphql_server::pipeline::admit::{ConcurrencyLimits, EXECUTING_MAX};
use onehop_graphql_server::pipeline::parse::{BODY_BYTES_PER_SECOND_MIN, BodyLimits};
use onehop_graphql_server::response_limits::{RESPONSES_IN_FLIGHT_BYTES_MAX, ResponseLimits};
use onehop_graphql_server::server::{
    CONNECTIONS_MAX, CONNECTIONS_PER_NETWORK_MAX, ConnectionLimits, HEADER_TIMEOUT,
};
use onehop_graphql_server::service::COMPLEXITY_MAX;

/// Settings of limits.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Limits of requests and connections")]
pub struct LimitSettings {
    /// Query complexity limit: fields that a request asks for. A field in a list counts as often as `first`
    /// says, the content of a post counts 20, the content of a comment 2. A request above the limit is
    /// refused with LIMIT_EXCEEDED before it reads anything
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_COMPLEXITY_MAX",
        default_value_t = COMPLEXITY_MAX,
        value_parser = number(1..=10_000_000)
    )]
    pub complexity_max: usize,

    /// Concurrency limit: GraphQL requests that execute at once. Further requests wait in a queue, low
    /// complexity first
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_EXECUTING_MAX",
        default_value_t = EXECUTING_MAX,
        value_parser = number(1..=100_000)
    )]
    pub executing_max: usize,

    /// Response memory limit (load shedding): bytes of all responses that are being built or sent. Large
    /// responses may take half of it. Beyond it requests get 503 with Retry-After
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_RESPONSES_IN_FLIGHT_BYTES_MAX",
        default_value_t = RESPONSES_IN_FLIGHT_BYTES_MAX,
        value_parser = number(1_048_576..=1_099_511_627_776)
    )]
    pub responses_in_flight_bytes_max: usize,

    /// Body memory limit (load shedding): bytes of all request bodies that are being read or worked on,
    /// beyond the first 8 KiB of each; an eighth of them for one network, which is an IPv4 address or a /64
    /// of IPv6. Beyond it requests get 503 with Retry-After
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_BODIES_IN_FLIGHT_BYTES_MAX",
        default_value_t = BODIES_IN_FLIGHT_BYTES_MAX,
        value_parser = number(8_388_608..=1_099_511_627_776)
    )]
    pub bodies_in_flight_bytes_max: usize,

    /// Minimum rate of a request body, in bytes a second; 0 for none. A body that brings nothing for 5
    /// seconds, or less than this for longer, gets 408
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_BODY_BYTES_PER_SECOND_MIN",
        default_value_t = BODY_BYTES_PER_SECOND_MIN,
        value_parser = clap::value_parser!(u32).range(0..=1_048_576)
    )]
    pub body_bytes_per_second_min: u32,

    /// Request head timeout and keep-alive timeout, in seconds: how long a head may take to arrive, and how
    /// long an idle connection is kept. Then the connection is closed. A reverse proxy must close its idle
    /// connections earlier
    #[arg(
        long,
        value_name = "SECONDS",
        env = "ONEHOP_HEADER_SECONDS",
        default_value_t = HEADER_TIMEOUT.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    pub header_seconds: u64,

    /// Connection limit: connections served at once, beside WebSockets and event streams. Beyond it only
    /// health checks are answered, and other requests get 503
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_CONNECTIONS_MAX",
        default_value_t = CONNECTIONS_MAX,
        value_parser = number(1..=1_000_000)
    )]
    pub connections_max: usize,

    /// Connection limit of one network, which is an IPv4 address or a /64 of IPv6; 0 for no limit. Beyond it
    /// only health checks are answered. Not counted behind --trusted-proxies. WebSockets and event streams
    /// have the same limit beside it, also behind proxies; further ones get 429. With 0 a network also has no
    /// limit of subscriptions, which is otherwise an eighth of all
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_CONNECTIONS_PER_NETWORK",
        default_value_t = CONNECTIONS_PER_NETWORK_MAX,
        value_parser = number(0..=1_000_000)
    )]
    pub connections_per_network: usize,
}

/// Settings of subscriptions.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Subscriptions over WebSocket and server-sent events")]
pub struct SubscriptionSettings {
    /// Limit of WebSockets and event streams that are open at once, beside --connections-max. Further ones
    /// get 503. Together they may have 2.5 times as many subscriptions, a network an eighth of them. Each
    /// takes a file descriptor: the soft limit of open files is raised to the hard one (`ulimit -Hn`) at the
    /// start
    #[arg(
        long = "live-connections",
        value_name = "NUMBER",
        env = "ONEHOP_LIVE_CONNECTIONS",
        default_value_t = LiveLimits::default().connections_max,
        value_parser = number(1..=1_000_000)
    )]
    pub connections: usize,

    /// Poll interval of the change feed for subscriptions, in milliseconds, with --store cosmos. Nothing is
    /// polled without a subscriber. Each poll is charged about 1 RU for each physical partition
    #[arg(
        long = "live-poll-ms",
        value_name = "MILLISECONDS",
        env = "ONEHOP_LIVE_POLL_MS",
        default_value_t = LIVE_POLL_DEFAULT.as_millis() as u64,
        value_parser = clap::value_parser!(u64).range(10..=3_600_000)
    )]
    pub poll_ms: u64,
}

impl LimitSettings {
    /// The limits of one request.
    #[must_use]
    pub fn requests(&self, callers: &CallerSettings) -> RequestLimits {
        RequestLimits {
            body: BodyLimits {
                bytes_per_second_min: self.body_bytes_per_second_min,
                ..BodyLimits::default()
            },
            bodies_in_flight_bytes_max: self.bodies_in_flight_bytes_max,
            admission: ConcurrencyLimits {
                executing_max: self.executing_max,
                complexity_max: self.complexity_max,
                ..ConcurrencyLimits::default()
            },
            callers: callers.limits(),
            responses: ResponseLimits {
                in_flight_bytes_max: self.responses_in_flight_bytes_max,
                ..ResponseLimits::default()
            },
            ..RequestLimits::default()
        }
    }

    /// The limits of connections.
    #[must_use]
    pub fn connections(&self) -> ConnectionLimits {
        ConnectionLimits {
            connections_max: self.connections_max,
            connections_per_network_max: self.connections_per_network,
            header_timeout: Duration::from_secs(self.header_seconds),
            ..ConnectionLimits::default()
        }
    }

    /// The limits of WebSockets and event streams.
    #[must_use]
    pub fn live(&self, settings: &SubscriptionSettings) -> LiveLimits {
        let limits = LiveLimits {
            connections_max: settings.connections,
            connections_per_network_max: self.connections_per_network,
            ..LiveLimits::default()
        };
        let limits = limits.with_subscriptions(settings.connections * 5 / 2);
        if self.connections_per_network == 0 { limits.without_network_limits() } else { limits }
    }
}

impl SubscriptionSettings {
    /// The poll interval of the change feed.
    #[must_use]
    pub fn poll(&self) -> Duration {
        Duration::from_millis(self.poll_ms)
    }
}
