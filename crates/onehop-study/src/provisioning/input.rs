//! Input of provisioning beside the traffic and the charges.

use std::collections::BTreeMap;

use crate::bounds::Bounds;
use onehop_store::ContainerName;

/// The peak-to-mean ratio where it is not known: from a traffic without peaks to three times the mean at the
/// peak, as of a day with busy hours. An assumption.
pub const PEAK_TO_MEAN_DEFAULT: Bounds = Bounds { low: 1.0, high: 3.0 };
/// The index share where every property is indexed. "Optimize storage cost in Azure Cosmos DB": the untuned
/// index takes about 10 to 20 % of the size of the items.
pub const INDEX_SHARE_DEFAULT: Bounds = Bounds { low: 0.1, high: 0.2 };

/// The input of provisioning beside the traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct ProvisioningInput {
    /// The peak of the traffic as a multiple of its mean.
    pub peak_to_mean: Bounds,
    /// Each region is provisioned and billed in full.
    pub regions: u32,
    pub highest_throughput: HighestThroughput,
    /// Size of the indexes as a share of the size of the items.
    pub index_share: Bounds,
    /// The multiple of the measured data.
    pub data_scale: f64,
    pub prices: Prices,
    /// The traffic of each hour of a day, in any unit, for autoscale by the hour.
    pub hourly: Option<[f64; 24]>,
}

/// The highest throughput that containers ever had, RU/s.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HighestThroughput {
    /// Of each container without an own figure, and of a database that they share; 0 where it is not known.
    pub of_each: f64,
    /// By the name of the container.
    pub of_containers: BTreeMap<String, f64>,
}

impl HighestThroughput {
    #[must_use]
    pub fn of(&self, container: ContainerName) -> f64 {
        self.of_containers.get(container.0).copied().unwrap_or(self.of_each)
    }
}

/// Prices, in one currency; each is optional.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prices {
    /// Of 100 RU/s for an hour.
    pub manual: Option<f64>,
    /// Of 100 RU/s for an hour; without it 1.5 times the manual one.
    pub autoscale: Option<f64>,
    /// Of a million RU.
    pub serverless: Option<f64>,
    /// Of 100 RU/s for an hour, with reserved capacity.
    pub reserved: Option<f64>,
    /// Of a GB for a month.
    pub storage: Option<f64>,
}

impl Default for ProvisioningInput {
    fn default() -> Self {
        Self {
            peak_to_mean: Bounds::certain(1.0),
            regions: 1,
            highest_throughput: HighestThroughput::default(),
            index_share: INDEX_SHARE_DEFAULT,
            data_scale: 1.0,
            prices: Prices::default(),
            hourly: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_container_has_its_own_highest_throughput() {
        let of_containers = [("posts".to_owned(), 690_000.0)].into();
        let highest = HighestThroughput { of_each: 1_000.0, of_containers };
        assert_eq!(["posts", "feed"].map(|name| highest.of(ContainerName(name))), [690_000.0, 1_000.0]);
    }
}
