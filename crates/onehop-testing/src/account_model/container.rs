//! Containers: physical partitions, and the versions of all items.

use std::collections::BTreeMap;
use std::sync::Arc;

use onehop_store::adapter_rules::KeyProperties;
use onehop_store::{ContainerSpec, Item};

use super::hash_range::HashRange;
use super::partition::PhysicalPartition;

/// The content of an item at one of its versions.
#[derive(Debug)]
pub(super) struct Content {
    /// Its time is in whole seconds, as the service counts.
    pub(super) item: Item,
    pub(super) properties: KeyProperties,
    /// When its time is over, Unix ms.
    pub(super) expires_at_ms: Option<i64>,
}

impl Content {
    pub(super) fn is_live(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_none_or(|expires_at_ms| now_ms < expires_at_ms)
    }
}

/// A version of an item; its content is `None` after a delete.
#[derive(Debug, Clone)]
pub(super) struct Version {
    pub(super) lsn: u64,
    pub(super) content: Option<Arc<Content>>,
}

/// All versions of an item, in their order.
#[derive(Debug, Default)]
pub(super) struct VersionChain(pub(super) Vec<Version>);

impl VersionChain {
    /// The place of the version that a replica has which stands at a commit.
    pub(super) fn place_at(&self, lsn: u64) -> Option<usize> {
        self.0.iter().rposition(|version| version.lsn <= lsn)
    }

    /// The content that a replica has which stands at a commit, unless its time is over.
    pub(super) fn content_at(&self, lsn: u64, now_ms: i64) -> Option<&Arc<Content>> {
        let content = self.0[self.place_at(lsn)?].content.as_ref()?;
        content.is_live(now_ms).then_some(content)
    }
}

/// A logical partition.
#[derive(Debug)]
pub(super) struct LogicalPartition {
    pub(super) point: u64,
    pub(super) key: Arc<str>,
    pub(super) items: BTreeMap<Arc<str>, VersionChain>,
}

/// A container of the account.
#[derive(Debug)]
pub(super) struct AccountContainer {
    pub(super) spec: ContainerSpec,
    /// In the order of their ranges, which cover the key space.
    pub(super) partitions: Vec<PhysicalPartition>,
    pub(super) logical: BTreeMap<Arc<str>, LogicalPartition>,
    next_number: u32,
}

impl AccountContainer {
    pub(super) fn new(spec: ContainerSpec, physical_partitions: u32) -> Self {
        let ranges = HashRange::equal_parts(physical_partitions);
        let partitions: Vec<_> =
            (0..).zip(ranges).map(|(number, range)| PhysicalPartition::new(number, range)).collect();
        Self {
            spec,
            next_number: u32::try_from(partitions.len()).unwrap_or(u32::MAX),
            partitions,
            logical: BTreeMap::new(),
        }
    }

    /// The place of the physical partition that holds a point.
    pub(super) fn place_of(&self, point: u64) -> usize {
        self.partitions.partition_point(|partition| partition.range.max <= point)
    }

    /// Splits the physical partition at this place; whether it could be.
    pub(super) fn split(&mut self, place: usize) -> bool {
        let parts = self.partitions.get(place).and_then(|whole| whole.split(self.next_number));
        let Some(parts) = parts else { return false };
        self.next_number += 2;
        self.partitions.splice(place..=place, parts);
        true
    }

    /// Merges the physical partition at this place with the next one; whether there is one.
    pub(super) fn merge(&mut self, left: usize) -> bool {
        let Some([one, other]) = self.partitions.get(left..left.saturating_add(2)) else { return false };
        let merged = PhysicalPartition::merged(one, other, self.next_number);
        self.next_number += 1;
        self.partitions.splice(left..=left + 1, [merged]);
        true
    }
}
