//! Durability of commits, and the figures of an engine's reads.

use onehop_runtime::planted;

/// The durability of an acknowledged write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// On the disk: it survives the loss of power. Concurrent commits share one fsync.
    #[default]
    Sync,
    /// With the operating system: it survives the end of the process, but not the loss of power.
    Relaxed,
}

impl Durability {
    /// Whether a commit ends with an fsync of the journal.
    pub(super) fn asks_for_fsync(self) -> bool {
        self == Self::Sync && !planted!("missing-fsync")
    }
}

/// Blocks of the engine's files that reads have needed since the engine was opened: data, index and filter
/// blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Read from a file, out of the operating system's cache or from the disk.
    pub read: u64,
    /// Found in the block cache.
    pub cached: u64,
}
