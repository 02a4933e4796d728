//! Account model: an account of Azure Cosmos DB in memory, for a deterministic simulation. It implements the
//! store port as the adapter for Azure Cosmos DB does, the retries of that adapter included.
//!
//! Many simulated processes share an [`AccountModel`]. Each has an [`AccountStore`] for each consistency that
//! it reads with. The model keeps, for each physical partition, a log of commits with log sequence numbers
//! (LSN); reads of a lagging replica see a prefix of that log. Physical partitions split and merge on
//! request. An [`AccountFaults`] decides at each request how long it takes, how it fails, and how long its
//! write stays invisible to lagging replicas.
//!
//! The model has no threads, no randomness and no time of its own: it waits by `tokio::time::sleep` alone,
//! and reads the [`Clock`] that it is given. Each request has an await point before its effect and one after
//! it.
//!
//! [`Clock`]: onehop_runtime::clock::Clock

mod account;
mod charges;
mod client;
mod commits;
mod container;
mod faults;
mod feed;
mod feed_requests;
mod hash_range;
mod partition;
mod positions;
mod process;
mod queries;
mod read_view;
mod requests;
mod signals;
mod store;
#[cfg(test)]
mod tests;
mod writes;

pub use account::{AccountModel, CommittedWrite};
pub use faults::{
    AccountFaults, AccountRequest, FaultPoint, InjectedFault, NoFaults, Outcome, TimedOutWrite,
};
pub use read_view::ModelConsistency;
pub use store::AccountStore;
