//! Request charge of one operation on an item of mean size, by the store's model of request charges.

use onehop_store::RequestCharge;
use onehop_store::embedded::charges;

use super::profile::{DataProfile, StoredType};
use crate::item_type::{DELETED, TTL, VERSION};

impl DataProfile {
    /// A point read of an item of a type.
    pub(crate) fn read_charge(&self, stored: &StoredType) -> RequestCharge {
        charges::point_read(self.mean_bytes(stored))
    }

    /// A point read that finds nothing.
    pub(crate) fn absent_charge(&self) -> RequestCharge {
        charges::point_read(0)
    }

    /// A query in one logical partition that returns this many items of a type.
    pub(crate) fn partition_query_charge(&self, stored: &StoredType, items: usize) -> RequestCharge {
        charges::query(1, items, items * self.mean_bytes(stored))
    }

    /// A query across logical partitions for a page of at most `limit` items, where this many match. Each physical partition is visited,
    /// and where there are more than the page holds each returns its share of an ordered page.
    pub(crate) fn query_charge(&self, stored: &StoredType, matches: usize, limit: usize) -> RequestCharge {
        let partitions = self.physical_partitions();
        let share = matches.div_ceil(partitions.max(1) as usize);
        let returned = if matches <= limit {
            matches
        } else {
            partitions as usize * share.min(charges::ordered_items_per_partition(partitions, limit))
        };
        charges::query(partitions, returned, returned * self.mean_bytes(stored))
    }

    /// The creation of an item of a type.
    pub(crate) fn create_charge(&self, stored: &StoredType) -> RequestCharge {
        charges::write(self.mean_bytes(stored), self.mean_indexed_properties(stored))
    }

    /// The deletion of an item of a type.
    pub(crate) fn delete_charge(&self, stored: &StoredType) -> RequestCharge {
        self.create_charge(stored)
    }

    /// The replacement of an item of a type in which these fields change, beside its version.
    pub(crate) fn replace_charge(&self, stored: &StoredType, fields: &[&str]) -> RequestCharge {
        let changed = fields.iter().copied().chain([VERSION]);
        self.rewrite_charge(stored, changed)
    }

    /// The replacement of an item of a type by the soft-deleted one.
    pub(crate) fn soft_delete_charge(&self, stored: &StoredType) -> RequestCharge {
        self.replace_charge(stored, &[DELETED, TTL])
    }

    /// The replacement of an item of a type by an equal one.
    pub(crate) fn rewrite_unchanged_charge(&self, stored: &StoredType) -> RequestCharge {
        self.rewrite_charge(stored, [])
    }

    fn rewrite_charge<'a>(
        &self,
        stored: &StoredType,
        changed: impl IntoIterator<Item = &'a str>,
    ) -> RequestCharge {
        charges::write(self.mean_bytes(stored), self.indexed_fields(stored, changed))
    }

    /// A page of the change feed with one item of a type.
    pub(crate) fn feed_charge(&self, stored: &StoredType) -> RequestCharge {
        charges::change_feed(1, self.mean_bytes(stored))
    }
}
