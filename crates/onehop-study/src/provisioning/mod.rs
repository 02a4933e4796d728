//! Provisioning: whether Azure Cosmos DB serves a data model at a traffic, the throughput that each container
//! needs, alone or in a shared database, and its cost under each way of paying. The most loaded physical
//! partition decides, because throughput is divided evenly among them. Pure.
//!
//! Sources: "Introduction to provisioned throughput", "Provision autoscale throughput", "Optimize storage
//! cost", all of learn.microsoft.com/azure/cosmos-db; limits are in [`azure_limits`](super::azure_limits).

mod assumed;
mod bills;
mod comparison;
mod fixed_point;
mod floors;
mod input;
mod need;
mod plan;
mod planned;
#[cfg(test)]
mod tests;

pub use assumed::{JointCase, PartitionLayout};
pub use bills::{MonthlyBill, ServerlessFit};
pub use comparison::{PlanInterval, ProvisionedUnit, Verdict};
pub use floors::DecidingFactor;
pub use input::{HighestThroughput, INDEX_SHARE_DEFAULT, PEAK_TO_MEAN_DEFAULT, Prices, ProvisioningInput};
pub use plan::PlanModel;
pub use planned::{PlannedThroughput, ProvisionedContainer, Provisioning, RecommendedScope};
