//! What is the Cosmos DB adapter's own, over Microsoft's in-memory emulator.

mod announcements;
mod dropped_lookups;
mod feed_start;
mod merges;
mod statuses;
