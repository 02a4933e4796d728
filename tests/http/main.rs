//! The HTTP side over real sockets, with a toy schema in place of the domain.

mod audits;
mod client;
mod conformance;
mod routing;
mod stopping;
mod toy;
