//! Maintenance of an open store: figures of its directory, the high-water mark, observers of commits, and the
//! purge of expired items.

use std::path::Path;
use std::sync::Arc;

use futures::future::join_all;

use super::durability::Blocks;
use super::keys;
use super::opened_after::OpenedAfter;
use super::reader;
use super::store::{EmbeddedStore, fault_of};
use super::write_requests::{ItemChange, WriteOperation};
use super::writer_counters::Statistics;
use crate::{Fault, FaultKind, StoreObserver};

/// Expired items that wait for the writer at the same time.
const PURGES_AT_ONCE: usize = 256;

impl EmbeddedStore {
    /// The directory that holds the data.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Whether the storage engine is open: after a failed write that no opening cured it is closed, and reads
    /// fail, too.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.engine.view().is_ok()
    }

    /// The state in which the last process left the directory.
    #[must_use]
    pub fn opened_after(&self) -> OpenedAfter {
        self.opened_after
    }

    /// The bytes that the data takes on the disk.
    ///
    /// # Errors
    /// A fault when the engine cannot say.
    pub fn disk_bytes(&self) -> Result<u64, Fault> {
        self.engine.disk_bytes()
    }

    /// The bytes that are free for this process on the disk that holds the data; `None` where the system does
    /// not say.
    #[must_use]
    pub fn disk_free_bytes(&self) -> Option<u64> {
        self.directory.files().free_bytes()
    }

    /// The bytes that are to stay free there.
    #[must_use]
    pub fn disk_reserve_bytes(&self) -> u64 {
        self.disk_reserve_bytes
    }

    /// Bytes of writes that are durable in the journal and not yet written out of memory.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.engine.memory_bytes()
    }

    /// Blocks of its files that reads have needed since the store was opened.
    #[must_use]
    pub fn blocks(&self) -> Blocks {
        self.engine.blocks()
    }

    /// Writes the high-water mark, by which a journal that goes missing later is noticed. Blocks for two
    /// fsyncs.
    ///
    /// # Errors
    /// It cannot be written; the mark before stays.
    pub fn write_high_water(&self) -> Result<(), Fault> {
        self.high_water.write(&self.engine).map(drop)
    }

    /// Copies the acknowledged commits into the log archive, if there is one. Blocks for an fsync.
    ///
    /// # Errors
    /// The archive cannot be written, or commits are missing in it. The next call goes on.
    pub fn archive_log(&self) -> Result<(), Fault> {
        let Some(archiver) = &self.archiver else { return Ok(()) };
        if self.engine.is_journal_suspect() {
            let reason = "the log is not archived: the journal may not be on the disk";
            return Err(Fault::new(FaultKind::Internal, reason));
        }
        // In this order: the archive has every commit that was acknowledged before this time.
        let now_ms = self.clock.now_ms();
        let acknowledged = self.high_water.acknowledged().last_commit;
        let copied = archiver.lock().copy(acknowledged, now_ms);
        copied.map_err(|error| Fault::new(FaultKind::Internal, format!("the log is not archived: {error}")))
    }

    /// Acknowledged commits that the log archive lacks; `None` without an archive.
    #[must_use]
    pub fn unarchived_commits(&self) -> Option<u64> {
        let acknowledged = self.high_water.acknowledged().last_commit;
        let archived = self.archiver.as_ref()?.lock().last_commit();
        Some(acknowledged.saturating_sub(archived))
    }

    /// The age of the time up to which the log archive has every acknowledged commit, in ms; `None` without
    /// an archive.
    #[must_use]
    pub fn archive_age_ms(&self) -> Option<i64> {
        let until_ms = self.archiver.as_ref()?.lock().until_ms();
        Some(self.clock.now_ms().saturating_sub(until_ms).max(0))
    }

    /// Has observers hear of commits; the first ones stay.
    pub fn observe_commits(&self, observers: Arc<[Arc<dyn StoreObserver>]>) {
        self.counters.observe(observers);
    }

    /// Statistics of the writer since the store was opened.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.counters.statistics()
    }

    /// Deletes up to `at_most` items whose time is over, and returns how many. They were invisible before.
    ///
    /// # Errors
    /// A fault of the engine.
    pub async fn purge_expired(&self, at_most: usize) -> Result<usize, Fault> {
        let expired = reader::expired(&self.engine, self.clock.now_ms(), at_most)?;
        let mut purged = 0;
        for chunk in expired.chunks(PURGES_AT_ONCE) {
            // Together in the writer's queue, so that they share commits.
            let purges = chunk.iter().map(|(container, partition_key, id)| {
                let operations = vec![WriteOperation { id: id.clone(), change: ItemChange::Purge }];
                let physical = keys::physical_partition(partition_key, self.partitions);
                self.submit(*container, partition_key.clone(), physical, operations)
            });
            for outcome in join_all(purges).await {
                match outcome.map_err(fault_of) {
                    Ok(_) => purged += 1,
                    // It is invisible already, and `onehop check` names it.
                    Err(fault) if fault.kind == FaultKind::Corrupt => {
                        tracing::warn!(error = %fault, "a damaged item that has expired was not deleted");
                    }
                    Err(fault) => return Err(fault),
                }
            }
        }
        Ok(purged)
    }
}
