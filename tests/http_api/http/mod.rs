//! The HTTP side over real sockets, with a toy schema in place of the domain.

mod audits;
mod batches;
mod bodies;
mod browsers;
mod budgets;
pub mod client;
mod compression;
mod conditional;
mod conformance;
mod crowds;
mod events;
mod floods;
mod framing;
mod page_heads;
mod persisted;
mod plain_axum;
mod preparation;
mod routing;
mod sharing;
mod slow_clients;
mod slowness;
mod stopping;
mod toy;
mod unfinished_bodies;
mod websockets;
