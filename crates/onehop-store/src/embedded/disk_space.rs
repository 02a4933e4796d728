//! Disk space guard: refuses writes that would use up a reserve, so that the engine can flush committed
//! writes.

use std::sync::atomic::{AtomicBool, Ordering};

use super::engine_faults::RETRY_AFTER;
use super::store_files::StoreFiles;
use crate::{Fault, FaultKind};

/// The disk space of a commit, as a multiple of its bodies: the journal now, and tables later.
const BYTES_PER_BODY_BYTE: u64 = 3;

/// The least free space for opening an engine again after a full disk: it writes out its memory first.
const REOPENING_BYTES_MIN: u64 = 16 * 1024 * 1024;

/// Free space beyond the limit before writes are taken again, so that they are not taken and refused by
/// turns.
const ROOM_AGAIN_BYTES: u64 = 4 * 1024 * 1024;

/// The free space of the disk that holds a directory.
pub(super) struct DiskSpace {
    files: StoreFiles,
    reserve_bytes: u64,
    /// Whether the last write was refused.
    was_short: AtomicBool,
}

impl DiskSpace {
    pub(super) fn new(files: StoreFiles, reserve_bytes: u64) -> Self {
        Self { files, reserve_bytes, was_short: AtomicBool::new(false) }
    }

    /// Refuses a write of this many bytes that would leave less than the reserve. Where the system does not
    /// say how much is free, the write has to find out.
    ///
    /// # Errors
    /// A fault of kind [`FaultKind::Full`].
    pub(super) fn check(&self, body_bytes: usize) -> Result<(), Fault> {
        self.require(self.reserve_bytes.saturating_add(body_bytes as u64 * BYTES_PER_BODY_BYTE))
    }

    /// Refuses to open the engine again where it would soon fail again.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(super) fn check_for_reopening(&self) -> Result<(), Fault> {
        self.require(self.reserve_bytes.max(REOPENING_BYTES_MIN))
    }

    fn require(&self, wanted_bytes: u64) -> Result<(), Fault> {
        let Some(free_bytes) = self.files.free_bytes() else { return Ok(()) };
        let was_short = self.was_short.load(Ordering::Relaxed);
        let wanted_bytes =
            if was_short { wanted_bytes.saturating_add(ROOM_AGAIN_BYTES) } else { wanted_bytes };
        let is_short = free_bytes < wanted_bytes;
        if self.was_short.swap(is_short, Ordering::Relaxed) != is_short {
            let path = self.files.path().display();
            if is_short {
                tracing::error!(%path, free_bytes, "the disk is nearly full: writes are refused");
            } else {
                tracing::info!(%path, free_bytes, "the disk has room again: writes are taken");
            }
        }
        if !is_short {
            return Ok(());
        }
        let reserve_bytes = self.reserve_bytes;
        let message = format!(
            "the disk is nearly full: {free_bytes} bytes are free of {wanted_bytes} that are needed; \
             {reserve_bytes} are kept (--disk-reserve-mib)"
        );
        Err(Fault::new(FaultKind::Full, message).with_retry_after(RETRY_AFTER))
    }
}
