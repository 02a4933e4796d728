//! The HTTP side over real sockets, with a toy schema in place of the domain.

mod audits;
mod batches;
mod browsers;
mod client;
mod conformance;
mod crowds;
mod routing;
mod slow_clients;
mod stopping;
mod toy;
