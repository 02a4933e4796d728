//! The HTTP side over real sockets, with a toy schema in place of the domain.

mod audits;
mod batches;
mod bodies;
mod browsers;
mod budgets;
mod client;
mod compression;
mod conditional;
mod conformance;
mod crowds;
#[path = "../support/event_stream.rs"]
mod event_stream;
mod events;
mod floods;
mod page_heads;
mod persisted;
mod routing;
mod sharing;
mod slow_clients;
mod slowness;
mod stopping;
mod toy;
#[path = "../support/websocket.rs"]
mod websocket;
mod websockets;
