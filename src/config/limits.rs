//! What one request, one connection and all of them together may take. The defaults keep the promise that a refused
//! document costs next to nothing; larger ones are the operator's to measure.

use std::time::Duration;

use clap::Args;

use super::CallerSettings;
use onehop_graphql_server::admission::{AdmissionLimits, EXECUTING_MAX, WAITING_MAX};
use onehop_graphql_server::answer::COMPRESS_BYTES_MIN;
use onehop_graphql_server::document_limits::{
    DOCUMENT_ALIASES_MAX, DOCUMENT_BYTES_MAX, DOCUMENT_DEPTH_MAX, DOCUMENT_DIRECTIVES_MAX,
    DOCUMENT_SELECTIONS_MAX, DOCUMENT_TOKENS_MAX, DocumentLimits, MUTATION_ROOT_FIELDS_MAX,
    QUERY_ROOT_FIELDS_MAX,
};
use onehop_graphql_server::graphql_http::{REQUEST_TIMEOUT, RequestLimits};
use onehop_graphql_server::graphql_request::{BATCH_MAX, BODY_BYTES_MAX, BODY_TIMEOUT, BodyLimits};
use onehop_graphql_server::graphql_service::COMPLEXITY_MAX;
use onehop_graphql_server::json_size::{
    VARIABLES_BYTES_MAX, VARIABLES_DEPTH_MAX, VARIABLES_VALUES_MAX, VariableLimits,
};
use onehop_graphql_server::position_waits::{POSITION_WAIT, PositionLimits};
use onehop_graphql_server::response_budget::{
    RESPONSE_BYTES_MAX, RESPONSE_RU_PER_KIB, RESPONSES_IN_FLIGHT_BYTES_MAX, ResponseLimits,
};
use onehop_graphql_server::server::{
    CONNECTIONS_MAX, CONNECTIONS_PER_NETWORK_MAX, ConnectionLimits, HEADER_BYTES_MAX, HEADER_TIMEOUT,
    WRITE_TIMEOUT,
};
use onehop_graphql_server::session_positions::SESSION_POSITIONS_MAX;

/// Settings of limits.
#[derive(Debug, Clone, Args)]
pub struct LimitSettings {
    /// Longest GraphQL document
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_DOCUMENT_BYTES_MAX",
        default_value_t = DOCUMENT_BYTES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(100..=1_048_576)
    )]
    pub document_bytes_max: u32,

    /// Tokens of a document, with its fragments written out
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_DOCUMENT_TOKENS_MAX",
        default_value_t = DOCUMENT_TOKENS_MAX as u32,
        value_parser = clap::value_parser!(u32).range(10..=100_000)
    )]
    pub document_tokens_max: u32,

    /// Levels of nested selections in a document
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_DOCUMENT_DEPTH_MAX",
        default_value_t = DOCUMENT_DEPTH_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=32)
    )]
    pub document_depth_max: u32,

    /// Fields and fragments that a document selects, with its fragments written out
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_DOCUMENT_SELECTIONS_MAX",
        default_value_t = DOCUMENT_SELECTIONS_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=100_000)
    )]
    pub document_selections_max: u32,

    /// Aliases in a document
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_DOCUMENT_ALIASES_MAX",
        default_value_t = DOCUMENT_ALIASES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(0..=100_000)
    )]
    pub document_aliases_max: u32,

    /// Directives in a document
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_DOCUMENT_DIRECTIVES_MAX",
        default_value_t = DOCUMENT_DIRECTIVES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(0..=100_000)
    )]
    pub document_directives_max: u32,

    /// Fields at the root of a query
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_QUERY_ROOT_FIELDS_MAX",
        default_value_t = QUERY_ROOT_FIELDS_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=1_000)
    )]
    pub query_root_fields_max: u32,

    /// Commands in one mutation
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_MUTATION_ROOT_FIELDS_MAX",
        default_value_t = MUTATION_ROOT_FIELDS_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=1_000)
    )]
    pub mutation_root_fields_max: u32,

    /// Fields that a request asks for, those of a list counted for each of its items
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_COMPLEXITY_MAX",
        default_value_t = COMPLEXITY_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=10_000_000)
    )]
    pub complexity_max: u32,

    /// Longest variables of a request, and longest extensions, as JSON
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_VARIABLES_BYTES_MAX",
        default_value_t = VARIABLES_BYTES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(2..=16_777_216)
    )]
    pub variables_bytes_max: u32,

    /// Keys and values in the variables of a request
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_VARIABLES_VALUES_MAX",
        default_value_t = VARIABLES_VALUES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub variables_values_max: u32,

    /// Levels of lists and objects in the variables of a request
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_VARIABLES_DEPTH_MAX",
        default_value_t = VARIABLES_DEPTH_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=100)
    )]
    pub variables_depth_max: u32,

    /// GraphQL requests that one HTTP request may hold; 0 for no batches
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_BATCH_MAX",
        default_value_t = BATCH_MAX as u32,
        value_parser = clap::value_parser!(u32).range(0..=100)
    )]
    pub batch_max: u32,

    /// Shortest answer of a query that is compressed; 0 for none, for instance behind a proxy that compresses
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_COMPRESS_BYTES_MIN",
        default_value_t = COMPRESS_BYTES_MIN as u32,
        value_parser = clap::value_parser!(u32).range(0..=16_777_216)
    )]
    pub compress_bytes_min: u32,

    /// Largest response, in bytes of its body before compression
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_RESPONSE_BYTES_MAX",
        default_value_t = RESPONSE_BYTES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(16_384..=1_073_741_824)
    )]
    pub response_bytes_max: u32,

    /// Bytes of all responses that are built or sent at once; more are answered with 503 and Retry-After
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_RESPONSES_IN_FLIGHT_BYTES_MAX",
        default_value_t = RESPONSES_IN_FLIGHT_BYTES_MAX as u64,
        value_parser = clap::value_parser!(u64).range(1_048_576..=1_099_511_627_776)
    )]
    pub responses_in_flight_bytes_max: u64,

    /// Request units that a caller's quota is charged for each KiB of a response beyond the first 64 KiB
    #[arg(
        long,
        value_name = "RU",
        env = "ONEHOP_RESPONSE_RU_PER_KIB",
        default_value_t = RESPONSE_RU_PER_KIB,
        value_parser = clap::value_parser!(u32).range(0..=1_000)
    )]
    pub response_ru_per_kib: u32,

    /// Largest body of a request
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_BODY_BYTES_MAX",
        default_value_t = BODY_BYTES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(100..=16_777_216)
    )]
    pub body_bytes_max: u32,

    /// Seconds that the body of a request may take to arrive
    #[arg(
        long,
        value_name = "SECONDS",
        env = "ONEHOP_BODY_SECONDS",
        default_value_t = BODY_TIMEOUT.as_secs() as u32,
        value_parser = clap::value_parser!(u32).range(1..=3600)
    )]
    pub body_seconds: u32,

    /// Longest head of a request, with its URL
    #[arg(
        long,
        value_name = "BYTES",
        env = "ONEHOP_HEADER_BYTES_MAX",
        default_value_t = HEADER_BYTES_MAX as u32,
        value_parser = clap::value_parser!(u32).range(8192..=1_048_576)
    )]
    pub header_bytes_max: u32,

    /// Seconds that the head of a request may take to arrive, and that an idle connection is kept
    #[arg(
        long,
        value_name = "SECONDS",
        env = "ONEHOP_HEADER_SECONDS",
        default_value_t = HEADER_TIMEOUT.as_secs() as u32,
        value_parser = clap::value_parser!(u32).range(1..=3600)
    )]
    pub header_seconds: u32,

    /// Seconds that a client may take nothing of an answer that is being sent
    #[arg(
        long,
        value_name = "SECONDS",
        env = "ONEHOP_WRITE_SECONDS",
        default_value_t = WRITE_TIMEOUT.as_secs() as u32,
        value_parser = clap::value_parser!(u32).range(1..=3600)
    )]
    pub write_seconds: u32,

    /// Seconds that a request may take from its head to its answer
    #[arg(
        long,
        value_name = "SECONDS",
        env = "ONEHOP_REQUEST_SECONDS",
        default_value_t = REQUEST_TIMEOUT.as_secs() as u32,
        value_parser = clap::value_parser!(u32).range(1..=3600)
    )]
    pub request_seconds: u32,

    /// Milliseconds that a query waits for the position that it names
    #[arg(
        long,
        value_name = "MILLISECONDS",
        env = "ONEHOP_POSITION_WAIT_MS",
        default_value_t = POSITION_WAIT.as_millis() as u32,
        value_parser = clap::value_parser!(u32).range(0..=30_000)
    )]
    pub position_wait_ms: u32,

    /// Session consistency: signed-in users whose last write is remembered, so that their queries wait for it; 0 for none
    #[arg(
        long,
        value_name = "USERS",
        env = "ONEHOP_SESSION_POSITIONS_MAX",
        default_value_t = SESSION_POSITIONS_MAX as u32,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub session_positions_max: u32,

    /// Connections that are served at once, beside those that stay open
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_CONNECTIONS_MAX",
        default_value_t = CONNECTIONS_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub connections_max: u32,

    /// Those of one network, which is an IPv4 address or a /64 of IPv6; 0 for any number. Not counted behind trusted
    /// proxies
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_CONNECTIONS_PER_NETWORK",
        default_value_t = CONNECTIONS_PER_NETWORK_MAX as u32,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub connections_per_network: u32,

    /// GraphQL requests that execute at once
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_EXECUTING_MAX",
        default_value_t = EXECUTING_MAX as u32,
        value_parser = clap::value_parser!(u32).range(1..=100_000)
    )]
    pub executing_max: u32,

    /// GraphQL requests that wait for that; more are answered with 503 and Retry-After
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
                batch_max: self.batch_max as usize,
                variables: VariableLimits {
                    bytes_max: self.variables_bytes_max as usize,
                    values_max: self.variables_values_max as usize,
                    depth_max: self.variables_depth_max as usize,
                },
            },
            documents: self.documents(),
            admission: AdmissionLimits {
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
