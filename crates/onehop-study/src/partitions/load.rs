//! Load: the throughput that a traffic makes each logical partition serve, from the footprints of its
//! requests and the popularity of their subjects. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::footprint::Footprint;
use super::population::{Popularity, Population, Shares};
use super::ratio;
use super::spread::{MetPartition, RatedFootprint};
use crate::azure_limits::LOGICAL_PARTITION_THROUGHPUT_MAX;
use crate::measurement::StudyRequest;
use crate::rates::RequestRate;
use onehop_store::ContainerName;

/// The load of a container, and its most loaded logical partition. Throughputs are in RU/s.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Load {
    pub popularity: Popularity,
    /// Of the whole container.
    pub throughput: f64,
    /// Of that, on logical partitions that the requests themselves make. No reader comes back to those here.
    pub throughput_of_new: f64,
    /// The rest for each logical partition, in the mean.
    pub mean: f64,
    pub largest: f64,
    /// The largest as a multiple of the mean; `None` if nothing comes to partitions that existed before.
    pub skew: Option<f64>,
    /// The largest's share of 10,000 RU/s.
    pub share_of_throughput_limit: f64,
    /// At this many times the traffic the largest reaches 10,000 RU/s; `None` if it never does.
    pub traffic_multiple_max: Option<f64>,
    /// The load of the largest, the most first.
    pub requests_of_largest: Vec<RequestLoad>,
}

/// The throughput of one request in one logical partition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestLoad {
    pub request: String,
    /// RU/s.
    pub throughput: f64,
}

/// RU/s in a container.
#[derive(Debug, Clone, Default)]
struct ContainerThroughput {
    by_partition: Vec<f64>,
    /// Logical partitions, including partitions outside the sample.
    partitions: f64,
    of_new: f64,
    of_unknown: f64,
    of_all: f64,
}

type Throughputs = BTreeMap<ContainerName, ContainerThroughput>;

/// The number of logical partitions of a container.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartitionCount {
    pub container: ContainerName,
    /// In the sample.
    pub known: usize,
    /// The factor of their number.
    pub scale: f64,
}

/// Footprints and rates, spread over the population.
pub(super) struct LoadModel<'a> {
    pub containers: &'a [PartitionCount],
    pub population: &'a Population,
    pub data_scale: f64,
    pub requests: &'a [StudyRequest],
    pub footprints: &'a [Footprint],
    pub rates: &'a [RequestRate],
}

impl LoadModel<'_> {
    /// The load of each container, in their order.
    pub fn loads(&self, popularity: Popularity) -> Vec<Load> {
        let shares = Shares::of(self.population, popularity, self.data_scale);
        let mut all = self.idle();
        self.requests.iter().for_each(|request| self.serve(&mut all, &request.name, &shares));
        let largest: BTreeMap<ContainerName, usize> = all
            .iter()
            .filter_map(|(container, throughput)| Some((*container, throughput.largest()?)))
            .collect();
        let mut of_largest: BTreeMap<ContainerName, Vec<RequestLoad>> = BTreeMap::new();
        for request in self.requests {
            let mut alone = self.idle();
            self.serve(&mut alone, &request.name, &shares);
            for (container, largest) in &largest {
                let throughput = alone[container].of(*largest);
                if throughput > 0.0 {
                    let load = RequestLoad { request: request.name.clone(), throughput };
                    of_largest.entry(*container).or_default().push(load);
                }
            }
        }
        let load = |count: &PartitionCount| {
            let mut requests = of_largest.remove(&count.container).unwrap_or_default();
            requests.sort_by(|one, other| other.throughput.total_cmp(&one.throughput));
            all[&count.container].load(popularity, requests)
        };
        self.containers.iter().map(load).collect()
    }

    fn idle(&self) -> Throughputs {
        let idle = |count: &PartitionCount| ContainerThroughput {
            by_partition: vec![0.0; count.known],
            partitions: count.known as f64 * count.scale,
            ..ContainerThroughput::default()
        };
        self.containers.iter().map(|count| (count.container, idle(count))).collect()
    }

    fn serve(&self, throughputs: &mut Throughputs, request: &str, shares: &Shares<'_>) {
        let rates = self.rates.iter().filter(|rate| rate.request == request);
        let per_second: f64 = rates.map(|rate| rate.per_second).sum();
        for footprint in self.footprints.iter().filter(|footprint| footprint.request == request) {
            let rated = RatedFootprint { footprint, per_second, population: self.population, shares };
            rated.for_each(&mut |part, met, per_second| {
                if let Some(served) = throughputs.get_mut(&part.container) {
                    served.add(met, per_second * part.request_charge);
                }
            });
        }
    }
}

impl ContainerThroughput {
    fn add(&mut self, met: MetPartition, throughput: f64) {
        let sum = match met {
            MetPartition::Known(position) if position < self.by_partition.len() => {
                &mut self.by_partition[position]
            }
            // Beyond the last: made after the contents were counted.
            MetPartition::Known(_) | MetPartition::New => &mut self.of_new,
            MetPartition::Unknown => &mut self.of_unknown,
            MetPartition::All => &mut self.of_all,
        };
        *sum += throughput;
    }

    fn largest(&self) -> Option<usize> {
        let by_load = self.by_partition.iter().enumerate().max_by(|one, other| one.1.total_cmp(other.1));
        by_load.map(|(partition, _)| partition)
    }

    /// The throughput of one logical partition, with its even part of the load without a particular
    /// partition.
    fn of(&self, partition: usize) -> f64 {
        self.by_partition[partition] + self.of_all / self.partitions
    }

    fn load(&self, popularity: Popularity, requests_of_largest: Vec<RequestLoad>) -> Load {
        let in_existing: f64 = self.by_partition.iter().sum::<f64>() + self.of_unknown + self.of_all;
        let mean = ratio(in_existing, self.partitions).unwrap_or(0.0);
        let largest = self.largest().map_or(0.0, |partition| self.of(partition));
        Load {
            popularity,
            throughput: in_existing + self.of_new,
            throughput_of_new: self.of_new,
            mean,
            largest,
            skew: ratio(largest, mean),
            share_of_throughput_limit: largest / LOGICAL_PARTITION_THROUGHPUT_MAX,
            traffic_multiple_max: ratio(LOGICAL_PARTITION_THROUGHPUT_MAX, largest),
            requests_of_largest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partitions::fixtures::{
        ACCOUNTS, FEED, POSTS, USERS, about_posts, footprint, population, requests,
    };
    use crate::partitions::{EntityPartitions, EntityRole, FootprintPart, PartitionRole};

    const SIZES: [(ContainerName, usize); 4] = [(USERS, 2), (POSTS, 4), (FEED, 1), (ACCOUNTS, 2)];

    fn counts() -> [PartitionCount; 4] {
        SIZES.map(|(container, known)| PartitionCount { container, known, scale: 1.0 })
    }

    /// Two users: the first wrote the newest post and the oldest, the second the two between.
    const AUTHORS: [usize; 4] = [0, 1, 1, 0];

    fn rate(request: &str, per_second: f64) -> RequestRate {
        RequestRate { request: request.to_owned(), per_second }
    }

    fn loads_of(
        population: &Population,
        footprints: &[Footprint],
        rates: &[RequestRate],
        popularity: Popularity,
    ) -> Vec<Load> {
        let model = LoadModel {
            containers: &counts(),
            population,
            data_scale: 1.0,
            requests: &requests(),
            footprints,
            rates,
        };
        model.loads(popularity)
    }

    fn load(container: ContainerName, loads: &[Load]) -> &Load {
        &loads[SIZES.iter().position(|(name, _)| *name == container).unwrap()]
    }

    #[test]
    fn entities_are_asked_about_as_often_as_they_are_popular() {
        let footprints = [footprint("Q4", None, POSTS, PartitionRole::entity("post"), 5.0)];
        let rates = [rate("Q4", 10.0)];
        let even = loads_of(&population(2, &AUTHORS), &footprints, &rates, Popularity::Even);
        let posts = load(POSTS, &even);
        assert_eq!((posts.throughput, posts.mean, posts.largest, posts.skew), (50.0, 12.5, 12.5, Some(1.0)));
        assert_eq!((posts.share_of_throughput_limit, posts.traffic_multiple_max), (0.00125, Some(800.0)));
        let zipf = loads_of(&population(2, &AUTHORS), &footprints, &rates, Popularity::Zipf);
        let posts = load(POSTS, &zipf);
        assert!((posts.largest - 24.0).abs() < 1e-9 && (posts.mean - 12.5).abs() < 1e-9, "{posts:?}");
        assert!((posts.skew.unwrap() - 1.92).abs() < 1e-9);
        assert!((posts.share_of_throughput_limit - 0.0024).abs() < 1e-12);
        assert!((posts.traffic_multiple_max.unwrap() - 10_000.0 / 24.0).abs() < 1e-9);
    }

    #[test]
    fn an_author_bears_what_is_done_to_their_posts() {
        let [author, user] = ["author", "user"].map(PartitionRole::entity);
        let mut footprint = footprint("C3", None, USERS, author, 12.0);
        let part = footprint.parts[0].clone();
        footprint.parts.push(FootprintPart { role: user, request_charge: 1.0, ..part });
        let zipf = loads_of(&population(2, &AUTHORS), &[footprint], &[rate("C3", 2.0)], Popularity::Zipf);
        // The first user: 24 RU/s of authors by 15/25, and 2 RU/s of users by 2/3.
        let users = load(USERS, &zipf);
        assert!((users.largest - (14.4 + 4.0 / 3.0)).abs() < 1e-9, "{users:?}");
        assert!((users.throughput - 26.0).abs() < 1e-9 && (users.mean - 13.0).abs() < 1e-9);
    }

    #[test]
    fn a_single_partition_bears_all_readers_and_its_changes() {
        let of_feed = |about, charge| footprint("C3", about, FEED, PartitionRole::Only, charge);
        let footprints = [
            footprint("Q6", None, FEED, PartitionRole::Only, 20.0),
            of_feed(Some(about_posts(0..100)), 6.0),
            of_feed(Some(about_posts(100..400)), 0.5),
        ];
        let rates = [rate("Q6", 10.0), rate("C3", 8.0)];
        let even = loads_of(&population(2, &[0; 400]), &footprints, &rates, Popularity::Even);
        let feed = load(FEED, &even);
        // A quarter of the posts are in the feed.
        assert!((feed.largest - (200.0 + 8.0 * (0.25 * 6.0 + 0.75 * 0.5))).abs() < 1e-9, "{feed:?}");
        assert_eq!(feed.skew, Some(1.0));
        let requests: Vec<&str> = feed.requests_of_largest.iter().map(|load| load.request.as_str()).collect();
        assert_eq!(requests, ["Q6", "C3"]);
        let sum: f64 = feed.requests_of_largest.iter().map(|load| load.throughput).sum();
        assert!((sum - feed.largest).abs() < 1e-9);
    }

    #[test]
    fn a_subset_of_one_kind_is_shared_by_the_entities_of_another() {
        let of_users = |ranks, charge| {
            footprint("C3", Some(about_posts(ranks)), USERS, PartitionRole::entity("user"), charge)
        };
        let footprints = [of_users(0..1, 4.0), of_users(1..4, 8.0)];
        let even = loads_of(&population(2, &AUTHORS), &footprints, &[rate("C3", 1.0)], Popularity::Even);
        // A quarter of 4 RU and three quarters of 8 RU, by two users.
        let users = load(USERS, &even);
        assert_eq!((users.throughput, users.largest), (7.0, 3.5));
    }

    #[test]
    fn a_group_of_partitions_serves_a_request_in_even_parts() {
        let mut population = population(2, &AUTHORS);
        let groups = EntityPartitions::Groups(vec![vec![0, 3], vec![1, 2]]);
        let role = EntityRole { kind: "user".to_owned(), partitions: groups };
        population.roles.insert("posts of the user".to_owned(), role);
        let group = PartitionRole::Group("posts of the user".to_owned());
        let footprints = [footprint("Q4", None, POSTS, group, 6.0)];
        let zipf = loads_of(&population, &footprints, &[rate("Q4", 1.0)], Popularity::Zipf);
        // The first user is asked about twice as often as the second: 2 RU/s in each post of the first.
        let posts = load(POSTS, &zipf);
        assert!((posts.largest - 2.0).abs() < 1e-9 && (posts.throughput - 6.0).abs() < 1e-9, "{posts:?}");
    }

    #[test]
    fn a_new_partition_is_in_no_mean_and_loads_no_existing_one() {
        let footprints = [footprint("C1", None, ACCOUNTS, PartitionRole::New, 6.0)];
        let even = loads_of(&population(2, &AUTHORS), &footprints, &[rate("C1", 3.0)], Popularity::Even);
        let accounts = load(ACCOUNTS, &even);
        assert_eq!((accounts.throughput, accounts.throughput_of_new, accounts.mean), (18.0, 18.0, 0.0));
        assert_eq!((accounts.largest, accounts.skew, accounts.traffic_multiple_max), (0.0, None, None));
    }

    #[test]
    fn what_belongs_to_no_partition_in_particular_is_shared_by_all() {
        let mut footprint = footprint("Q4", None, POSTS, PartitionRole::Elsewhere, 8.0);
        let role = PartitionRole::entity("post");
        let part = footprint.parts[0].clone();
        footprint.parts.push(FootprintPart { role, request_charge: 4.0, ..part });
        let rates = [rate("Q4", 1.0), rate("Q4", 1.0)];
        let even = loads_of(&population(2, &AUTHORS), &[footprint], &rates, Popularity::Even);
        let posts = load(POSTS, &even);
        assert_eq!((posts.throughput, posts.largest, posts.mean, posts.skew), (24.0, 6.0, 6.0, Some(1.0)));
    }

    #[test]
    fn an_empty_database_has_loads_without_dividing_by_nothing() {
        let footprints = [footprint("Q4", None, POSTS, PartitionRole::entity("post"), 5.0)];
        let (population, requests, rates) = (population(0, &[]), requests(), [rate("Q4", 1.0)]);
        let model = LoadModel {
            containers: &[PartitionCount { container: POSTS, known: 0, scale: 1.0 }],
            population: &population,
            data_scale: 1.0,
            requests: &requests,
            footprints: &footprints,
            rates: &rates,
        };
        let found = model.loads(Popularity::Zipf);
        assert_eq!((found[0].throughput, found[0].mean, found[0].skew), (0.0, 0.0, None));
    }
}
