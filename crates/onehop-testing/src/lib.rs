//! Test support that several packages share, and that knows no domain: an in-memory emulator of Azure Cosmos DB, stores that
//! fail or wait on request, file systems of a few mebibytes, and clients of subscriptions.

pub mod emulator;
pub mod event_stream;
pub mod failing_store;
pub mod small_disk;
pub mod stepped_store;
pub mod websocket;
