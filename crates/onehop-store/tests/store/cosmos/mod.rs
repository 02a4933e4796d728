//! Tests of the Cosmos DB adapter alone, over Microsoft's in-memory emulator.

mod announcements;
mod dropped_lookups;
mod feed_start;
mod merges;
mod statuses;
