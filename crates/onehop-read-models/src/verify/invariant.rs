//! What a domain adds to a verification: invariants of its own. What it receives: the progress.

use async_trait::async_trait;
use onehop_store::{ETag, Fault, PartitionKey};

use crate::item_type::ItemType;

/// An invariant of a domain that no rule declares, verified and repaired with the rules.
#[async_trait]
pub trait Invariant: Send + Sync {
    /// The name in reports.
    fn name(&self) -> &'static str;

    /// The type of item for each of which it has to hold.
    fn item_type(&self) -> &'static ItemType;

    /// How it is violated for the item with this id in a logical partition, if it is.
    ///
    /// # Errors
    /// A fault of the store.
    async fn violation(&self, partition_key: &PartitionKey, id: &str) -> Result<Option<Violation>, Fault>;

    /// Repairs it for the item with this id in a logical partition; says whether something was written.
    ///
    /// # Errors
    /// A fault of the store.
    async fn repair(&self, partition_key: &PartitionKey, id: &str) -> Result<bool, Fault>;
}

/// How an invariant is violated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// What is wrong.
    pub problem: String,
    /// The ETags of the items that were compared; `None` where there was no item.
    pub seen: Vec<Option<ETag>>,
}

/// How far a verification has got, in changes read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyProgress {
    /// The number of changes.
    pub done: u64,
}
