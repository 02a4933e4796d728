//! How a database's items, and the request charges of a traffic, spread over logical partitions, beside the limits of
//! one, with a verdict on each partition key. Pure but for [`Survey`], which reads a database, and
//! [`footprints`], which runs requests on it; it knows neither which store that is nor how the report is shown.

mod fan_out;
mod footprint;
mod load;
mod survey;
#[cfg(test)]
mod tests;
mod verdict;

use serde::Serialize;

pub use fan_out::{FanOut, fan_outs};
pub use footprint::{About, Footprint, Part, Place, footprints};
pub use load::{Load, Popularity, RequestLoad};
pub use survey::{Held, Population, Post, Survey, Surveyed};
pub use verdict::Verdict;

use super::article::ArticleRequest;
use super::report::Row;
use super::traffic::{Rate, even_rates};
use crate::blog::containers::FEED_POSTS_MAX;
use onehop_store::ContainerName;

/// What one logical partition can hold. Source: "Azure Cosmos DB service quotas", learn.microsoft.com.
const LOGICAL_PARTITION_BYTES_MAX: f64 = 20.0 * 1024.0 * 1024.0 * 1024.0;
/// What one physical partition can serve, RU/s. Source: the same.
const PHYSICAL_PARTITION_THROUGHPUT_MAX: f64 = 10_000.0;
/// What one logical partition can serve, RU/s: as much as the physical partition that holds it. Source: the same.
const LOGICAL_PARTITION_THROUGHPUT_MAX: f64 = PHYSICAL_PARTITION_THROUGHPUT_MAX;
/// Reads for each write, where no traffic is given: a blog is read far more often than it is written.
pub const ASSUMED_READS_PER_WRITE: f64 = 100.0;

/// What was found about the partition keys of a database, and what a traffic means for them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionReport {
    /// The traffic for which request charges were worked out.
    pub rates: Vec<Rate>,
    /// Whether nobody gave that traffic: then it is one write a second, and [`ASSUMED_READS_PER_WRITE`].
    pub is_assumed: bool,
    pub popularities: Vec<PopularityShares>,
    pub containers: Vec<ContainerPartitions>,
    /// Under each data model. The containers above are those of V3.
    pub fan_outs: Vec<FanOut>,
}

/// What a popularity means in this database, as shares of 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PopularityShares {
    pub popularity: Popularity,
    /// Of the requests about posts: those about the most popular one.
    pub most_popular_post: f64,
    /// Of the requests about or by users: those about or by the most popular one.
    pub most_popular_user: f64,
    /// Of the requests about posts: those about posts in the feed.
    pub posts_in_feed: f64,
    /// The container whose largest logical partition is the first to reach 10,000 RU/s; `None` without requests.
    pub first_at_limit: Option<ContainerName>,
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
    /// How many times the mean the largest logical partition is, in bytes.
    pub storage_skew: f64,
    /// The largest logical partition's share of 20 GB.
    pub share_of_storage_limit: f64,
    /// One for each [`Popularity`].
    pub loads: Vec<Load>,
    /// What each request alone could come to in one logical partition.
    pub bears: Vec<Bearable>,
    pub verdict: Verdict,
}

/// The middle, the end and the largest of many sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Spread {
    pub median: u64,
    pub p99: u64,
    pub largest: u64,
}

/// How often one logical partition bears a request, if it serves nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bearable {
    pub request: ArticleRequest,
    /// What the logical partition is to the request.
    pub place: Place,
    /// RU in this logical partition, projections included.
    pub request_charge: f64,
    /// Requests a second within 10,000 RU/s.
    pub per_second_max: f64,
}

impl PartitionReport {
    /// Of a database that was surveyed, with the footprints of its requests. `rates`: `None` for the assumed traffic;
    /// `rows`: of all data models.
    #[must_use]
    pub fn of(survey: &Survey, footprints: &[Footprint], rates: Option<Vec<Rate>>, rows: &[Row]) -> Self {
        let is_assumed = rates.is_none();
        let rates = rates.unwrap_or_else(|| even_rates(ASSUMED_READS_PER_WRITE));
        let mut containers: Vec<ContainerPartitions> =
            survey.containers.iter().map(ContainerPartitions::of).collect();
        let sizes: Vec<(ContainerName, usize)> =
            survey.containers.iter().map(|surveyed| (surveyed.container, surveyed.held.len())).collect();
        for popularity in Popularity::ALL {
            let loads = load::loads(&sizes, &survey.population, footprints, &rates, popularity);
            for (container, load) in containers.iter_mut().zip(loads) {
                container.loads.push(load);
            }
        }
        for container in &mut containers {
            container.bears = bears(container.container, footprints);
            container.verdict = Verdict::on(container);
        }
        let popularities = Popularity::ALL
            .into_iter()
            .map(|popularity| PopularityShares::of(popularity, &survey.population, &containers))
            .collect();
        Self { fan_outs: fan_outs(rows, &rates), rates, is_assumed, popularities, containers }
    }
}

impl PopularityShares {
    fn of(popularity: Popularity, population: &Population, containers: &[ContainerPartitions]) -> Self {
        let posts = popularity.shares(population.posts.len());
        let users = popularity.shares(population.users.len());
        let largest = |container: &&ContainerPartitions| container.load(popularity).map(|load| load.largest);
        let first =
            containers.iter().filter(|container| largest(container) > Some(0.0)).max_by(|one, other| {
                largest(one).partial_cmp(&largest(other)).unwrap_or(std::cmp::Ordering::Equal)
            });
        Self {
            popularity,
            most_popular_post: posts.first().copied().unwrap_or(0.0),
            most_popular_user: users.first().copied().unwrap_or(0.0),
            posts_in_feed: posts.iter().take(FEED_POSTS_MAX).fold(0.0, |sum, share| sum + share),
            first_at_limit: first.map(|container| container.container),
        }
    }
}

impl ContainerPartitions {
    /// What a container holds; its loads are for later.
    fn of(surveyed: &Surveyed) -> Self {
        let logical_partitions = surveyed.held.len() as u64;
        let items = Spread::of(surveyed.held.values().map(|held| held.items).collect());
        let bytes = Spread::of(surveyed.held.values().map(|held| held.bytes).collect());
        let total: u64 = surveyed.held.values().map(|held| held.bytes).sum();
        let storage_skew = ratio(bytes.largest as f64 * logical_partitions as f64, total as f64);
        Self {
            container: surveyed.container,
            partition_key: surveyed.partition_key,
            logical_partitions,
            items,
            bytes,
            storage_skew: storage_skew.unwrap_or(0.0),
            share_of_storage_limit: bytes.largest as f64 / LOGICAL_PARTITION_BYTES_MAX,
            loads: Vec::new(),
            bears: Vec::new(),
            verdict: Verdict::default(),
        }
    }

    /// The load under a popularity.
    #[must_use]
    pub fn load(&self, popularity: Popularity) -> Option<&Load> {
        self.loads.iter().find(|load| load.popularity == popularity)
    }
}

/// For each request the logical partition of this container in which it is charged most; new ones are left out, as
/// they are written once.
fn bears(container: ContainerName, footprints: &[Footprint]) -> Vec<Bearable> {
    let costliest = |request: ArticleRequest| {
        let footprints = footprints.iter().filter(|footprint| footprint.request == request);
        let parts = footprints.flat_map(|footprint| &footprint.parts).filter(|part| {
            let is_one = !matches!(part.place, Place::New | Place::Elsewhere);
            part.container == container && is_one && part.request_charge > 0.0
        });
        parts.max_by(|one, other| one.request_charge.total_cmp(&other.request_charge))
    };
    let bearable = |request: ArticleRequest| {
        let Part { place, request_charge, .. } = *costliest(request)?;
        let per_second_max = (LOGICAL_PARTITION_THROUGHPUT_MAX / request_charge).floor();
        Some(Bearable { request, place, request_charge, per_second_max })
    };
    ArticleRequest::ALL.into_iter().filter_map(bearable).collect()
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

/// `None` where there is nothing to divide by.
fn ratio(dividend: f64, divisor: f64) -> Option<f64> {
    (divisor > 0.0).then(|| dividend / divisor)
}
