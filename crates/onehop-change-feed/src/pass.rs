//! Passes: the readings of a feed range, one behind the other.

/// Why a page is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pass {
    /// It follows the checkpoint.
    Live,
    /// It lies before the checkpoint: background work.
    Backfill,
    /// It lies between a backfill and the live reader, which waits for it.
    Join,
}
