//! Request charge of one operation on an item of mean size, by the store's model of request charges.

use onehop_store::RequestCharge;
use onehop_store::charges::{QueryWork, ReadConsistency, Replacement};

use super::profile::{DataProfile, StoredType};
use crate::field_path::FieldPath;
use crate::item_type::{DELETED, TTL, VERSION};

/// The consistency of a projection's reads: the latest committed version, since other processes write, too.
const CONSISTENCY: ReadConsistency = ReadConsistency::Quorum;

impl DataProfile {
    /// A point read of an item of a type.
    pub(crate) fn read_charge(&self, stored: &StoredType) -> RequestCharge {
        self.calibration().point_read(self.mean_bytes(stored), CONSISTENCY).total()
    }

    /// A point read that finds nothing.
    pub(crate) fn absent_charge(&self) -> RequestCharge {
        self.calibration().point_read(0, CONSISTENCY).total()
    }

    /// A query in one logical partition that returns this many items of a type.
    pub(crate) fn partition_query_charge(&self, stored: &StoredType, items: usize) -> RequestCharge {
        self.items_charge(stored, 1, 0, items)
    }

    /// A query across logical partitions for a page of at most `limit` items, where this many match. Each
    /// physical partition is visited, and where there are more than the page holds each returns its share of
    /// an ordered page.
    pub(crate) fn query_charge(
        &self,
        stored: &StoredType,
        matches: usize,
        limit: usize,
        equalities: u32,
    ) -> RequestCharge {
        let partitions = self.physical_partitions();
        let share = matches.div_ceil(partitions.max(1) as usize);
        let returned = if matches <= limit {
            matches
        } else {
            let asked = self.calibration().ordered_pages().items_per_partition(partitions, limit);
            partitions as usize * share.min(asked)
        };
        self.items_charge(stored, partitions, equalities, returned)
    }

    fn items_charge(
        &self,
        stored: &StoredType,
        physical_partitions: u32,
        equalities: u32,
        items: usize,
    ) -> RequestCharge {
        let work = QueryWork {
            physical_partitions,
            // The type, and soft deletion.
            conditions: 1 + u32::from(self.has_soft_deletes(stored)) + equalities,
            items,
            bytes: items * self.mean_bytes(stored),
            ..QueryWork::default()
        };
        self.calibration().query(&work, CONSISTENCY).total()
    }

    /// A count of this many items in one logical partition.
    pub(crate) fn count_charge(&self, items: u64) -> RequestCharge {
        self.calibration().count(1, items, CONSISTENCY).total()
    }

    /// The creation of an item of a type.
    pub(crate) fn create_charge(&self, stored: &StoredType) -> RequestCharge {
        self.mean_creation(stored)
    }

    /// The deletion of an item of a type.
    pub(crate) fn delete_charge(&self, stored: &StoredType) -> RequestCharge {
        self.mean_creation(stored)
    }

    /// The replacement of an item of a type in which these fields change, beside its version.
    pub(crate) fn replace_charge(
        &self,
        stored: &StoredType,
        fields: &[impl Into<FieldPath> + Copy],
    ) -> RequestCharge {
        let mut changed: Vec<FieldPath> = fields.iter().map(|field| (*field).into()).collect();
        changed.push(VERSION.into());
        self.rewrite_charge(stored, &changed)
    }

    /// The replacement of an item of a type by the soft-deleted one.
    pub(crate) fn soft_delete_charge(&self, stored: &StoredType) -> RequestCharge {
        self.replace_charge(stored, &[DELETED, TTL])
    }

    /// The replacement of an item of a type by an equal one.
    pub(crate) fn rewrite_unchanged_charge(&self, stored: &StoredType) -> RequestCharge {
        self.rewrite_charge(stored, &[])
    }

    fn rewrite_charge(&self, stored: &StoredType, changed: &[FieldPath]) -> RequestCharge {
        let bytes = self.mean_bytes(stored);
        let replacement = Replacement {
            bytes_before: bytes,
            bytes_after: bytes,
            changed: self.changed_terms(stored, changed),
            is_rewritten: false,
        };
        self.calibration().replace(replacement).total()
    }

    /// A page of the change feed with one item of a type.
    pub(crate) fn feed_charge(&self, stored: &StoredType) -> RequestCharge {
        self.calibration().change_feed(1, self.mean_bytes(stored), CONSISTENCY).total()
    }
}
