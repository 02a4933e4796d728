//! Write watch (cache invalidation for live queries): the port to the writes of all processes, by the marks
//! that the reads of an execution have touched.

use std::sync::Arc;

use async_trait::async_trait;

/// The writes from the beginning of the watch on. It knows marks and numbers, and no items.
#[async_trait]
pub trait WriteWatch: Send + Sync {
    /// The number of the last write that every execution sees which begins now.
    fn last_write(&self) -> u64;

    /// Waits until something under one of these marks is written after the write with this number. It may
    /// end without such a write, and never misses one.
    async fn written(&self, marks: &[u32], write: u64);
}

/// A watch that several live queries share. It ends with its last handle.
pub type SharedWatch = Arc<dyn WriteWatch>;
