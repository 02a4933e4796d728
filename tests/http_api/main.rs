//! GraphQL over HTTP: the whole application, the request pipeline, the schema, and several processes on one
//! account.

mod account;
mod api;
mod graphql;
mod hostile;
mod http;
mod planned_requests;
mod random_documents;
mod schema;
mod served;
#[path = "../support/mod.rs"]
mod support;
mod ticking_clock;
mod webstore;
