//! The HTTP side: router, GraphQL over HTTP, GraphQL on connections that stay open, health, static files.
//!
//! A request enters at [`server`], is dispatched by [`router`], and when it is GraphQL is taken through
//! [`graphql_http`], or [`live`] where it stays open, to the [`GraphqlService`](graphql_service::GraphqlService) that the composition root
//! gives. Nothing here knows the domain, the schema's types or the store, save the
//! ledger of what a request was charged.

pub mod admission;
pub mod answer;
mod bearer;
pub mod callers;
pub mod client_address;
mod client_stream;
pub mod completion;
mod conditional;
mod connections;
mod content_coding;
pub mod cross_site;
pub mod document;
pub mod document_limits;
pub mod document_size;
pub mod etag;
pub mod graphql_http;
pub mod graphql_request;
pub mod graphql_response;
pub mod graphql_service;
pub mod health;
pub mod hosts;
mod impatient;
pub mod json_size;
pub mod limit_exceeded;
pub mod live;
pub mod media_type;
pub mod observer;
pub mod open_files;
pub mod persisted;
pub mod position_waits;
pub mod response_budget;
pub mod router;
pub mod security_headers;
pub mod server;
pub mod session_positions;
mod spent;
pub mod surroundings;
mod typename;
pub mod variables;
