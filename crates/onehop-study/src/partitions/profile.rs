//! Load profile: the throughput of a traffic in each container, by groups of charges that vary together, so
//! that it can be worked out under other charges, other rates and another number of physical partitions
//! without the footprints. Pure.

use std::collections::BTreeMap;

use super::contents::ContainerContents;
use super::footprint::{Footprint, FootprintPart};
use super::population::{Popularity, Population, Shares};
use super::spread::{MetPartition, RatedFootprint};
use crate::fan_out_charge::FanOutQueries;
use crate::measurement::StudyRequest;
use crate::rates::RequestRate;
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

/// The input of a profile.
pub(crate) struct ProfileInput<'a> {
    pub contents: &'a [ContainerContents],
    pub population: &'a Population,
    pub data_scale: f64,
    pub requests: &'a [StudyRequest],
    pub footprints: &'a [Footprint],
    pub rates: &'a [RequestRate],
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

impl LoadProfile {
    pub fn of(input: &ProfileInput<'_>) -> Self {
        let groups = groups(input);
        let [even, zipf] = Popularity::ALL.map(|popularity| input.loads(popularity, &groups));
        let profile = |((contents, even), zipf): ((&ContainerContents, VariedLoad), VariedLoad)| {
            let scale = contents.scale(input.data_scale);
            let bytes = contents.sizes.values().map(|size| size.bytes);
            let all: u64 = bytes.clone().sum();
            ContainerProfile {
                container: contents.container,
                bytes: all as f64 * scale,
                partition_bytes_max: bytes.max().unwrap_or(0) as f64,
                item_bytes_max: contents.item_bytes_max as f64,
                is_single: contents.single.is_some(),
                even,
                zipf,
            }
        };
        let containers = input.contents.iter().zip(even).zip(zipf).map(profile).collect();
        Self { groups, containers }
    }
}

/// The group of a part of a request's footprint.
fn group_of(part: &FootprintPart, of_writes: bool) -> ChargeGroup {
    ChargeGroup { of_writes, kind: part.kind, source: part.source, peak: None }
}

fn groups(input: &ProfileInput<'_>) -> Vec<ChargeGroup> {
    let mut groups = Vec::new();
    for footprint in input.footprints {
        let of_writes = input.is_write(&footprint.request);
        for part in &footprint.parts {
            let group = group_of(part, of_writes);
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
    }
    groups
}

/// The load on one container while it is summed up.
struct LoadSum {
    scale: f64,
    by_partition: Vec<Vec<f64>>,
    total: Vec<f64>,
    of_all: Vec<f64>,
    fan_outs: Vec<FanOutLoad>,
}

impl ProfileInput<'_> {
    fn is_write(&self, request: &str) -> bool {
        self.requests.iter().any(|known| known.name == request && known.is_write)
    }

    fn loads(&self, popularity: Popularity, groups: &[ChargeGroup]) -> Vec<VariedLoad> {
        let shares = Shares::of(self.population, popularity, self.data_scale);
        let idle = |contents: &ContainerContents| {
            let sum = LoadSum::idle(contents, contents.scale(self.data_scale), groups.len());
            (contents.container, sum)
        };
        let mut sums: BTreeMap<ContainerName, LoadSum> = self.contents.iter().map(idle).collect();
        for footprint in self.footprints {
            let of_writes = self.is_write(&footprint.request);
            let rates = self.rates.iter().filter(|rate| rate.request == footprint.request);
            let per_second = rates.map(|rate| rate.per_second).fold(0.0, |sum, rate| sum + rate);
            let rated =
                RatedFootprint { footprint, per_second, population: self.population, shares: &shares };
            rated.for_each(&mut |part, met, per_second| {
                let group = groups.iter().position(|group| *group == group_of(part, of_writes));
                if let Some((sum, group)) = sums.get_mut(&part.container).zip(group) {
                    sum.add(part, met, per_second, group);
                }
            });
        }
        self.contents.iter().filter_map(|contents| Some(sums.remove(&contents.container)?.load())).collect()
    }
}

impl LoadSum {
    fn idle(contents: &ContainerContents, scale: f64, groups: usize) -> Self {
        let nothing = vec![0.0; groups];
        Self {
            scale,
            by_partition: vec![nothing.clone(); contents.sizes.len()],
            total: nothing.clone(),
            of_all: nothing,
            fan_outs: Vec::new(),
        }
    }

    fn add(&mut self, part: &FootprintPart, met: MetPartition, per_second: f64, group: usize) {
        if let Some(queries) = part.across {
            self.fan_outs.push(FanOutLoad { group, per_second, queries });
            return;
        }
        let throughput = per_second * part.request_charge;
        self.total[group] += throughput;
        match met {
            MetPartition::Known(position) => {
                if let Some(partition) = self.by_partition.get_mut(position) {
                    partition[group] += throughput;
                }
            }
            MetPartition::All => self.of_all[group] += throughput,
            MetPartition::New | MetPartition::Unknown => {}
        }
    }

    fn load(self) -> VariedLoad {
        let partitions = self.by_partition.len() as f64 * self.scale;
        let mut hottest = undominated(self.by_partition);
        for partition in &mut hottest {
            let with_share = partition.iter_mut().zip(&self.of_all);
            with_share.for_each(|(throughput, of_all)| *throughput += of_all / partitions);
        }
        VariedLoad { total: self.total, hottest, fan_outs: self.fan_outs }
    }
}

/// The partitions that are the most loaded one under some factors: no other has at least as much of each
/// group.
fn undominated(mut partitions: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let sum = |partition: &[f64]| partition.iter().fold(0.0, |sum, throughput| sum + throughput);
    partitions.sort_by(|one, other| sum(other).total_cmp(&sum(one)));
    let mut kept: Vec<Vec<f64>> = Vec::new();
    for partition in partitions {
        let is_dominated = kept.iter().any(|other| other.iter().zip(&partition).all(|(one, two)| one >= two));
        if !is_dominated {
            kept.push(partition);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_partitions_that_may_be_the_hottest_are_kept() {
        let kept = undominated(vec![vec![1.0, 1.0], vec![3.0, 0.0], vec![1.0, 2.0], vec![1.0, 2.0]]);
        assert_eq!(kept, [vec![3.0, 0.0], vec![1.0, 2.0]]);
        let load = VariedLoad { hottest: kept, ..VariedLoad::default() };
        assert_eq!((load.hottest(&[1.0, 1.0]), load.hottest(&[0.5, 1.0])), (3.0, 2.5));
    }

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
