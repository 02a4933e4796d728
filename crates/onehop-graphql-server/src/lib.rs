//! A GraphQL server for async-graphql on axum: GraphQL over HTTP, WebSocket and server-sent events, with
//! limits and rate limits.
//!
//! A connection is accepted by [`server`]; [`router`] dispatches a request through the [`middleware`]. A
//! GraphQL request passes the stages of the [`pipeline`], from [`endpoint`] or, where it stays open, from
//! [`live`], to the [`GraphqlService`](service::GraphqlService) that the program gives. The crate knows no
//! domain and no store, and of the schema only the types of its SDL.

#![doc = include_str!("../README.md")]

pub mod authentication;
pub mod body_memory;
pub mod caller;
pub mod client_address;
mod client_stream;
mod compiled_operations;
mod conditional_requests;
mod connection_limits;
pub mod content_coding;
pub mod csrf;
pub mod document;
pub mod document_cache;
pub mod document_limits;
pub mod document_size;
pub mod document_text;
pub mod endpoint;
pub mod etag;
pub mod fair_queue;
pub mod health;
pub mod host_allowlist;
pub mod input_path;
pub mod json_length;
pub mod json_size;
mod known_names;
pub mod limit_exceeded;
pub mod live;
pub mod live_directive;
pub mod media_type;
mod metrics_format;
pub mod middleware;
mod nested_variables;
mod null_propagation;
pub mod observer;
pub mod open_files;
pub mod pipeline;
pub mod position;
pub mod quota;
pub mod refusal;
mod representation;
mod request_framing;
pub mod request_id;
mod response;
pub mod response_budget;
pub mod response_limits;
pub mod router;
pub mod schema_index;
pub mod schema_service;
pub mod security_headers;
pub mod selections;
pub mod server;
pub mod service;
pub mod session_positions;
mod shared_limit;
pub mod side_endpoint;
mod syntax_error;
pub mod trusted_documents;
mod typename;
pub mod variable_coercion;
pub mod write_watch;
pub mod written_response;
