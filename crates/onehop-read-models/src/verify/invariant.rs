//! A domain's additions to a verification: invariants of its own. The receiver of the progress.

use async_trait::async_trait;
use onehop_store::{ETag, Fault, Item, PartitionKey};

use crate::item_type::ItemType;

/// An invariant of a domain that no rule declares, verified and repaired with the rules.
#[async_trait]
pub trait Invariant: Send + Sync {
    /// The name in reports.
    fn name(&self) -> &'static str;

    /// The type of item for each of which it has to hold.
    fn item_type(&self) -> &ItemType;

    /// Whether an item that was read may violate it. One that may not is not read again.
    fn may_be_violated(&self, _item: &Item) -> bool {
        true
    }

    /// The violation of it by the item with this id in a logical partition, if any.
    ///
    /// # Errors
    /// A fault of the store.
    async fn violation(&self, partition_key: &PartitionKey, id: &str) -> Result<Option<Violation>, Fault>;

    /// Whether its repair deletes the item, since the holder is not there.
    fn is_repaired_by_deletion(&self) -> bool {
        false
    }

    /// Repairs it for the item with this id in a logical partition; says whether something was written.
    ///
    /// # Errors
    /// A fault of the store.
    async fn repair(&self, partition_key: &PartitionKey, id: &str) -> Result<bool, Fault>;
}

/// A violation of an invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The problem.
    pub problem: String,
    /// The ETags of the items that were compared; `None` where there was no item.
    pub seen: Vec<Option<ETag>>,
}

/// The progress of a verification, in changes read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyProgress {
    /// The number of changes.
    pub done: u64,
}
