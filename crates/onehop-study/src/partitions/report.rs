//! The report on partition keys, in figures.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::bearable::{SustainableRate, bears};
use super::contents::ContainerContents;
use super::fan_out::{FanOutStudy, FanOutThroughput, fan_outs};
use super::footprint::Footprint;
use super::load::{Load, LoadModel, PartitionCount};
use super::population::{Popularity, Population, Shares};
use super::ratio;
use super::verdict::{KeyFigures, KeyVerdict};
use crate::azure_limits::LOGICAL_PARTITION_BYTES_MAX;
use crate::measurement::Measurements;
use crate::rates::RequestRate;
use onehop_store::ContainerName;
use onehop_store::charges::Calibration;

/// The input of a report on partition keys.
pub struct PartitionStudy<'a> {
    /// The data model whose database was read and measured.
    pub model: &'a str,
    pub contents: &'a [ContainerContents],
    pub population: &'a Population,
    pub footprints: &'a [Footprint],
    /// The multiple of the measured data.
    pub data_scale: f64,
    pub rates: Vec<RequestRate>,
    /// Of all data models.
    pub measurements: &'a Measurements,
    /// Physical partitions of a container under a plan; `None` where they are not known: then as many as were
    /// measured with.
    pub physical_partitions: &'a dyn Fn(&str, ContainerName) -> Option<u32>,
    pub calibration: &'a Calibration,
}

/// The findings about the partition keys of a database, and the effect of a traffic on them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionReport {
    /// The data model whose containers these are.
    pub model: String,
    /// The traffic for which request charges were worked out.
    pub rates: Vec<RequestRate>,
    /// The multiple of the measured data: as many times the logical partitions, with the same contents each.
    pub data_scale: f64,
    /// The ranking of entities by popularity, as a sentence.
    #[serde(skip)]
    pub ranking: String,
    pub popularities: Vec<PopularityShares>,
    pub containers: Vec<ContainerPartitions>,
    /// Under each data model.
    pub fan_outs: Vec<FanOutThroughput>,
}

/// The effect of a popularity in this database.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PopularityShares {
    pub popularity: Popularity,
    #[serde(flatten, serialize_with = "by_key")]
    pub highlights: Vec<HighlightShare>,
    /// The container whose largest logical partition is the first to reach 10,000 RU/s; `None` without
    /// requests.
    pub first_at_limit: Option<ContainerName>,
}

/// The share of the requests that a [`Highlight`](super::Highlight) gets.
#[derive(Debug, Clone, PartialEq)]
pub struct HighlightShare {
    pub key: String,
    pub text: String,
    /// Of 1.
    pub share: f64,
}

/// One container's logical partitions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerPartitions {
    pub container: ContainerName,
    pub partition_key: &'static str,
    pub logical_partitions: u64,
    pub items: Spread,
    /// Of JSON, without indexes.
    pub bytes: Spread,
    /// Of all logical partitions.
    pub total_bytes: u64,
    /// The largest logical partition as a multiple of the mean, in bytes.
    pub storage_skew: f64,
    /// The largest logical partition's share of 20 GB.
    pub share_of_storage_limit: f64,
    /// One for each [`Popularity`].
    pub loads: Vec<Load>,
    /// The highest rate of each request alone in one logical partition.
    pub bears: Vec<SustainableRate>,
    pub verdict: KeyVerdict,
}

/// The median, the 99th percentile and the largest of many sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    pub median: u64,
    pub p99: u64,
    pub largest: u64,
}

impl PartitionReport {
    /// Works out the report.
    #[must_use]
    pub fn of(study: PartitionStudy<'_>) -> Self {
        let PartitionStudy { contents, population, footprints, data_scale, ref rates, measurements, .. } =
            study;
        let requests = &measurements.requests;
        let count = |contents: &ContainerContents| PartitionCount {
            container: contents.container,
            known: contents.sizes.len(),
            scale: contents.scale(data_scale),
        };
        let containers: Vec<PartitionCount> = contents.iter().map(count).collect();
        let model_of_load =
            LoadModel { containers: &containers, population, data_scale, requests, footprints, rates };
        let loads = Popularity::ALL.map(|popularity| model_of_load.loads(popularity));
        let container = |(number, contents): (usize, &ContainerContents)| {
            let loads = loads.iter().map(|loads| loads[number].clone()).collect();
            ContainerPartitions::of(contents, loads, bears(contents.container, requests, footprints))
        };
        let containers: Vec<ContainerPartitions> = contents.iter().enumerate().map(container).collect();
        let popularities = Popularity::ALL
            .into_iter()
            .map(|popularity| {
                let shares = Shares::of(population, popularity, data_scale);
                PopularityShares::of(popularity, population, &shares, &containers)
            })
            .collect();
        let across = FanOutStudy {
            measurements,
            rates,
            physical_partitions: study.physical_partitions,
            calibration: study.calibration,
        };
        Self {
            model: study.model.to_owned(),
            fan_outs: fan_outs(&across),
            ranking: population.ranking.clone(),
            popularities,
            containers,
            data_scale,
            rates: study.rates,
        }
    }
}

impl PopularityShares {
    fn of(
        popularity: Popularity,
        population: &Population,
        shares: &Shares<'_>,
        containers: &[ContainerPartitions],
    ) -> Self {
        let largest = |container: &&ContainerPartitions| container.load(popularity).map(|load| load.largest);
        let first =
            containers.iter().filter(|container| largest(container) > Some(0.0)).max_by(|one, other| {
                largest(one).partial_cmp(&largest(other)).unwrap_or(std::cmp::Ordering::Equal)
            });
        let highlights = population.highlights.iter().map(|highlight| HighlightShare {
            key: highlight.key.clone(),
            text: highlight.text.clone(),
            share: shares.of_subset(&highlight.subset),
        });
        Self {
            popularity,
            highlights: highlights.collect(),
            first_at_limit: first.map(|container| container.container),
        }
    }
}

/// As properties of the object around them.
fn by_key<S: Serializer>(highlights: &[HighlightShare], serializer: S) -> Result<S::Ok, S::Error> {
    let by_key: BTreeMap<&str, f64> =
        highlights.iter().map(|highlight| (highlight.key.as_str(), highlight.share)).collect();
    by_key.serialize(serializer)
}

impl ContainerPartitions {
    fn of(contents: &ContainerContents, loads: Vec<Load>, bears: Vec<SustainableRate>) -> Self {
        let logical_partitions = contents.sizes.len() as u64;
        let items = Spread::of(contents.sizes.values().map(|size| size.items).collect());
        let bytes = Spread::of(contents.sizes.values().map(|size| size.bytes).collect());
        let total: u64 = contents.sizes.values().map(|size| size.bytes).sum();
        let storage_skew = ratio(bytes.largest as f64 * logical_partitions as f64, total as f64);
        let storage_skew = storage_skew.unwrap_or(0.0);
        let figures = KeyFigures {
            logical_partitions,
            items_median: items.median,
            storage_skew,
            loads: &loads,
            bears: &bears,
        };
        Self {
            container: contents.container,
            partition_key: contents.partition_key,
            logical_partitions,
            items,
            bytes,
            total_bytes: total,
            storage_skew,
            share_of_storage_limit: bytes.largest as f64 / LOGICAL_PARTITION_BYTES_MAX,
            verdict: KeyVerdict::on(&figures, contents.single.as_ref()),
            loads,
            bears,
        }
    }

    /// The load under a popularity.
    #[must_use]
    pub fn load(&self, popularity: Popularity) -> Option<&Load> {
        self.loads.iter().find(|load| load.popularity == popularity)
    }
}

impl Spread {
    /// By nearest rank; zeros of nothing.
    fn of(mut sizes: Vec<u64>) -> Self {
        sizes.sort_unstable();
        let at = |percent: usize| {
            let rank = (sizes.len() * percent).div_ceil(100).max(1);
            sizes.get(rank - 1).copied().unwrap_or(0)
        };
        Self { median: at(50), p99: at(99), largest: at(100) }
    }
}
