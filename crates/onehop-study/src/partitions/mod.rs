//! Partitions: the load of a traffic on the containers of a plan, and the logical partitions of each
//! container with their sizes and the load of the busiest. Pure.

mod load_profile;
mod report;

pub(crate) use load_profile::{ChargeGroup, ContainerProfile, FanOutLoad, LoadProfile, VariedLoad};
pub use report::{BusiestLoad, PartitionSummary, Popularity, RequestShare, SizeClass, Spread};
