//! The request charge model: what Azure Cosmos DB would charge for one operation. Values in, request units out; no
//! I/O, and no knowledge of which request the operation serves.
//!
//! Nine constants, each with its source beside it; `docs/adr/0011-request-charge-model.md` has the derivation and the
//! deviation from the 30 figures of the article. "Published" is "Optimize request cost in Azure Cosmos DB" and
//! "Understand request unit consumption", learn.microsoft.com; "fitted" is a least-squares fit to half of the
//! article's table, rounded. All of it holds for session consistency. The results are estimates.

use crate::RequestCharge;

/// RU. Published: 1 RU for an item of up to 1 KB.
const POINT_READ_BASE_RU: f64 = 1.0;
/// RU. Published: 10 RU for an item of 100 KB, a line between the two.
const POINT_READ_RU_PER_FURTHER_KB: f64 = 9.0 / 99.0;
/// RU. Published: 4.95 to 5.5 RU for an unindexed item of 1 KB, the share for its KB taken off. Fitted: 4.53.
const WRITE_BASE_RU: f64 = 4.5;
/// RU. Fitted: 0.529.
const WRITE_RU_PER_INDEXED_PROPERTY: f64 = 0.53;
/// RU. Published: 50 RU for an unindexed item of 100 KB, 45 more than for one of 1 KB. Fitted: 0.453.
const WRITE_RU_PER_KB: f64 = 0.455;
/// RU. Published: about 2.5 to 2.8 RU for each physical partition, even without a match. Fitted: 2.69.
const QUERY_RU_PER_PHYSICAL_PARTITION: f64 = 2.7;
/// RU. Fitted: 0.073.
const QUERY_RU_PER_ITEM: f64 = 0.07;
/// RU. Fitted: 0.215.
const QUERY_RU_PER_KB: f64 = 0.22;
/// RU. Fitted: 0.146.
const COUNT_RU_PER_ITEM: f64 = 0.145;

/// How many times its even share of an ordered page each physical partition is asked for: not a charge, but what the
/// clients for .NET and Java did when the article was written (`PageSizeFactorForTop`).
const ORDERED_PAGE_FACTOR: usize = 5;

fn kilobytes(bytes: usize) -> f64 {
    bytes as f64 / 1024.0
}

/// A point read of an item of this many bytes; an absent item costs as much as a small one.
#[must_use]
pub fn point_read(bytes: usize) -> RequestCharge {
    let further_kb = (kilobytes(bytes) - 1.0).max(0.0);
    RequestCharge(POINT_READ_BASE_RU + further_kb * POINT_READ_RU_PER_FURTHER_KB)
}

/// A write of an item of this many bytes. What is indexed anew counts: every indexed property for a create, those that
/// change for a replace, those that go for a delete. A transactional batch is charged as the sum of its operations.
#[must_use]
pub fn write(bytes: usize, indexed_properties: usize) -> RequestCharge {
    RequestCharge(
        WRITE_BASE_RU
            + indexed_properties as f64 * WRITE_RU_PER_INDEXED_PROPERTY
            + kilobytes(bytes) * WRITE_RU_PER_KB,
    )
}

/// A query that visits this many physical partitions, which return this many items and bytes all together. Order costs
/// nothing by itself, as the index has it; but see [`ordered_items_per_partition`].
#[must_use]
pub fn query(physical_partitions: u32, items: usize, bytes: usize) -> RequestCharge {
    RequestCharge(
        f64::from(physical_partitions) * QUERY_RU_PER_PHYSICAL_PARTITION
            + items as f64 * QUERY_RU_PER_ITEM
            + kilobytes(bytes) * QUERY_RU_PER_KB,
    )
}

/// How many items each of this many physical partitions returns, if it has them, for the client to merge an ordered
/// page of this many out of. All are charged, the ones that the page has no room for included.
#[must_use]
pub fn ordered_items_per_partition(physical_partitions: u32, page_items: usize) -> usize {
    let partitions = (physical_partitions as usize).max(1);
    (page_items.div_ceil(partitions) * ORDERED_PAGE_FACTOR).min(page_items)
}

/// A COUNT over this many items of one logical partition.
#[must_use]
pub fn count(items: u64) -> RequestCharge {
    RequestCharge(QUERY_RU_PER_PHYSICAL_PARTITION + items as f64 * COUNT_RU_PER_ITEM)
}

/// A page of the change feed of one physical partition with this many items and bytes: a point read for asking, and
/// what a query is charged for what it returns. Neither the article nor Microsoft has a figure to check it by.
#[must_use]
pub fn change_feed(items: usize, bytes: usize) -> RequestCharge {
    RequestCharge(POINT_READ_BASE_RU + items as f64 * QUERY_RU_PER_ITEM + kilobytes(bytes) * QUERY_RU_PER_KB)
}
