//! The contract of the store port, written against the port alone and run over every adapter.
//!
//! A test is a function over a [`harness::Subject`]. `contract.rs` lists the tests and runs each over each
//! adapter; `adapters.rs` is the only file that knows an adapter. A test that needs an optional capability
//! (to be reopened, to have its time moved) asks for it and passes where it is missing.

mod adapters;
mod batches;
mod concurrency;
mod expiry;
mod feed;
mod feed_faults;
mod harness;
mod items;
mod ledger;
mod limits;
mod model;
mod paging;
mod preconditions;
mod queries;
mod short_lists;
#[cfg(feature = "simulation")]
mod simulated;
mod suite;
mod texts;
