//! Designs over data: the stored items, entries and containers of a design, derived from the visible data of
//! a study. Nothing is written; sizes and index terms are those of the JSON that the design would store.

mod computed;
mod contents;
mod design_data;
mod logical_partitions;
mod measured;
mod stored_item;
#[cfg(test)]
mod tests;

pub use contents::{ContainerSize, KeyShare, is_time_key};
pub use design_data::{DesignData, DesignList};
pub(crate) use design_data::{IndexedPaths, parent_key};
pub use logical_partitions::{LogicalPartitions, PartitionSize};
pub(crate) use stored_item::{ItemWriter, set};
