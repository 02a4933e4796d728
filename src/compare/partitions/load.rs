//! What a traffic makes each logical partition serve, from what its requests are charged where and from how popular
//! posts and users are. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::footprint::{About, Footprint, Part, Place};
use super::survey::Population;
use super::{LOGICAL_PARTITION_THROUGHPUT_MAX, ratio};
use crate::blog::containers::FEED_POSTS_MAX;
use crate::compare::article::ArticleRequest;
use crate::compare::traffic::Rate;
use onehop_store::ContainerName;

/// Whom and what the requests of a traffic are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Popularity {
    /// Every post and every user as often as any other.
    Even,
    /// Zipf's law: the k-th newest post a k-th as often as the newest, and so the users, ranked by their newest posts.
    Zipf,
}

/// What a container serves, and its most loaded logical partition. Throughputs are in RU/s.
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
    /// How many times the mean the largest is; `None` if nothing comes to what was there before.
    pub skew: Option<f64>,
    /// The largest's share of 10,000 RU/s.
    pub share_of_throughput_limit: f64,
    /// At this many times the traffic the largest reaches 10,000 RU/s; `None` if it never does.
    pub traffic_multiple_max: Option<f64>,
    /// What the largest serves, the most first.
    pub requests_of_largest: Vec<RequestLoad>,
}

/// What a request comes to in one logical partition.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestLoad {
    pub request: ArticleRequest,
    /// RU/s.
    pub throughput: f64,
}

/// How often each post and each user is meant, as shares of 1.
struct Shares {
    posts: Vec<f64>,
    users: Vec<f64>,
}

/// RU/s in a container.
#[derive(Debug, Clone, Default)]
struct Served {
    by_partition: Vec<f64>,
    of_new: f64,
    elsewhere: f64,
}

type ServedBy = BTreeMap<ContainerName, Served>;

impl Popularity {
    pub const ALL: [Self; 2] = [Self::Even, Self::Zipf];

    /// The share of each of so many, the most popular first.
    #[must_use]
    pub fn shares(self, number: usize) -> Vec<f64> {
        let weight = |rank: usize| match self {
            Self::Even => 1.0,
            Self::Zipf => 1.0 / (rank + 1) as f64,
        };
        let total: f64 = (0..number).map(weight).sum();
        (0..number).map(|rank| weight(rank) / total).collect()
    }
}

/// The load of each container, with as many logical partitions as `containers` says.
#[must_use]
pub fn loads(
    containers: &[(ContainerName, usize)],
    population: &Population,
    footprints: &[Footprint],
    rates: &[Rate],
    popularity: Popularity,
) -> Vec<Load> {
    let shares = Shares {
        posts: popularity.shares(population.posts.len()),
        users: popularity.shares(population.users.len()),
    };
    let empty: ServedBy = containers
        .iter()
        .map(|(container, partitions)| {
            (*container, Served { by_partition: vec![0.0; *partitions], ..Served::default() })
        })
        .collect();
    let serve = |served: &mut ServedBy, request: ArticleRequest| {
        let rates = rates.iter().filter(|rate| rate.request == request);
        let per_second = rates.map(|rate| rate.per_second).sum();
        for footprint in footprints.iter().filter(|footprint| footprint.request == request) {
            footprint.add_to(served, per_second, population, &shares);
        }
    };
    let mut all = empty.clone();
    ArticleRequest::ALL.into_iter().for_each(|request| serve(&mut all, request));
    let largest: BTreeMap<ContainerName, usize> =
        all.iter().filter_map(|(container, served)| Some((*container, served.largest()?))).collect();
    let mut of_largest: BTreeMap<ContainerName, Vec<RequestLoad>> = BTreeMap::new();
    for request in ArticleRequest::ALL {
        let mut alone = empty.clone();
        serve(&mut alone, request);
        for (container, largest) in &largest {
            let throughput = alone[container].of(*largest);
            if throughput > 0.0 {
                of_largest.entry(*container).or_default().push(RequestLoad { request, throughput });
            }
        }
    }
    containers
        .iter()
        .map(|(container, _)| {
            let mut requests = of_largest.remove(container).unwrap_or_default();
            requests.sort_by(|one, other| other.throughput.total_cmp(&one.throughput));
            all[container].load(popularity, requests)
        })
        .collect()
}

impl Footprint {
    fn add_to(&self, served: &mut ServedBy, per_second: f64, population: &Population, shares: &Shares) {
        let posts = population.posts.len();
        let in_feed = posts.min(FEED_POSTS_MAX);
        let range = match self.about {
            About::Any => 0..posts,
            About::InFeed => 0..in_feed,
            About::Older => in_feed..posts,
        };
        let share = match self.about {
            About::Any => 1.0,
            About::InFeed | About::Older => shares.posts[range.clone()].iter().sum(),
        };
        for Part { container, place, request_charge } in &self.parts {
            let throughput = per_second * request_charge;
            let Some(served) = served.get_mut(container) else { continue };
            match place {
                Place::Post => {
                    for rank in range.clone() {
                        served.add(rank, throughput * shares.posts[rank]);
                    }
                }
                Place::Author => {
                    for rank in range.clone() {
                        served.add(population.posts[rank].author, throughput * shares.posts[rank]);
                    }
                }
                Place::User => {
                    for (rank, user) in shares.users.iter().enumerate() {
                        served.add(rank, throughput * share * user);
                    }
                }
                Place::Only => served.add(0, throughput * share),
                Place::New => served.of_new += throughput * share,
                Place::Elsewhere => served.elsewhere += throughput * share,
            }
        }
    }
}

impl Served {
    /// `partition`: the rank of the post or user whose it is. What is beyond the last was made since the survey.
    fn add(&mut self, partition: usize, throughput: f64) {
        match self.by_partition.get_mut(partition) {
            Some(sum) => *sum += throughput,
            None => self.of_new += throughput,
        }
    }

    fn largest(&self) -> Option<usize> {
        let by_load = self.by_partition.iter().enumerate().max_by(|one, other| one.1.total_cmp(other.1));
        by_load.map(|(partition, _)| partition)
    }

    /// What one logical partition serves. What is not its own nor another's in particular is shared evenly.
    fn of(&self, partition: usize) -> f64 {
        self.by_partition[partition] + self.elsewhere / self.by_partition.len() as f64
    }

    fn load(&self, popularity: Popularity, requests_of_largest: Vec<RequestLoad>) -> Load {
        let there: f64 = self.by_partition.iter().sum::<f64>() + self.elsewhere;
        let mean = ratio(there, self.by_partition.len() as f64).unwrap_or(0.0);
        let largest = self.largest().map_or(0.0, |partition| self.of(partition));
        Load {
            popularity,
            throughput: there + self.of_new,
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
    use crate::blog::containers::{ACCOUNTS, FEED, POSTS, USERS};
    use crate::blog::ids::PostId;
    use crate::compare::partitions::survey::Post;
    use onehop_store::PartitionKey;
    use uuid::Uuid;

    const SIZES: [(ContainerName, usize); 4] = [(USERS, 2), (POSTS, 4), (FEED, 1), (ACCOUNTS, 2)];

    /// Two users: the first wrote the newest post and the oldest, the second the two between.
    fn population() -> Population {
        let post = |author| Post { id: PostId(Uuid::nil()), author };
        let users = vec![PartitionKey::from("ada"), PartitionKey::from("bob")];
        Population { users, posts: [0, 1, 1, 0].map(post).into() }
    }

    fn footprint(request: ArticleRequest, parts: &[(ContainerName, Place, f64)]) -> Footprint {
        let part = |(container, place, request_charge): &(ContainerName, Place, f64)| Part {
            container: *container,
            place: *place,
            request_charge: *request_charge,
        };
        Footprint { request, about: About::Any, parts: parts.iter().map(part).collect() }
    }

    fn rate(request: ArticleRequest, per_second: f64) -> Rate {
        Rate { request, per_second }
    }

    fn load(container: ContainerName, loads: &[Load]) -> &Load {
        &loads[SIZES.iter().position(|(name, _)| *name == container).unwrap()]
    }

    #[test]
    fn the_kth_most_popular_has_a_kth_of_the_first_and_all_together_have_one() {
        assert_eq!(Popularity::Even.shares(4), [0.25; 4]);
        let shares = Popularity::Zipf.shares(4);
        let expected = [12.0 / 25.0, 6.0 / 25.0, 4.0 / 25.0, 3.0 / 25.0];
        assert!(shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 1e-12));
        assert!(Popularity::Zipf.shares(0).is_empty());
    }

    #[test]
    fn posts_are_asked_about_as_often_as_they_are_popular() {
        let footprints = [footprint(ArticleRequest::Q4, &[(POSTS, Place::Post, 5.0)])];
        let rates = [rate(ArticleRequest::Q4, 10.0)];
        let even = loads(&SIZES, &population(), &footprints, &rates, Popularity::Even);
        let posts = load(POSTS, &even);
        assert_eq!((posts.throughput, posts.mean, posts.largest, posts.skew), (50.0, 12.5, 12.5, Some(1.0)));
        assert_eq!((posts.share_of_throughput_limit, posts.traffic_multiple_max), (0.00125, Some(800.0)));
        let zipf = loads(&SIZES, &population(), &footprints, &rates, Popularity::Zipf);
        let posts = load(POSTS, &zipf);
        assert!((posts.largest - 24.0).abs() < 1e-9 && (posts.mean - 12.5).abs() < 1e-9, "{posts:?}");
        assert!((posts.skew.unwrap() - 1.92).abs() < 1e-9);
        assert!((posts.share_of_throughput_limit - 0.0024).abs() < 1e-12);
        assert!((posts.traffic_multiple_max.unwrap() - 10_000.0 / 24.0).abs() < 1e-9);
    }

    #[test]
    fn an_author_bears_what_is_done_to_all_their_posts_and_a_user_what_they_do() {
        let parts = [(USERS, Place::Author, 12.0), (USERS, Place::User, 1.0)];
        let footprints = [footprint(ArticleRequest::C3, &parts)];
        let rates = [rate(ArticleRequest::C3, 2.0)];
        let zipf = loads(&SIZES, &population(), &footprints, &rates, Popularity::Zipf);
        // The first user: 24 RU/s of authors by 15/25, and 2 RU/s of users by 2/3.
        let users = load(USERS, &zipf);
        assert!((users.largest - (14.4 + 4.0 / 3.0)).abs() < 1e-9, "{users:?}");
        assert!((users.throughput - 26.0).abs() < 1e-9 && (users.mean - 13.0).abs() < 1e-9);
    }

    #[test]
    fn the_feed_bears_every_reader_and_the_changes_of_its_own_posts() {
        let of_feed = |about, charge| Footprint {
            about,
            ..footprint(ArticleRequest::C3, &[(FEED, Place::Only, charge)])
        };
        let footprints = [
            footprint(ArticleRequest::Q6, &[(FEED, Place::Only, 20.0)]),
            of_feed(About::InFeed, 6.0),
            of_feed(About::Older, 0.5),
        ];
        let post = Post { id: PostId(Uuid::nil()), author: 0 };
        let population = Population { posts: vec![post; 400], ..population() };
        let rates = [rate(ArticleRequest::Q6, 10.0), rate(ArticleRequest::C3, 8.0)];
        let even = loads(&SIZES, &population, &footprints, &rates, Popularity::Even);
        let feed = load(FEED, &even);
        // A quarter of the posts are in the feed.
        assert!((feed.largest - (200.0 + 8.0 * (0.25 * 6.0 + 0.75 * 0.5))).abs() < 1e-9, "{feed:?}");
        assert_eq!(feed.skew, Some(1.0));
        let requests: Vec<ArticleRequest> =
            feed.requests_of_largest.iter().map(|load| load.request).collect();
        assert_eq!(requests, [ArticleRequest::Q6, ArticleRequest::C3]);
        let sum: f64 = feed.requests_of_largest.iter().map(|load| load.throughput).sum();
        assert!((sum - feed.largest).abs() < 1e-9);
    }

    #[test]
    fn what_a_request_makes_anew_is_in_no_mean_and_loads_nothing_that_is_there() {
        let footprints = [footprint(ArticleRequest::C1, &[(ACCOUNTS, Place::New, 6.0)])];
        let rates = [rate(ArticleRequest::C1, 3.0)];
        let even = loads(&SIZES, &population(), &footprints, &rates, Popularity::Even);
        let accounts = load(ACCOUNTS, &even);
        assert_eq!((accounts.throughput, accounts.throughput_of_new, accounts.mean), (18.0, 18.0, 0.0));
        assert_eq!((accounts.largest, accounts.skew, accounts.traffic_multiple_max), (0.0, None, None));
    }

    #[test]
    fn what_belongs_to_nobody_in_particular_is_shared_by_all() {
        let parts = [(POSTS, Place::Elsewhere, 8.0), (POSTS, Place::Post, 4.0)];
        let footprints = [footprint(ArticleRequest::Q4, &parts)];
        let rates = [rate(ArticleRequest::Q4, 1.0), rate(ArticleRequest::Q4, 1.0)];
        let even = loads(&SIZES, &population(), &footprints, &rates, Popularity::Even);
        let posts = load(POSTS, &even);
        assert_eq!((posts.throughput, posts.largest, posts.mean, posts.skew), (24.0, 6.0, 6.0, Some(1.0)));
    }

    #[test]
    fn a_database_without_posts_has_loads_without_dividing_by_nothing() {
        let footprints = [footprint(ArticleRequest::Q4, &[(POSTS, Place::Post, 5.0)])];
        let sizes = [(POSTS, 0)];
        let rates = [rate(ArticleRequest::Q4, 1.0)];
        let found = loads(&sizes, &Population::default(), &footprints, &rates, Popularity::Zipf);
        assert_eq!((found[0].throughput, found[0].mean, found[0].skew), (0.0, 0.0, None));
    }
}
