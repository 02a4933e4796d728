//! The platform on Azure Cosmos DB when things go wrong: faults of the service at every kind of request,
//! physical partitions that split, processes that die. The other end is Microsoft's in-memory emulator.

mod account;
mod acts;
mod background;
mod faults;
mod instances;
mod requests;
mod soak;
mod splits;
mod tail;
mod world;
