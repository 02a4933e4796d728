//! Promises of the embedded store beyond the port: its directory, its durability, and the ends of its
//! process.

mod backup;
mod charges;
mod check;
mod crash;
mod damage;
mod directory;
mod edits;
mod flushes;
mod full;
mod group_commit;
pub mod harness;
mod log_archive;
mod lost;
mod read_caches;
