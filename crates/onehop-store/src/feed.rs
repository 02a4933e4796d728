//! Change feed values: change, page, feed range, continuation.

use serde::{Deserialize, Serialize};

use super::{ContainerName, Item, PartitionKey};

/// A part of a container's change feed that one reader reads. Opaque, and may be written to a lease.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FeedRange(pub String);

/// Where a reader stands in a feed range. Opaque; it outlives the process, and after a partition split it
/// serves every part of the range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continuation(pub String);

/// The requested changes.
#[derive(Debug, Clone, Copy)]
pub struct FeedRequest<'a> {
    /// The container.
    pub container: ContainerName,
    /// The feed range.
    pub range: &'a FeedRange,
    /// `None` reads from the beginning.
    pub continuation: Option<&'a Continuation>,
    /// Only items of these types (soft-deleted ones included); `None` for all.
    pub types: Option<&'a [&'a str]>,
    /// The most changes of the page.
    pub limit: usize,
}

/// The writes that a change signal is about.
#[derive(Debug, Clone, Copy)]
pub struct SignalScope<'a> {
    /// The container.
    pub container: ContainerName,
    /// `None` for all feed ranges.
    pub range: Option<&'a FeedRange>,
    /// Only items of these types; `None` for all.
    pub types: Option<&'a [&'a str]>,
}

impl SignalScope<'_> {
    /// All writes to a container.
    #[must_use]
    pub fn of(container: ContainerName) -> Self {
        Self { container, range: None, types: None }
    }
}

/// An item's latest version. Hard deletes are not in the feed.
#[derive(Debug, Clone)]
pub struct Change {
    /// The logical partition of the item.
    pub partition_key: PartitionKey,
    /// The id of the item.
    pub id: String,
    /// The latest version of the item.
    pub item: Item,
}

/// A page of changes. `drained` says that there was nothing more at that moment; a store may say so only on
/// the empty page after the last changes.
#[derive(Debug, Clone)]
pub struct FeedPage {
    /// The changes, in order within each logical partition.
    pub changes: Vec<Change>,
    /// Where to read on after this page.
    pub continuation: Continuation,
    /// Whether nothing more was left at that moment.
    pub drained: bool,
    /// The reader's progress after this page, for [`Store::is_past`](crate::Store::is_past). `None` where
    /// changes may be left: an item that was written before the end of this page, and once more after it,
    /// comes later.
    pub passed: Option<Continuation>,
    /// The number of changes after this page, of all types, as far as the store can estimate that without
    /// reading them.
    pub behind: Option<u64>,
}
