use super::*;
use crate::blog::containers::{ACCOUNTS, FEED, POSTS, USERS};
use crate::blog::ids::PostId;
use onehop_store::PartitionKey;
use uuid::Uuid;

fn surveyed(container: ContainerName, held: &[(u64, u64)]) -> Surveyed {
    let held = held.iter().enumerate().map(|(number, (items, bytes))| {
        (PartitionKey::new(number.to_string()), Held { items: *items, bytes: *bytes })
    });
    Surveyed { container, partition_key: "id", held: held.collect() }
}

/// As many posts as there are logical partitions, by as many users.
fn survey(container: ContainerName, held: &[(u64, u64)]) -> Survey {
    let post = |author| Post { id: PostId(Uuid::nil()), author };
    let population = Population {
        users: (0..held.len()).map(|number| PartitionKey::new(number.to_string())).collect(),
        posts: (0..held.len()).map(post).collect(),
    };
    Survey { containers: vec![surveyed(container, held)], population }
}

fn footprint(
    request: ArticleRequest,
    about: About,
    container: ContainerName,
    place: Place,
    charge: f64,
) -> Footprint {
    Footprint { request, about, parts: vec![Part { container, place, request_charge: charge }] }
}

fn report(survey: &Survey, footprints: &[Footprint], rates: &[(ArticleRequest, f64)]) -> PartitionReport {
    let rate =
        |(request, per_second): &(ArticleRequest, f64)| Rate { request: *request, per_second: *per_second };
    PartitionReport::of(survey, footprints, Some(rates.iter().map(rate).collect()), &[])
}

fn described(container: ContainerName, held: &[(u64, u64)]) -> ContainerPartitions {
    report(&survey(container, held), &[], &[]).containers.remove(0)
}

#[test]
fn the_feed_is_named_for_what_it_is_with_what_it_bears() {
    let only = |request, about, charge| footprint(request, about, FEED, Place::Only, charge);
    let footprints = [
        only(ArticleRequest::Q6, About::Any, 20.0),
        only(ArticleRequest::C2, About::Any, 32.0),
        only(ArticleRequest::C3, About::Older, 0.1),
        only(ArticleRequest::C3, About::InFeed, 12.0),
    ];
    let survey = survey(FEED, &[(100, 60_000)]);
    let feed = report(&survey, &footprints, &[(ArticleRequest::Q6, 50.0)]).containers.remove(0);
    assert_eq!((feed.logical_partitions, feed.verdict.no_hot_spot), (1, false));
    let borne: Vec<(ArticleRequest, f64)> =
        feed.bears.iter().map(|bearable| (bearable.request, bearable.per_second_max)).collect();
    assert_eq!(
        borne,
        [(ArticleRequest::C2, 312.0), (ArticleRequest::C3, 833.0), (ArticleRequest::Q6, 500.0)]
    );
    for part in [
        "a single logical partition, a hot spot by design",
        "1000 RU/s",
        "10.0 % of 10,000",
        "at 10.0 times this traffic",
        "500 reads, or 312 new posts, or 833 comments on its posts",
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
fn a_partition_far_larger_than_the_others_is_a_hot_spot_of_storage() {
    let mut held = vec![(10, 1_000); 199];
    held.push((10_000, 1_000_000));
    let posts = described(POSTS, &held);
    assert!(posts.storage_skew > 100.0);
    assert!(!posts.verdict.no_hot_spot);
    assert!(posts.verdict.text.contains("hot spot of storage"), "{}", posts.verdict.text);
}

#[test]
fn a_key_that_gathers_what_everybody_does_is_a_hot_spot_of_request_charge() {
    let mut survey = survey(USERS, &[(10, 1_000); 200]);
    survey.population.posts.iter_mut().take(150).for_each(|post| post.author = 7);
    let footprints = [footprint(ArticleRequest::C3, About::Any, USERS, Place::Author, 12.0)];
    let users = report(&survey, &footprints, &[(ArticleRequest::C3, 1.0)]).containers.remove(0);
    // 150 of 200 posts are one of 200 users'.
    assert_eq!(users.load(Popularity::Even).and_then(|load| load.skew).map(f64::round), Some(150.0));
    assert!(!users.verdict.no_hot_spot);
    assert!(users.verdict.text.contains("hot spot of request charge"), "{}", users.verdict.text);
}

#[test]
fn a_popular_post_is_a_hot_spot_only_where_the_traffic_brings_it_near_the_limit() {
    let survey = survey(POSTS, &[(60, 20_000); 200]);
    let footprints = [footprint(ArticleRequest::Q4, About::Any, POSTS, Place::Post, 10.0)];
    let at = |rate| report(&survey, &footprints, &[(ArticleRequest::Q4, rate)]).containers.remove(0);
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
    let survey = survey(ACCOUNTS, &[(1, 200); 200]);
    let footprints = [footprint(ArticleRequest::C1, About::Any, ACCOUNTS, Place::New, 6.0)];
    let accounts = report(&survey, &footprints, &[(ArticleRequest::C1, 1.0)]).containers.remove(0);
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
fn the_container_with_the_most_loaded_partition_is_the_first_at_the_limit() {
    let mut survey = survey(POSTS, &[(60, 20_000); 200]);
    survey.containers.push(surveyed(FEED, &[(100, 60_000)]));
    let footprints = [
        footprint(ArticleRequest::Q4, About::Any, POSTS, Place::Post, 10.0),
        footprint(ArticleRequest::Q6, About::Any, FEED, Place::Only, 20.0),
    ];
    let report = report(&survey, &footprints, &[(ArticleRequest::Q4, 100.0), (ArticleRequest::Q6, 1.0)]);
    let first: Vec<Option<ContainerName>> =
        report.popularities.iter().map(|shares| shares.first_at_limit).collect();
    assert_eq!(first, [Some(FEED), Some(POSTS)]);
    let [even, zipf] = report.popularities.as_slice() else { panic!("{report:?}") };
    assert!((even.most_popular_post - 0.005).abs() < 1e-12 && (even.posts_in_feed - 0.5).abs() < 1e-9);
    assert!((zipf.most_popular_post - 0.1701).abs() < 0.0001, "{zipf:?}");
}

#[test]
fn without_a_traffic_one_is_assumed_and_says_so() {
    let survey = survey(POSTS, &[(60, 20_000); 200]);
    let assumed = PartitionReport::of(&survey, &[], None, &[]);
    assert!(assumed.is_assumed && !report(&survey, &[], &[]).is_assumed);
    let sum = |of_commands: bool| {
        let rates = assumed.rates.iter().filter(|rate| rate.request.is_command() == of_commands);
        rates.map(|rate| rate.per_second).sum::<f64>().round()
    };
    assert_eq!((sum(true), sum(false)), (1.0, ASSUMED_READS_PER_WRITE));
}
