//! Limits of Azure Cosmos DB for provisioning, each with the page of learn.microsoft.com that states it.

const BYTES_A_KB: f64 = 1024.0;
/// Bytes of a GB, as storage is counted here.
pub const BYTES_A_GB: f64 = BYTES_A_KB * BYTES_A_KB * BYTES_A_KB;

/// RU/s of one physical partition. "Azure Cosmos DB service quotas": maximum RUs per partition (logical and
/// physical).
pub const PHYSICAL_PARTITION_THROUGHPUT_MAX: f64 = 10_000.0;
/// RU/s of one logical partition: as many as the physical partition that holds it. The same page.
pub const LOGICAL_PARTITION_THROUGHPUT_MAX: f64 = PHYSICAL_PARTITION_THROUGHPUT_MAX;
/// GB of one physical partition, data and index. "Partitioning and horizontal scaling in Azure Cosmos DB".
pub const PHYSICAL_PARTITION_GB_MAX: f64 = 50.0;
/// GB of a physical partition after the split of a full one. The same page: a split halves it.
pub const SPLIT_PARTITION_GB: f64 = PHYSICAL_PARTITION_GB_MAX / 2.0;
/// RU/s for which a new container with manual throughput gets each physical partition. "Best practices for
/// scaling provisioned throughput".
pub const NEW_PARTITION_THROUGHPUT: f64 = 6_000.0;
/// Bytes of one logical partition, data and index. "Azure Cosmos DB service quotas".
pub const LOGICAL_PARTITION_BYTES_MAX: f64 = 20.0 * BYTES_A_GB;
/// Bytes of one item as JSON. The same page.
pub const ITEM_BYTES_MAX: f64 = 2.0 * BYTES_A_KB * BYTES_A_KB;

/// The rules of one kind of provisioned throughput: its step, and its floors. "Azure Cosmos DB service
/// quotas", minimum throughput limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThroughputRules {
    /// RU/s are provisioned in steps of this many.
    pub step: f64,
    /// RU/s, even without use.
    pub minimum: f64,
    /// RU/s for each stored GB, data and index.
    pub per_gb: f64,
    /// The highest throughput ever, divided by this.
    pub highest_ever_divisor: f64,
    /// RU/s more for each container of a shared database after [`SHARED_CONTAINERS`].
    pub per_further_container: f64,
}

/// Manual throughput.
pub const MANUAL: ThroughputRules = ThroughputRules {
    step: 100.0,
    minimum: 400.0,
    per_gb: 1.0,
    highest_ever_divisor: 100.0,
    per_further_container: 100.0,
};

/// The maximum of autoscale throughput.
pub const AUTOSCALE: ThroughputRules = ThroughputRules {
    step: 1_000.0,
    minimum: 1_000.0,
    per_gb: 10.0,
    highest_ever_divisor: 10.0,
    per_further_container: 1_000.0,
};

/// Containers of a shared database that its minimum covers. The same page.
pub const SHARED_CONTAINERS: usize = 25;
/// The share of the autoscale maximum that is always billed. "Azure Cosmos DB service quotas", limits for
/// autoscale.
pub const AUTOSCALE_SHARE_MIN: f64 = 0.1;
/// The price of autoscale beside manual throughput, in accounts with one write region. "Frequently asked
/// questions about autoscale provisioned throughput".
pub const AUTOSCALE_PRICE_FACTOR: f64 = 1.5;

/// GB of a serverless container. "Azure Cosmos DB service quotas", serverless.
pub const SERVERLESS_GB_MAX: f64 = 1_024.0;
/// RU/s of each physical partition of a serverless container, as many as its storage takes. "Azure Cosmos DB
/// serverless account performance". An earlier text of the page had 5,000 RU/s for up to five physical
/// partitions together, and 1,000 RU/s for each further one.
pub const SERVERLESS_PARTITION_THROUGHPUT: f64 = 5_000.0;
/// Regions of a serverless account. The same page.
pub const SERVERLESS_REGIONS: u32 = 1;
