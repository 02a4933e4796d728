//! The projections over the change feed processor and the embedded store: tests drain, and never sleep.

mod change_checkpoints;
mod closures;
mod copies;
mod dead_letters;
mod deletions;
mod feed;
mod leases;
mod live;
mod renames;
mod throttling;
mod world;
