//! The contents of containers, by logical partition: counted by the caller, who reads the database.

use std::collections::HashMap;

use onehop_store::charges::{Calibration, ReadConsistency};
use onehop_store::limits::PAGE_ITEMS_MAX;
use onehop_store::{ContainerName, PartitionKey};

/// A container by logical partition.
#[derive(Debug, Clone)]
pub struct ContainerContents {
    pub container: ContainerName,
    /// The property that is the partition key.
    pub partition_key: &'static str,
    pub sizes: HashMap<PartitionKey, PartitionSize>,
    /// Of JSON, of its largest item.
    pub item_bytes_max: u64,
    /// Where the partition key has a single value by design.
    pub single: Option<SinglePartition>,
}

impl ContainerContents {
    /// The factor of the number of logical partitions where the data is this many times the sample.
    #[must_use]
    pub fn scale(&self, data_scale: f64) -> f64 {
        if self.single.is_some() { 1.0 } else { data_scale }
    }

    /// The estimated charge of reading the change feed from the beginning to its end, in full pages. Pages
    /// that end a feed range are left out.
    #[must_use]
    pub fn feed_charge(&self, calibration: &Calibration) -> f64 {
        let all = |value: fn(&PartitionSize) -> u64| self.sizes.values().map(value).sum::<u64>();
        let [items, bytes] = [all(|size| size.items), all(|size| size.bytes)]
            .map(|sum| usize::try_from(sum).unwrap_or(usize::MAX));
        let further_pages = items.div_ceil(PAGE_ITEMS_MAX).saturating_sub(1) as f64;
        let page = |items, bytes| calibration.change_feed(items, bytes, ReadConsistency::Quorum).total().0;
        page(items, bytes) + further_pages * page(0, 0)
    }
}

/// The content of one logical partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartitionSize {
    pub items: u64,
    /// Of JSON, without indexes.
    pub bytes: u64,
}

/// Why a container has a single logical partition by design, as its verdict says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinglePartition {
    /// The meaning, as a clause: `it holds 100 posts at most, but every reader shares it`.
    pub consequence: String,
    /// Requests by name, and the unit of their rate: `("Q6", "reads")`.
    pub rates: Vec<(String, String)>,
    /// The relief beyond the sustainable rate, as a clause: `it takes a cache`.
    pub relief: String,
}

/// The contents of the container of this name.
#[must_use]
pub fn contents_of(contents: &[ContainerContents], name: ContainerName) -> Option<&ContainerContents> {
    contents.iter().find(|contents| contents.container == name)
}
