//! Partition key analysis: how a database's items, and the request charges of a traffic, spread over logical partitions,
//! beside the limits of one, with a verdict on each partition key. Pure: the caller reads the database and runs the
//! requests.

mod bearable;
mod contents;
mod fan_out;
#[cfg(test)]
pub(super) mod fixtures;
mod footprint;
mod load;
mod population;
mod report;
#[cfg(test)]
mod tests;
mod verdict;

pub use bearable::SustainableRate;
pub use contents::{ContainerContents, PartitionSize, SinglePartition, contents_of};
pub use fan_out::{FanOutThroughput, fan_outs};
pub use footprint::{Footprint, FootprintPart, FootprintTally, PartitionRole};
pub use load::{Load, RequestLoad};
pub use population::{EntityPartitions, EntityRole, Highlight, Popularity, Population, Subset};
pub use report::{
    ContainerPartitions, HighlightShare, PartitionReport, PartitionStudy, PopularityShares, Spread,
};
pub use verdict::KeyVerdict;

/// What one logical partition can hold. Source: "Azure Cosmos DB service quotas", learn.microsoft.com.
const LOGICAL_PARTITION_BYTES_MAX: f64 = 20.0 * 1024.0 * 1024.0 * 1024.0;
/// What one physical partition can serve, RU/s. Source: the same.
const PHYSICAL_PARTITION_THROUGHPUT_MAX: f64 = 10_000.0;
/// What one logical partition can serve, RU/s: as much as the physical partition that holds it. Source: the same.
const LOGICAL_PARTITION_THROUGHPUT_MAX: f64 = PHYSICAL_PARTITION_THROUGHPUT_MAX;
/// Reads for each write, where no traffic is given.
pub const ASSUMED_READS_PER_WRITE: f64 = 100.0;

/// `None` where there is nothing to divide by.
fn ratio(dividend: f64, divisor: f64) -> Option<f64> {
    (divisor > 0.0).then(|| dividend / divisor)
}
