//! Partition key analysis: how a database's items, and the request charges of a traffic, spread over logical
//! partitions, beside the limits of one, with a verdict on each partition key. Pure: the caller reads the
//! database and runs the requests.

mod bearable;
mod contents;
mod fan_out;
#[cfg(test)]
pub(super) mod fixtures;
mod footprint;
mod load;
mod population;
mod profile;
mod report;
mod spread;
#[cfg(test)]
mod tests;
mod verdict;

pub use bearable::SustainableRate;
pub use contents::{ContainerContents, PartitionSize, SinglePartition, contents_of};
pub use fan_out::FanOutThroughput;
pub use footprint::{Footprint, FootprintPart, FootprintTally, PartitionRole};
pub use load::{Load, RequestLoad};
pub use population::{EntityPartitions, EntityRole, Highlight, Popularity, Population, Subset};
pub(crate) use profile::{ChargeGroup, ContainerProfile, FanOutLoad, LoadProfile, ProfileInput, VariedLoad};
pub use report::{
    ContainerPartitions, HighlightShare, PartitionReport, PartitionStudy, PopularityShares, Spread,
};
pub use verdict::KeyVerdict;

/// `None` where there is nothing to divide by.
fn ratio(dividend: f64, divisor: f64) -> Option<f64> {
    (divisor > 0.0).then(|| dividend / divisor)
}
