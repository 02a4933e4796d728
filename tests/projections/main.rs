//! The projections over the change feed processor and the embedded store: tests drain, and never sleep.

#[path = "../support/emulator.rs"]
mod emulator;
#[path = "../support/store.rs"]
mod store;

mod copies;
mod dead_letters;
mod deletions;
mod failing_store;
mod feed;
mod leases;
mod live;
mod notes;
mod renames;
mod world;
