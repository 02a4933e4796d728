//! How a database's items spread over logical partitions, beside the limits of one, with a verdict on each partition
//! key: it should have many values, no hot spot, and several items that belong together under each value.

use std::collections::HashMap;

use serde::Serialize;

use super::article::ArticleRequest;
use super::report::Row;
use crate::blog::containers::{self, FEED, FEED_POSTS_MAX, POSTS, USERS};
use crate::blog::reads::DataModel;
use crate::blog::verify::for_each_change;
use crate::store::{ContainerName, Fault, PartitionKey, Store};

/// What one logical partition can hold. Source: "Azure Cosmos DB service quotas", learn.microsoft.com.
const LOGICAL_PARTITION_BYTES_MAX: f64 = 20.0 * 1024.0 * 1024.0 * 1024.0;
/// What one logical partition can serve, RU/s: as much as the physical partition that holds it. Source: the same.
const LOGICAL_PARTITION_THROUGHPUT_MAX: f64 = 10_000.0;
/// With fewer values a partition key cannot spread load over the physical partitions of a large container.
const MANY_VALUES: u64 = 100;
/// A largest logical partition that is so many times the mean is a hot spot of storage.
const HOT_SPOT_SKEW: f64 = 10.0;

/// One container's logical partitions.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerPartitions {
    pub container: ContainerName,
    pub partition_key: &'static str,
    pub logical_partitions: u64,
    pub items: Spread,
    /// Of JSON, without indexes.
    pub bytes: Spread,
    /// How many times the mean the largest logical partition is, in bytes.
    pub skew: f64,
    /// The largest logical partition's share of 20 GB.
    pub share_of_storage_limit: f64,
    /// The costliest list that one logical partition serves in V3, if there is one.
    pub read: Option<ArticleRequest>,
    /// How many such reads a second one logical partition can serve within 10,000 RU/s, without any writes.
    pub reads_per_second_max: Option<f64>,
    pub verdict: Verdict,
}

/// The middle, the end and the largest of many sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Spread {
    pub median: u64,
    pub p99: u64,
    pub largest: u64,
}

/// How good a partition key is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    pub many_values: bool,
    pub no_hot_spot: bool,
    pub repeating: bool,
    /// For a person.
    pub text: String,
}

/// What one logical partition holds.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    items: u64,
    bytes: u64,
}

/// Surveys the blog's containers in a database, by reading all of it. `rows` say what V3's reads are charged.
///
/// # Errors
/// A fault of the store.
pub async fn survey(store: &dyn Store, rows: &[Row]) -> Result<Vec<ContainerPartitions>, Fault> {
    let mut found = Vec::with_capacity(containers::SPECS.len());
    for spec in containers::SPECS {
        let mut held: HashMap<PartitionKey, Held> = HashMap::new();
        for_each_change(store, spec.name, |change| {
            let partition = held.entry(change.partition_key.clone()).or_default();
            partition.items += 1;
            partition.bytes += change.item.body.len() as u64;
            Ok(())
        })
        .await?;
        found.push(describe(spec.name, spec.partition_key, held.into_values().collect(), rows));
    }
    Ok(found)
}

fn describe(
    container: ContainerName,
    partition_key: &'static str,
    held: Vec<Held>,
    rows: &[Row],
) -> ContainerPartitions {
    let logical_partitions = held.len() as u64;
    let items = Spread::of(held.iter().map(|held| held.items).collect());
    let bytes = Spread::of(held.iter().map(|held| held.bytes).collect());
    let total: u64 = held.iter().map(|held| held.bytes).sum();
    let skew = if total == 0 { 0.0 } else { bytes.largest as f64 * logical_partitions as f64 / total as f64 };
    let read = costliest_read(container, rows);
    ContainerPartitions {
        container,
        partition_key,
        logical_partitions,
        items,
        bytes,
        skew: (skew * 100.0).round() / 100.0,
        share_of_storage_limit: bytes.largest as f64 / LOGICAL_PARTITION_BYTES_MAX,
        read: read.map(|row| row.request),
        reads_per_second_max: read.map(|row| (LOGICAL_PARTITION_THROUGHPUT_MAX / row.request_charge).floor()),
        verdict: verdict(container, logical_partitions, items, skew),
    }
}

/// The list of V3 that costs most of those which this container serves.
fn costliest_read(container: ContainerName, rows: &[Row]) -> Option<&Row> {
    let requests: &[ArticleRequest] = match container {
        USERS => &[ArticleRequest::Q3],
        POSTS => &[ArticleRequest::Q4, ArticleRequest::Q5],
        FEED => &[ArticleRequest::Q6],
        _ => &[],
    };
    rows.iter()
        .filter(|row| {
            row.model == DataModel::V3 && requests.contains(&row.request) && row.request_charge > 0.0
        })
        .max_by(|one, other| one.request_charge.total_cmp(&other.request_charge))
}

fn verdict(container: ContainerName, logical_partitions: u64, items: Spread, skew: f64) -> Verdict {
    let many_values = logical_partitions >= MANY_VALUES;
    let no_hot_spot = logical_partitions > 1 && skew < HOT_SPOT_SKEW;
    let repeating = items.median > 1;
    let text = if container == FEED {
        format!(
            "one logical partition, a hot spot by design: it holds {FEED_POSTS_MAX} posts and never grows, but every \
             read of the feed and every change of a post in it shares what one logical partition can serve"
        )
    } else {
        match (many_values, no_hot_spot, repeating) {
            (true, true, true) => "good: many values, no hot spot, several items under each".to_owned(),
            (true, true, false) => {
                "good for point reads: many values and no hot spot, mostly one item under each".to_owned()
            }
            (true, false, _) => "many values, but the largest is a hot spot of storage".to_owned(),
            (false, ..) => {
                format!("too few values to judge: a data set with at least {MANY_VALUES} says more")
            }
        }
    };
    Verdict { many_values, no_hot_spot, repeating, text }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blog::containers::ACCOUNTS;

    fn described(container: ContainerName, held: &[(u64, u64)]) -> ContainerPartitions {
        let held = held.iter().map(|(items, bytes)| Held { items: *items, bytes: *bytes }).collect();
        describe(container, "id", held, &[])
    }

    #[test]
    fn the_feed_is_named_for_what_it_is() {
        let feed = described(FEED, &[(100, 60_000)]);
        assert_eq!((feed.logical_partitions, feed.verdict.no_hot_spot), (1, false));
        assert!(feed.verdict.text.contains("one logical partition, a hot spot by design"));
    }

    #[test]
    fn many_even_partitions_with_several_items_are_good() {
        let posts = described(POSTS, &[(60, 20_000); 200]);
        assert!(posts.verdict.text.starts_with("good: "), "{}", posts.verdict.text);
        assert_eq!((posts.skew, posts.items.median, posts.bytes.largest), (1.0, 60, 20_000));
    }

    #[test]
    fn a_partition_far_larger_than_the_others_is_a_hot_spot() {
        let mut held = vec![(10, 1_000); 199];
        held.push((10_000, 1_000_000));
        let posts = described(POSTS, &held);
        assert!(posts.skew > 100.0);
        assert!(!posts.verdict.no_hot_spot && posts.verdict.text.contains("hot spot"));
    }

    #[test]
    fn one_item_a_partition_is_good_for_point_reads() {
        let accounts = described(ACCOUNTS, &[(1, 200); 200]);
        assert!(accounts.verdict.text.starts_with("good for point reads"));
        assert_eq!(accounts.reads_per_second_max, None);
    }

    #[test]
    fn an_empty_container_is_described_without_dividing_by_nothing() {
        let empty = described(POSTS, &[]);
        assert_eq!((empty.skew, empty.items.largest, empty.share_of_storage_limit), (0.0, 0, 0.0));
    }
}
