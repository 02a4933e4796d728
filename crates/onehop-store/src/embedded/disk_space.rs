//! Disk space guard: refuses writes that would use up a reserve, so that the engine can flush committed
//! writes.

use std::time::Duration;

use tokio::time::Instant;

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

/// Free space beyond the wanted bytes with which one look serves all commits of [`LOOK_INTERVAL`]. With less,
/// each commit looks: other programs and the engine's own work take space, too.
const AMPLE_BYTES: u64 = 1024 * 1024 * 1024;
/// Between two looks while there is ample space.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The free space of the disk that holds a directory.
pub(super) struct DiskSpace {
    files: StoreFiles,
    reserve_bytes: u64,
    /// Whether the last write was refused.
    was_short: bool,
    /// The last look at the disk: when it was, and the free bytes less all writes since.
    last_look: Option<(Instant, u64)>,
}

impl DiskSpace {
    pub(super) fn new(files: StoreFiles, reserve_bytes: u64) -> Self {
        Self { files, reserve_bytes, was_short: false, last_look: None }
    }

    /// Refuses a write of this many bytes that would leave less than the reserve. Where the system does not
    /// say how much is free, the write has to find out.
    ///
    /// # Errors
    /// A fault of kind [`FaultKind::Full`].
    pub(super) fn check(&mut self, body_bytes: usize) -> Result<(), Fault> {
        let commit_bytes = body_bytes as u64 * BYTES_PER_BODY_BYTE;
        let wanted_bytes = self.reserve_bytes.saturating_add(commit_bytes);
        if self.has_ample_space(wanted_bytes, commit_bytes) {
            return Ok(());
        }
        self.require(wanted_bytes)
    }

    /// Refuses to open the engine again where it would soon fail again.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(super) fn check_for_reopening(&mut self) -> Result<(), Fault> {
        self.require(self.reserve_bytes.max(REOPENING_BYTES_MIN))
    }

    /// Whether the last look at the disk is recent and left ample space, the writes since then included.
    fn has_ample_space(&mut self, wanted_bytes: u64, commit_bytes: u64) -> bool {
        let Some((at, free_bytes)) = &mut self.last_look else { return false };
        *free_bytes = free_bytes.saturating_sub(commit_bytes);
        at.elapsed() < LOOK_INTERVAL && *free_bytes >= wanted_bytes.saturating_add(AMPLE_BYTES)
    }

    fn require(&mut self, wanted_bytes: u64) -> Result<(), Fault> {
        let Some(free_bytes) = self.files.free_bytes() else { return Ok(()) };
        self.last_look = Some((Instant::now(), free_bytes));
        let wanted_bytes =
            if self.was_short { wanted_bytes.saturating_add(ROOM_AGAIN_BYTES) } else { wanted_bytes };
        let is_short = free_bytes < wanted_bytes;
        if std::mem::replace(&mut self.was_short, is_short) != is_short {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn looks_after(free_bytes: u64, body_bytes: usize) -> bool {
        let mut space = DiskSpace::new(StoreFiles::Directory(".".into()), 0);
        space.last_look = Some((Instant::now(), free_bytes));
        space.check(body_bytes).expect("this disk has room");
        space.last_look.is_some_and(|(_, known)| known != free_bytes - 3 * body_bytes as u64)
    }

    #[test]
    fn one_look_at_the_disk_serves_while_space_is_ample() {
        assert!(!looks_after(u64::MAX, 0));
        assert!(!looks_after(AMPLE_BYTES + 600, 100));
        assert!(looks_after(AMPLE_BYTES + 599, 100), "writes since the look count");
        assert!(looks_after(1000, 100));
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_at_the_disk_is_forgotten_after_a_second() {
        let mut space = DiskSpace::new(StoreFiles::Directory(".".into()), 0);
        space.last_look = Some((Instant::now(), u64::MAX));
        space.check(0).expect("ample");
        assert_eq!(space.last_look.map(|(_, free)| free), Some(u64::MAX));
        tokio::time::advance(LOOK_INTERVAL).await;
        space.check(0).expect("this disk has room");
        assert_ne!(space.last_look.map(|(_, free)| free), Some(u64::MAX));
    }
}
