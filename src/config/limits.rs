//! What one request, one connection and all of them together may take. The defaults keep the promise that a refused
//! document costs next to nothing; larger ones are the operator's to measure.

use std::time::Duration;

use clap::Args;

use super::CallerSettings;
use onehop_graphql_server::content_coding::COMPRESS_BYTES_MIN;
use onehop_graphql_server::document_limits::{
    DOCUMENT_ALIASES_MAX, DOCUMENT_BYTES_MAX, DOCUMENT_DEPTH_MAX, DOCUMENT_DIRECTIVES_MAX,
    DOCUMENT_SELECTIONS_MAX, DOCUMENT_TOKENS_MAX, DocumentLimits, MUTATION_ROOT_FIELDS_MAX,
    QUERY_ROOT_FIELDS_MAX,
};
use onehop_graphql_server::endpoint::{REQUEST_TIMEOUT, RequestLimits};
use onehop_graphql_server::json_size::{
    VARIABLES_BYTES_MAX, VARIABLES_DEPTH_MAX, VARIABLES_VALUES_MAX, VariableLimits,
};
use onehop_graphql_server::pipeline::admit::{ConcurrencyLimits, EXECUTING_MAX, WAITING_MAX};
use onehop_graphql_server::pipeline::await_position::{POSITION_WAIT, PositionLimits};
use onehop_graphql_server::pipeline::parse::{BODY_BYTES_MAX, BODY_TIMEOUT, BodyLimits};
use onehop_graphql_server::response_limits::{
    RESPONSE_BYTES_MAX, RESPONSE_RU_PER_KIB, RESPONSES_IN_FLIGHT_BYTES_MAX, ResponseLimits,
};
use onehop_graphql_server::server::{
    CONNECTIONS_MAX, CONNECTIONS_PER_NETWORK_MAX, ConnectionLimits, HEADER_BYTES_MAX, HEADER_TIMEOUT,
    WRITE_TIMEOUT,
};
use onehop_graphql_server::service::COMPLEXITY_MAX;
use onehop_graphql_server::session_positions::SESSION_POSITIONS_MAX;

/// Settings of limits.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Limits of requests, responses and connections")]
pub struct LimitSettings {
    /// Document size limit: bytes of a GraphQL document. A longer one is refused with LIMIT_EXCEEDED before
    /// it is parsed
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_DOCUMENT_BYTES_MAX",
        default_value_t = DOCUMENT_BYTES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(100..=1_048_576)
    )]
    pub document_bytes_max: u32,

    /// Document token limit: tokens of a GraphQL document, with each fragment spread expanded. More are
    /// refused with LIMIT_EXCEEDED
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_DOCUMENT_TOKENS_MAX",
        default_value_t = DOCUMENT_TOKENS_MAX as u32,
        value_parser = clap::value_parser!(u32).range(10..=100_000)
    )]
    pub document_tokens_max: u32,

    /// Document depth limit: levels of nested selections. A deeper document is refused with LIMIT_EXCEEDED
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_DOCUMENT_DEPTH_MAX",
        default_value_t = DOCUMENT_DEPTH_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=32)
    )]
    pub document_depth_max: u32,

    /// Selection limit: fields and fragments that a document selects, with each fragment spread expanded.
    /// More are refused with LIMIT_EXCEEDED
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_DOCUMENT_SELECTIONS_MAX",
        default_value_t = DOCUMENT_SELECTIONS_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=100_000)
    )]
    pub document_selections_max: u32,

    /// Alias limit: aliases in a document. More are refused with LIMIT_EXCEEDED
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_DOCUMENT_ALIASES_MAX",
        default_value_t = DOCUMENT_ALIASES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(0..=100_000)
    )]
    pub document_aliases_max: u32,

    /// Directive limit: directives in a document. More are refused with LIMIT_EXCEEDED
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_DOCUMENT_DIRECTIVES_MAX",
        default_value_t = DOCUMENT_DIRECTIVES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(0..=100_000)
    )]
    pub document_directives_max: u32,

    /// Root field limit of a query. More are refused with LIMIT_EXCEEDED
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_QUERY_ROOT_FIELDS_MAX",
        default_value_t = QUERY_ROOT_FIELDS_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=1_000)
    )]
    pub query_root_fields_max: u32,

    /// Root field limit of a mutation, which is its number of commands. More are refused with LIMIT_EXCEEDED
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_MUTATION_ROOT_FIELDS_MAX",
        default_value_t = MUTATION_ROOT_FIELDS_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=1_000)
    )]
    pub mutation_root_fields_max: u32,

    /// Query complexity limit: fields that a request asks for. A field in a list counts as often as `first`
    /// says, the content of a post counts 20, that of a comment 2. A request above the limit is refused with
    /// LIMIT_EXCEEDED before it reads anything
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_COMPLEXITY_MAX",
        default_value_t = COMPLEXITY_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=10_000_000)
    )]
    pub complexity_max: u32,

    /// Variable size limit: bytes of the variables of a request as JSON, and likewise of its extensions. More
    /// are refused with LIMIT_EXCEEDED
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_VARIABLES_BYTES_MAX",
        default_value_t = VARIABLES_BYTES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(2..=16_777_216)
    )]
    pub variables_bytes_max: u32,

    /// Variable value limit: keys and values in the variables of a request. More are refused with
    /// LIMIT_EXCEEDED
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_VARIABLES_VALUES_MAX",
        default_value_t = VARIABLES_VALUES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub variables_values_max: u32,

    /// Variable depth limit: levels of lists and objects in the variables of a request. Deeper ones are
    /// refused with LIMIT_EXCEEDED
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_VARIABLES_DEPTH_MAX",
        default_value_t = VARIABLES_DEPTH_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=100)
    )]
    pub variables_depth_max: u32,

    /// Compression threshold: bytes from which the response of a query is compressed, for clients that accept
    /// gzip; 0 for no compression, for instance behind a proxy that compresses
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_COMPRESS_BYTES_MIN",
        default_value_t = COMPRESS_BYTES_MIN as u32,
        value_parser = clap::value_parser!(u32).range(0..=16_777_216)
    )]
    pub compress_bytes_min: u32,

    /// Response size limit: bytes of a response before compression. The field that exceeds it gets
    /// LIMIT_EXCEEDED
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_RESPONSE_BYTES_MAX",
        default_value_t = RESPONSE_BYTES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(16_384..=1_073_741_824)
    )]
    pub response_bytes_max: u32,

    /// Response memory limit (load shedding): bytes of all responses that are being built or sent. Large
    /// responses may take half of it. Beyond it requests get 503 with Retry-After
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_RESPONSES_IN_FLIGHT_BYTES_MAX",
        default_value_t = RESPONSES_IN_FLIGHT_BYTES_MAX as u64,
        value_parser = clap::value_parser!(u64).range(1_048_576..=1_099_511_627_776)
    )]
    pub responses_in_flight_bytes_max: u64,

    /// Quota charge of large responses: request units for each KiB of a response or event beyond the first 64
    /// KiB; 0 for none. It is charged to the quota of --caller-ru-per-second; `extensions.requestCharge`
    /// stays the charge of the store
    #[arg(
        long,
        value_name = "RU",
        env = "ONEHOP_RESPONSE_RU_PER_KIB",
        default_value_t = RESPONSE_RU_PER_KIB,
        value_parser = clap::value_parser!(u32).range(0..=1_000)
    )]
    pub response_ru_per_kib: u32,

    /// Request body size limit, in bytes, also after gzip is decoded. A larger body gets 413
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_BODY_BYTES_MAX",
        default_value_t = BODY_BYTES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(100..=16_777_216)
    )]
    pub body_bytes_max: u32,

    /// Request body timeout, in seconds. A body that takes longer gets 408
    #[arg(
        long,
        value_name = "SECONDS",
        env = "ONEHOP_BODY_SECONDS",
        default_value_t = BODY_TIMEOUT.as_secs() as u32,
        value_parser = clap::value_parser!(u32).range(1..=3600)
    )]
    pub body_seconds: u32,

    /// Request head size limit: bytes of the header and the URL. A longer head gets 431
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_HEADER_BYTES_MAX",
        default_value_t = HEADER_BYTES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(8192..=1_048_576)
    )]
    pub header_bytes_max: u32,

    /// Request head timeout and keep-alive timeout, in seconds: how long a head may take to arrive, and how
    /// long an idle connection is kept. Then the connection is closed
    #[arg(
        long,
        value_name = "SECONDS",
        env = "ONEHOP_HEADER_SECONDS",
        default_value_t = HEADER_TIMEOUT.as_secs() as u32,
        value_parser = clap::value_parser!(u32).range(1..=3600)
    )]
    pub header_seconds: u32,

    /// Write timeout, in seconds: how long a client may read nothing of a response. Then the connection is
    /// closed
    #[arg(
        long,
        value_name = "SECONDS",
        env = "ONEHOP_WRITE_SECONDS",
        default_value_t = WRITE_TIMEOUT.as_secs() as u32,
        value_parser = clap::value_parser!(u32).range(1..=3600)
    )]
    pub write_seconds: u32,

    /// Request timeout, in seconds from the head of a request to its response. Then it gets 503
    #[arg(
        long,
        value_name = "SECONDS",
        env = "ONEHOP_REQUEST_SECONDS",
        default_value_t = REQUEST_TIMEOUT.as_secs() as u32,
        value_parser = clap::value_parser!(u32).range(1..=3600)
    )]
    pub request_seconds: u32,

    /// Read-your-writes timeout, in milliseconds: how long a query waits until the read models reach the
    /// position that it names, or the last write of its user. Then it is answered with `extensions.reached:
    /// false`
    #[arg(
        long,
        value_name = "MILLISECONDS",
        env = "ONEHOP_POSITION_WAIT_MS",
        default_value_t = POSITION_WAIT.as_millis() as u32,
        value_parser = clap::value_parser!(u32).range(0..=30_000)
    )]
    pub position_wait_ms: u32,

    /// Session consistency: signed-in users whose last write this process remembers, so that their queries
    /// wait for it; 0 for none. Beyond the limit the least recent user is forgotten
    #[arg(
        long,
        value_name = "USERS",
        env = "ONEHOP_SESSION_POSITIONS_MAX",
        default_value_t = SESSION_POSITIONS_MAX as u32,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub session_positions_max: u32,

    /// Connection limit: connections served at once, beside WebSockets and event streams. Beyond it only
    /// health checks are answered, and other requests get 503
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_CONNECTIONS_MAX",
        default_value_t = CONNECTIONS_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub connections_max: u32,

    /// Connection limit of one network, which is an IPv4 address or a /64 of IPv6; 0 for no limit. Beyond it
    /// only health checks are answered. Not counted behind --trusted-proxies
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_CONNECTIONS_PER_NETWORK",
        default_value_t = CONNECTIONS_PER_NETWORK_MAX as u32,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub connections_per_network: u32,

    /// Concurrency limit: GraphQL requests that execute at once. Further ones wait in a queue, those of low
    /// complexity first
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_EXECUTING_MAX",
        default_value_t = EXECUTING_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=100_000)
    )]
    pub executing_max: u32,

    /// Queue limit (load shedding): GraphQL requests that wait for execution. Further ones get 503 with
    /// Retry-After
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_WAITING_MAX",
        default_value_t = WAITING_MAX as u32,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub waiting_max: u32,
}

impl LimitSettings {
    /// What one request may take, and what all of one caller.
    #[must_use]
    pub fn requests(&self, callers: &CallerSettings) -> RequestLimits {
        RequestLimits {
            body: BodyLimits {
                bytes_max: self.body_bytes_max as usize,
                timeout: seconds(self.body_seconds),
                variables: VariableLimits {
                    bytes_max: self.variables_bytes_max as usize,
                    values_max: self.variables_values_max as usize,
                    depth_max: self.variables_depth_max as usize,
                },
            },
            documents: self.documents(),
            admission: ConcurrencyLimits {
                executing_max: self.executing_max as usize,
                waiting_max: self.waiting_max as usize,
                complexity_max: self.complexity_max as usize,
            },
            callers: callers.limits(),
            positions: PositionLimits {
                wait_max: Duration::from_millis(u64::from(self.position_wait_ms)),
                sessions_max: self.session_positions_max as usize,
            },
            timeout: seconds(self.request_seconds),
            compress_bytes_min: self.compress_bytes_min as usize,
            responses: ResponseLimits {
                bytes_max: self.response_bytes_max as usize,
                in_flight_bytes_max: usize::try_from(self.responses_in_flight_bytes_max)
                    .unwrap_or(usize::MAX),
                ru_per_kib: self.response_ru_per_kib,
            },
        }
    }

    fn documents(&self) -> DocumentLimits {
        DocumentLimits {
            bytes_max: self.document_bytes_max as usize,
            depth_max: self.document_depth_max as usize,
            tokens_max: self.document_tokens_max as usize,
            selections_max: self.document_selections_max as usize,
            aliases_max: self.document_aliases_max as usize,
            directives_max: self.document_directives_max as usize,
            query_root_fields_max: self.query_root_fields_max as usize,
            mutation_root_fields_max: self.mutation_root_fields_max as usize,
        }
    }

    /// What connections may take.
    #[must_use]
    pub fn connections(&self) -> ConnectionLimits {
        ConnectionLimits {
            connections_max: self.connections_max as usize,
            connections_per_network_max: self.connections_per_network as usize,
            header_bytes_max: self.header_bytes_max as usize,
            header_timeout: seconds(self.header_seconds),
            write_timeout: seconds(self.write_seconds),
        }
    }
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(u64::from(seconds))
}
