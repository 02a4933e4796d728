//! The report on logical partitions: their sizes as a histogram, and the load of the busiest.

use serde::Serialize;

use crate::azure_limits::{LOGICAL_PARTITION_BYTES_MAX, LOGICAL_PARTITION_THROUGHPUT_MAX};
use crate::designs::LogicalPartitions;
use onehop_store::ContainerName;

/// Size classes of a power of ten: up to 1, 2 and 5 times it.
const CLASSES: [f64; 3] = [1.0, 2.0, 5.0];
/// The least size class, in bytes.
const CLASS_MIN: f64 = 100.0;

/// The distribution of requests over the items that they are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Popularity {
    /// Each as often as any other.
    Even,
    /// Zipf's law: the k-th a k-th as often as the first.
    Zipf,
}

impl Popularity {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Even, Self::Zipf];

    /// Its name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Zipf => "Zipf",
        }
    }
}

/// The logical partitions of a container of a design.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionSummary {
    /// The design.
    pub design: String,
    /// The container.
    pub container: ContainerName,
    /// The paths of its partition key, with commas between.
    pub partition_key: String,
    /// Their number.
    pub logical_partitions: f64,
    /// Items and entries of each.
    pub items: Spread,
    /// Bytes of JSON of each.
    pub bytes: Spread,
    /// The largest one's share of 20 GB, without indexes.
    pub share_of_storage_limit: f64,
    /// Their sizes as a histogram, without empty classes at its ends.
    pub sizes: Vec<SizeClass>,
    /// For each popularity; empty without a traffic.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<BusiestLoad>,
}

/// The median, the 99th percentile and the largest of many sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest; at most this where not all are sampled.
    pub largest: f64,
}

/// The logical partitions of similar size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SizeClass {
    /// The most bytes of one.
    pub bytes_max: f64,
    /// Their number.
    pub partitions: f64,
}

/// The load of a traffic on a container, and on its busiest logical partition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BusiestLoad {
    /// The assumed popularity, where a request states none.
    pub popularity: Popularity,
    /// RU/s of the container, without queries across logical partitions.
    pub throughput: f64,
    /// RU/s of the busiest logical partition, at most.
    pub largest: f64,
    /// The share of 10,000 RU/s that it takes.
    pub share_of_throughput_limit: f64,
    /// The multiple of the traffic at which it takes all of them; `None` without a load.
    pub traffic_multiple_max: Option<f64>,
    /// The requests that it serves, the largest share first.
    pub requests: Vec<RequestShare>,
}

/// The share of a request in the load of the busiest logical partition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestShare {
    /// The request's name.
    pub request: String,
    /// Of 1.
    pub share: f64,
}

impl PartitionSummary {
    /// `bytes_max`: of the largest logical partition, where it may be outside the sample.
    #[must_use]
    pub(crate) fn of(
        (design, container, partition_key): (String, ContainerName, String),
        found: &LogicalPartitions,
        bytes_max: f64,
        loads: Vec<BusiestLoad>,
    ) -> Self {
        let mut items: Vec<f64> = found.sampled.iter().map(|size| size.items).collect();
        items.sort_by(f64::total_cmp);
        let bytes: Vec<f64> = found.sampled.iter().map(|size| size.bytes).collect();
        let mut bytes_spread = Spread::of(&bytes);
        if (bytes.len() as f64) < found.number {
            bytes_spread.largest = bytes_spread.largest.max(bytes_max);
        }
        Self {
            design,
            container,
            partition_key,
            logical_partitions: found.number.round(),
            items: Spread::of(&items),
            bytes: bytes_spread,
            share_of_storage_limit: bytes_spread.largest / LOGICAL_PARTITION_BYTES_MAX,
            sizes: histogram(&bytes, found.number),
            loads,
        }
    }
}

impl Spread {
    /// By nearest rank, of sorted values; zeros of nothing.
    fn of(sorted: &[f64]) -> Self {
        let at = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100).max(1);
            sorted.get(rank - 1).copied().unwrap_or(0.0)
        };
        Self { median: at(50), p99: at(99), largest: at(100) }
    }
}

impl BusiestLoad {
    /// `by_request`: RU/s of the busiest logical partition for each request.
    #[must_use]
    pub(crate) fn of(popularity: Popularity, throughput: f64, by_request: &[(String, f64)]) -> Self {
        let largest = by_request.iter().fold(0.0, |sum, (_, part)| sum + part);
        let share = |(request, part): &(String, f64)| {
            let share = if largest > 0.0 { part / largest } else { 0.0 };
            RequestShare { request: request.clone(), share }
        };
        let mut requests: Vec<RequestShare> =
            by_request.iter().map(share).filter(|found| found.share > 0.0).collect();
        requests.sort_by(|one, other| other.share.total_cmp(&one.share));
        Self {
            popularity,
            throughput,
            largest,
            share_of_throughput_limit: largest / LOGICAL_PARTITION_THROUGHPUT_MAX,
            traffic_multiple_max: (largest > 0.0).then(|| LOGICAL_PARTITION_THROUGHPUT_MAX / largest),
            requests,
        }
    }
}

/// Size classes from the smallest to the largest. `number`: of all logical partitions.
fn histogram(bytes: &[f64], number: f64) -> Vec<SizeClass> {
    let each = number / bytes.len().max(1) as f64;
    let mut classes: Vec<SizeClass> = Vec::new();
    let mut rest = bytes.iter().peekable();
    for bound in (0..).flat_map(|power| CLASSES.map(|class| CLASS_MIN * class * 10_f64.powi(power))) {
        let mut partitions = 0.0;
        while rest.next_if(|bytes| **bytes <= bound).is_some() {
            partitions += each;
        }
        if partitions > 0.0 || !classes.is_empty() {
            classes.push(SizeClass { bytes_max: bound, partitions: partitions.round() });
        }
        if rest.peek().is_none() || bound > 1e18 {
            break;
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::designs::PartitionSize;

    #[test]
    fn sizes_are_a_histogram_of_all_partitions() {
        let sampled = [80.0, 150.0, 190.0, 900.0].map(|bytes| PartitionSize { items: bytes / 10.0, bytes });
        let found = LogicalPartitions { number: 40.0, sampled: sampled.into() };
        let place = ("V1".to_owned(), ContainerName("orders"), "/customerId".to_owned());
        let report = PartitionSummary::of(place, &found, 5_000.0, Vec::new());
        let classes: Vec<_> = report.sizes.iter().map(|class| (class.bytes_max, class.partitions)).collect();
        assert_eq!(classes, [(100.0, 10.0), (200.0, 20.0), (500.0, 0.0), (1_000.0, 10.0)]);
        assert_eq!((report.bytes.median, report.bytes.largest, report.items.largest), (150.0, 5_000.0, 90.0));
    }

    #[test]
    fn without_partitions_there_is_no_class() {
        assert_eq!(histogram(&[], 0.0), []);
    }

    #[test]
    fn the_busiest_partition_names_its_requests() {
        let by_request = [("Q1".to_owned(), 100.0), ("Q2".to_owned(), 400.0), ("Q3".to_owned(), 0.0)];
        let load = BusiestLoad::of(Popularity::Even, 2_000.0, &by_request);
        assert_eq!((load.largest, load.traffic_multiple_max), (500.0, Some(20.0)));
        let shares: Vec<_> = load.requests.iter().map(|part| (part.request.as_str(), part.share)).collect();
        assert_eq!(shares, [("Q2", 0.8), ("Q1", 0.2)]);
        assert_eq!(BusiestLoad::of(Popularity::Zipf, 0.0, &[]).traffic_multiple_max, None);
    }
}
