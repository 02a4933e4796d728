//! The projections over the change feed processor and the embedded store: tests drain, and never sleep.

#[path = "../support/emulator.rs"]
mod emulator;
#[path = "../support/store.rs"]
mod store;

mod change_checkpoints;
mod copies;
mod dead_letters;
mod deletions;
mod failing_store;
mod feed;
mod leases;
mod live;
mod renames;
mod world;
