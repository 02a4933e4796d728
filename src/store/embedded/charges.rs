//! An estimate of what Azure Cosmos DB would charge: values in, request units out, no I/O.
//!
//! The figures are a first approximation from Microsoft's published ones: a point read of 1 KB is 1 RU and of 100 KB
//! 10 RU; a write of 1 KB is about 5 RU unindexed and grows with each indexed property; a query costs about 2.8 RU
//! for each physical partition it visits, even without a match. Source: "Request Units in Azure Cosmos DB" and
//! "Optimize request cost in Azure Cosmos DB", learn.microsoft.com. They are estimates and labelled as such.

use crate::store::RequestCharge;

const POINT_READ_BASE_RU: f64 = 1.0;
const POINT_READ_RU_PER_FURTHER_KB: f64 = 9.0 / 99.0;
const WRITE_BASE_RU: f64 = 4.5;
const WRITE_RU_PER_INDEXED_PROPERTY: f64 = 0.6;
const WRITE_RU_PER_FURTHER_KB: f64 = 0.45;
const QUERY_RU_PER_PHYSICAL_PARTITION: f64 = 2.8;
const QUERY_RU_PER_ITEM: f64 = 0.05;
const QUERY_RU_PER_KB: f64 = 0.25;
const COUNT_RU_PER_ITEM: f64 = 0.15;
const CHANGE_FEED_BASE_RU: f64 = 2.0;
const CHANGE_FEED_RU_PER_KB: f64 = 1.0;

fn kilobytes(bytes: usize) -> f64 {
    bytes as f64 / 1024.0
}

/// A point read of an item of so many bytes; an absent item costs as much as a small one.
pub(super) fn point_read(bytes: usize) -> RequestCharge {
    let further_kb = (kilobytes(bytes) - 1.0).max(0.0).ceil();
    RequestCharge(POINT_READ_BASE_RU + further_kb * POINT_READ_RU_PER_FURTHER_KB)
}

/// A write of an item of so many bytes that changes so many indexed properties.
pub(super) fn write(bytes: usize, indexed_properties: usize) -> RequestCharge {
    let further_kb = (kilobytes(bytes) - 1.0).max(0.0);
    RequestCharge(
        WRITE_BASE_RU
            + indexed_properties as f64 * WRITE_RU_PER_INDEXED_PROPERTY
            + further_kb * WRITE_RU_PER_FURTHER_KB,
    )
}

/// A query that visits so many physical partitions and returns so many items and bytes.
pub(super) fn query(physical_partitions: u32, items: usize, bytes: usize) -> RequestCharge {
    RequestCharge(
        f64::from(physical_partitions) * QUERY_RU_PER_PHYSICAL_PARTITION
            + items as f64 * QUERY_RU_PER_ITEM
            + kilobytes(bytes) * QUERY_RU_PER_KB,
    )
}

/// A COUNT over so many items of one logical partition.
pub(super) fn count(items: u64) -> RequestCharge {
    RequestCharge(QUERY_RU_PER_PHYSICAL_PARTITION + items as f64 * COUNT_RU_PER_ITEM)
}

/// A page of the change feed with so many bytes.
pub(super) fn change_feed(bytes: usize) -> RequestCharge {
    RequestCharge(CHANGE_FEED_BASE_RU + kilobytes(bytes) * CHANGE_FEED_RU_PER_KB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_read_of_one_kilobyte_is_one_unit_and_of_a_hundred_ten() {
        assert!((point_read(1024).0 - 1.0).abs() < 1e-9);
        assert!((point_read(100 * 1024).0 - 10.0).abs() < 1e-9);
    }

    #[test]
    fn a_query_is_charged_for_every_physical_partition_even_without_a_match() {
        assert!((query(70, 0, 0).0 - 196.0).abs() < 1e-9);
    }

    #[test]
    fn a_write_of_a_hundred_kilobytes_without_indexes_is_about_fifty_units() {
        assert!((write(100 * 1024, 0).0 - 50.0).abs() < 2.0);
    }
}
