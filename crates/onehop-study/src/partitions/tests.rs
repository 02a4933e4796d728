//! Reports on small databases: figures of storage and load, and the verdicts that follow from them.

use std::ops::Range;

use super::fixtures::{ACCOUNTS, FEED, POSTS, USERS, about_posts, footprint, population, requests};
use super::*;
use crate::measurement::Measurements;
use crate::rates::RequestRate;
use onehop_store::charges::Calibration;
use onehop_store::{ContainerName, PartitionKey};

/// Containers, and the entities of requests.
struct Database {
    contents: Vec<ContainerContents>,
    population: Population,
}

fn contents(container: ContainerName, sizes: &[(u64, u64)]) -> ContainerContents {
    let sizes = sizes.iter().enumerate().map(|(number, (items, bytes))| {
        (PartitionKey::new(number.to_string()), PartitionSize { items: *items, bytes: *bytes })
    });
    let rate = |(request, what): (&str, &str)| (request.to_owned(), what.to_owned());
    let single = (container == FEED).then(|| SinglePartition {
        consequence: "it holds 100 posts".to_owned(),
        rates: [("Q6", "reads"), ("C2", "new posts"), ("C3", "comments"), ("C4", "likes")].map(rate).into(),
        relief: "it takes a cache".to_owned(),
    });
    ContainerContents {
        container,
        partition_key: "id",
        sizes: sizes.collect(),
        item_bytes_max: 2_000,
        single,
    }
}

/// As many posts as there are logical partitions, by as many users.
fn database(container: ContainerName, sizes: &[(u64, u64)]) -> Database {
    let authors: Vec<usize> = (0..sizes.len()).collect();
    Database { contents: vec![contents(container, sizes)], population: population(sizes.len(), &authors) }
}

fn report(database: &Database, footprints: &[Footprint], rates: &[(&str, f64)]) -> PartitionReport {
    report_at(1.0, database, footprints, rates)
}

/// Where the data is this many times as much.
fn report_at(
    data_scale: f64,
    database: &Database,
    footprints: &[Footprint],
    rates: &[(&str, f64)],
) -> PartitionReport {
    let measurements = Measurements { requests: requests(), ..Measurements::default() };
    let rate = |(request, per_second): &(&str, f64)| RequestRate {
        request: (*request).to_owned(),
        per_second: *per_second,
    };
    PartitionReport::of(PartitionStudy {
        model: "V3",
        contents: &database.contents,
        population: &database.population,
        footprints,
        data_scale,
        rates: rates.iter().map(rate).collect(),
        measurements: &measurements,
        physical_partitions: &|_, _| None,
        calibration: &Calibration::current(),
    })
}

fn described(container: ContainerName, sizes: &[(u64, u64)]) -> ContainerPartitions {
    report(&database(container, sizes), &[], &[]).containers.remove(0)
}

#[test]
fn a_single_partition_by_design_is_named_with_what_it_bears() {
    let only = |request, about: Option<Range<usize>>, charge| {
        footprint(request, about.map(about_posts), FEED, PartitionRole::Only, charge)
    };
    let footprints = [
        only("Q6", None, 20.0),
        only("C2", None, 32.0),
        only("C3", Some(100..400), 0.1),
        only("C3", Some(0..100), 12.0),
    ];
    let database = database(FEED, &[(100, 60_000)]);
    let feed = report(&database, &footprints, &[("Q6", 50.0)]).containers.remove(0);
    assert_eq!((feed.logical_partitions, feed.verdict.no_hot_spot), (1, false));
    let borne: Vec<(&str, f64)> =
        feed.bears.iter().map(|bearable| (bearable.request.as_str(), bearable.per_second_max)).collect();
    assert_eq!(borne, [("C2", 312.0), ("C3", 833.0), ("Q6", 500.0)]);
    for part in [
        "a single logical partition, a hot spot by design",
        "1000 RU/s",
        "10.0 % of 10,000",
        "at 10.0 times this traffic",
        "500 reads, or 312 new posts, or 833 comments; beyond that it takes a cache",
    ] {
        assert!(feed.verdict.text.contains(part), "without {part:?}: {}", feed.verdict.text);
    }
}

#[test]
fn many_even_partitions_with_several_items_are_good() {
    let posts = described(POSTS, &[(60, 20_000); 200]);
    assert!(posts.verdict.text.starts_with("good: "), "{}", posts.verdict.text);
    assert_eq!((posts.storage_skew, posts.items.median, posts.bytes.largest), (1.0, 60, 20_000));
}

#[test]
fn a_partition_far_larger_than_others_is_a_storage_hot_spot() {
    let mut sizes = vec![(10, 1_000); 199];
    sizes.push((10_000, 1_000_000));
    let posts = described(POSTS, &sizes);
    assert!(posts.storage_skew > 100.0);
    assert!(!posts.verdict.no_hot_spot);
    assert!(posts.verdict.text.contains("hot spot of storage"), "{}", posts.verdict.text);
}

#[test]
fn a_key_that_gathers_what_all_do_is_a_request_hot_spot() {
    let mut database = database(USERS, &[(10, 1_000); 200]);
    let authors: Vec<usize> = (0..200).map(|post| if post < 150 { 7 } else { post }).collect();
    database.population = population(200, &authors);
    let footprints = [footprint("C3", None, USERS, PartitionRole::entity("author"), 12.0)];
    let users = report(&database, &footprints, &[("C3", 1.0)]).containers.remove(0);
    // 150 of 200 posts are one of 200 users'.
    assert_eq!(users.load(Popularity::Even).and_then(|load| load.skew).map(f64::round), Some(150.0));
    assert!(!users.verdict.no_hot_spot);
    assert!(users.verdict.text.contains("hot spot of request charge"), "{}", users.verdict.text);
}

#[test]
fn a_popular_entity_is_a_hot_spot_only_near_the_limit() {
    let database = database(POSTS, &[(60, 20_000); 200]);
    let footprints = [footprint("Q4", None, POSTS, PartitionRole::entity("post"), 10.0)];
    let at = |rate| report(&database, &footprints, &[("Q4", rate)]).containers.remove(0);
    let (quiet, busy) = (at(100.0), at(3_000.0));
    let shown = "skew 1.0 of storage, 1.0 of request charge";
    assert!(quiet.verdict.text.contains(shown), "{}", quiet.verdict.text);
    // Zipf's law gives the first of 200 posts 17 %: 34 times the mean, and not the key's doing.
    let zipf = |found: &ContainerPartitions| found.load(Popularity::Zipf).unwrap().clone();
    assert_eq!(
        (zipf(&quiet).skew.map(f64::round), zipf(&busy).skew.map(f64::round)),
        (Some(34.0), Some(34.0))
    );
    assert!(quiet.verdict.no_hot_spot && quiet.verdict.text.starts_with("good: "), "{}", quiet.verdict.text);
    assert!(zipf(&busy).share_of_throughput_limit > 0.5);
    assert!(!busy.verdict.no_hot_spot);
    assert!(
        busy.verdict.text.contains("hot spot of request charge at this traffic"),
        "{}",
        busy.verdict.text
    );
}

#[test]
fn one_item_a_partition_is_good_for_point_reads() {
    let database = database(ACCOUNTS, &[(1, 200); 200]);
    let footprints = [footprint("C1", None, ACCOUNTS, PartitionRole::New, 6.0)];
    let accounts = report(&database, &footprints, &[("C1", 1.0)]).containers.remove(0);
    assert!(accounts.verdict.text.starts_with("good for point reads"), "{}", accounts.verdict.text);
    assert!(accounts.verdict.text.contains("a logical partition of its own"), "{}", accounts.verdict.text);
    assert_eq!(accounts.bears, []);
}

#[test]
fn an_empty_container_is_described_without_dividing_by_nothing() {
    let empty = described(POSTS, &[]);
    assert_eq!((empty.storage_skew, empty.items.largest, empty.share_of_storage_limit), (0.0, 0, 0.0));
    assert!(empty.verdict.text.contains("Nothing of this traffic comes here"), "{}", empty.verdict.text);
}

#[test]
fn the_most_loaded_container_is_the_first_at_the_limit() {
    let mut database = database(POSTS, &[(60, 20_000); 200]);
    database.contents.push(contents(FEED, &[(100, 60_000)]));
    let footprints = [
        footprint("Q4", None, POSTS, PartitionRole::entity("post"), 10.0),
        footprint("Q6", None, FEED, PartitionRole::Only, 20.0),
    ];
    let report = report(&database, &footprints, &[("Q4", 100.0), ("Q6", 1.0)]);
    let first: Vec<Option<ContainerName>> =
        report.popularities.iter().map(|shares| shares.first_at_limit).collect();
    assert_eq!(first, [Some(FEED), Some(POSTS)]);
    let [even, zipf] = report.popularities.as_slice() else { panic!("{report:?}") };
    let share = |shares: &PopularityShares, number: usize| shares.highlights[number].share;
    assert!((share(even, 0) - 0.005).abs() < 1e-12 && (share(even, 1) - 0.5).abs() < 1e-9);
    assert!((share(zipf, 0) - 0.1701).abs() < 0.0001, "{zipf:?}");
    assert_eq!(serde_json::to_value(even).unwrap()["postsInFeed"], share(even, 1));
}

#[test]
fn more_data_of_the_same_kind_spreads_the_traffic() {
    let database = database(POSTS, &[(60, 20_000); 200]);
    let footprints = [footprint("Q4", None, POSTS, PartitionRole::entity("post"), 10.0)];
    let largest = |data_scale, popularity| {
        let found = report_at(data_scale, &database, &footprints, &[("Q4", 100.0)]).containers.remove(0);
        found.load(popularity).map(|load| (load.largest, load.throughput.round())).unwrap()
    };
    assert_eq!(largest(1.0, Popularity::Even), (5.0, 1_000.0));
    assert_eq!(largest(100.0, Popularity::Even), (0.05, 1_000.0));
    // Zipf's law: the first of 200 gets 17 %, the first of 20,000 gets 9.5 %.
    let [small, large] = [1.0, 100.0].map(|data_scale| largest(data_scale, Popularity::Zipf).0.round());
    assert_eq!((small, large), (170.0, 95.0));
}
