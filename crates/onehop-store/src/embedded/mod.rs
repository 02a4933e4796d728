//! The embedded adapter: a document store on an LSM tree (fjall 3) in one directory, for one process.
//!
//! One thread writes; it commits an item, its index entries and its change log entry at once, and concurrent
//! commits share one fsync. Reads run where they are called, on a snapshot: they take microseconds where the
//! data is in the cache, and a disk read where it is not. Physical partitions are modelled: items are placed
//! by a hash of their partition key, and a query without a partition key visits every one. Request charges
//! are estimates.

mod backup;
mod backup_manifest;
mod cached_reads;
mod change_signals;
mod check;
mod confirmed_reads;
mod database;
mod description;
mod directory;
mod disk_space;
mod durability;
mod edits;
mod engine;
mod engine_chores;
mod engine_faults;
mod feed;
mod file_snapshot;
mod fjall_engine;
mod header;
mod high_water;
mod high_water_mark;
mod index_recovery;
mod integrity_check;
mod item_changes;
mod item_entries;
mod journal_files;
mod journal_rewrite;
mod key_space;
mod keys;
mod layout;
mod lineage;
mod log_archive;
mod maintenance;
mod open;
mod open_error;
mod opened_after;
mod phase_timer;
mod queries;
mod read_caches;
mod reader;
mod recover;
mod reindex;
mod reopenings;
mod salvage;
#[cfg(feature = "simulation")]
pub mod simulated;
mod store;
mod store_files;
mod stored_container;
mod tombstone_hints;
mod write_requests;
mod writer;
mod writer_counters;

pub use backup::{BackupError, RestoreLog, Restored, restore};
pub use backup_manifest::BackupManifest;
pub use check::check_directory;
pub use confirmed_reads::ConfirmedReads;
pub use description::{DirectoryDescription, describe_directory};
pub use durability::{Blocks, Durability};
pub use integrity_check::IntegrityReport;
pub use log_archive::{ARCHIVE_KEPT_DEFAULT, LogArchiveConfig};
pub use open::{
    DISK_RESERVE_BYTES_DEFAULT, EmbeddedConfig, PHYSICAL_PARTITIONS_DEFAULT, PHYSICAL_PARTITIONS_MAX,
};
pub use open_error::{LostWrites, OpenError};
pub use opened_after::OpenedAfter;
pub use recover::{Recovery, recover, recover_entries};
pub use salvage::{ItemFate, LostItem, read_lost_items, write_lost_items};
pub use store::EmbeddedStore;
pub use writer_counters::Statistics;
