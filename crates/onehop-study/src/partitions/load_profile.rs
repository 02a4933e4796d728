//! Load profile: the throughput of a traffic in each container, by groups of charges that vary together, so
//! that it can be worked out under other charges, other rates and another number of physical partitions
//! without the plans. Pure.

use super::report::Popularity;
use crate::fan_out_charge::FanOutQueries;
use onehop_store::charges::Calibration;
use onehop_store::{ChargeSource, ContainerName, OperationKind};

/// Charges that vary together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChargeGroup {
    /// Whether the request writes.
    pub of_writes: bool,
    pub kind: OperationKind,
    pub source: ChargeSource,
    /// The peak of its request as thousandths of its mean; `None` where the traffic has one peak.
    pub peak: Option<u32>,
}

/// The load of a traffic on the containers of a plan.
#[derive(Debug, Clone, Default)]
pub(crate) struct LoadProfile {
    pub groups: Vec<ChargeGroup>,
    pub containers: Vec<ContainerProfile>,
}

/// The load on one container, and its content.
#[derive(Debug, Clone)]
pub(crate) struct ContainerProfile {
    pub container: ContainerName,
    /// Of all its items as JSON.
    pub bytes: f64,
    /// Of its largest logical partition, and of its largest item.
    pub partition_bytes_max: f64,
    pub item_bytes_max: f64,
    /// Whether it has a single logical partition by design.
    pub is_single: bool,
    pub even: VariedLoad,
    pub zipf: VariedLoad,
}

/// Throughputs in RU/s by the number of the group of charges.
#[derive(Debug, Clone, Default)]
pub(crate) struct VariedLoad {
    /// Of the container, without queries across logical partitions.
    pub total: Vec<f64>,
    /// Of each logical partition that may be the most loaded one.
    pub hottest: Vec<Vec<f64>>,
    pub fan_outs: Vec<FanOutLoad>,
}

/// Queries across logical partitions at a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FanOutLoad {
    pub group: usize,
    /// Requests a second.
    pub per_second: f64,
    /// Of one request.
    pub queries: FanOutQueries,
}

impl ContainerProfile {
    pub fn load(&self, popularity: Popularity) -> &VariedLoad {
        match popularity {
            Popularity::Even => &self.even,
            Popularity::Zipf => &self.zipf,
        }
    }
}

impl VariedLoad {
    /// RU/s without queries across logical partitions. `factors`: of each group.
    pub fn total(&self, factors: &[f64]) -> f64 {
        weighted(&self.total, factors)
    }

    /// RU/s of the most loaded logical partition.
    pub fn hottest(&self, factors: &[f64]) -> f64 {
        self.hottest.iter().map(|partition| weighted(partition, factors)).fold(0.0, f64::max)
    }

    /// RU/s of queries across logical partitions with this number of physical partitions.
    pub fn fan_outs(&self, factors: &[f64], calibration: &Calibration, physical_partitions: u32) -> f64 {
        let throughput = |load: &FanOutLoad| {
            factors[load.group] * load.per_second * load.queries.charge_at(calibration, physical_partitions)
        };
        self.fan_outs.iter().map(throughput).fold(0.0, |sum, throughput| sum + throughput)
    }

    /// This many times the load.
    pub fn times(&self, multiple: f64) -> Self {
        let mut load = self.clone();
        load.total
            .iter_mut()
            .chain(load.hottest.iter_mut().flatten())
            .for_each(|throughput| *throughput *= multiple);
        load.fan_outs.iter_mut().for_each(|queries| queries.per_second *= multiple);
        load
    }

    /// The load of two containers in one database.
    pub fn beside(mut self, other: &Self) -> Self {
        self.total.resize(self.total.len().max(other.total.len()), 0.0);
        self.total.iter_mut().zip(&other.total).for_each(|(sum, throughput)| *sum += throughput);
        self.hottest.extend(other.hottest.iter().cloned());
        self.fan_outs.extend(&other.fan_outs);
        self
    }
}

fn weighted(throughputs: &[f64], factors: &[f64]) -> f64 {
    throughputs.iter().zip(factors).fold(0.0, |sum, (throughput, factor)| sum + throughput * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_of_a_database_add_up() {
        let load = |throughput: f64| VariedLoad {
            total: vec![throughput],
            hottest: vec![vec![throughput / 2.0]],
            fan_outs: Vec::new(),
        };
        let both = load(4.0).beside(&load(10.0));
        assert_eq!((both.total(&[2.0]), both.hottest(&[2.0])), (28.0, 10.0));
    }
}
