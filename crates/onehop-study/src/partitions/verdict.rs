//! Verdict on a partition key: it should have many values, no hot spot, and several items that belong
//! together under each value.

use std::fmt::Write as _;

use serde::Serialize;

use super::bearable::SustainableRate;
use super::contents::SinglePartition;
use super::load::Load;
use super::population::Popularity;
use crate::figure::figure;

/// With fewer values a partition key cannot spread load over the physical partitions of a large container.
const MANY_VALUES: u64 = 100;
/// A largest logical partition that is this many times the mean is a hot spot, of storage, or of request
/// charge where all entities are as popular. That a popular entity takes more than others is not the key's
/// doing.
const HOT_SPOT_SKEW: f64 = 10.0;
/// From this share of 10,000 RU/s on, a popular entity is a hot spot, too.
const HOT_SPOT_SHARE: f64 = 0.5;

/// The verdict on a partition key.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyVerdict {
    pub many_values: bool,
    /// Neither of storage nor of request charge, at the traffic of the report.
    pub no_hot_spot: bool,
    /// Whether mostly several items share a value.
    pub repeating: bool,
    /// For a person.
    pub text: String,
}

/// The figures of a container that a verdict depends on.
pub(super) struct KeyFigures<'a> {
    pub logical_partitions: u64,
    /// Of the items in a logical partition.
    pub items_median: u64,
    /// The largest logical partition as a multiple of the mean, in bytes.
    pub storage_skew: f64,
    pub loads: &'a [Load],
    pub bears: &'a [SustainableRate],
}

impl KeyFigures<'_> {
    fn load(&self, popularity: Popularity) -> Option<&Load> {
        self.loads.iter().find(|load| load.popularity == popularity)
    }
}

/// The cause of a hot logical partition.
#[derive(Debug, Clone, Copy, PartialEq)]
enum HotSpot {
    /// Times the mean.
    Storage(f64),
    /// Times the mean, with all entities as popular.
    Key(f64),
    /// Share of 10,000 RU/s.
    Popular(f64),
}

impl KeyVerdict {
    /// On a container whose loads are known.
    pub(super) fn on(found: &KeyFigures<'_>, single: Option<&SinglePartition>) -> Self {
        let hot_spot = hot_spot(found);
        let many_values = found.logical_partitions >= MANY_VALUES;
        let no_hot_spot = found.logical_partitions > 1 && hot_spot.is_none();
        let repeating = found.items_median > 1;
        let of_key = if let Some(SinglePartition { consequence, .. }) = single {
            format!("a single logical partition, a hot spot by design: {consequence}")
        } else if !many_values {
            format!("too few values to judge: a data set with at least {MANY_VALUES} says more")
        } else if let Some(hot_spot) = hot_spot {
            format!("many values, but {}", hot_spot.text())
        } else if repeating {
            format!("good: many values, no hot spot ({}), several items under each", skews(found))
        } else {
            format!(
                "good for point reads: many values, no hot spot ({}), mostly one item under each",
                skews(found)
            )
        };
        let of_load = single.map_or_else(|| load(found), |single| single_load(found, single));
        Self { many_values, no_hot_spot, repeating, text: format!("{of_key}. {of_load}") }
    }
}

fn hot_spot(found: &KeyFigures<'_>) -> Option<HotSpot> {
    if found.storage_skew >= HOT_SPOT_SKEW {
        return Some(HotSpot::Storage(found.storage_skew));
    }
    let skew = found.load(Popularity::Even).and_then(|load| load.skew);
    if let Some(skew) = skew.filter(|skew| *skew >= HOT_SPOT_SKEW) {
        return Some(HotSpot::Key(skew));
    }
    let share = found.load(Popularity::Zipf).map(|load| load.share_of_throughput_limit);
    share.filter(|share| *share >= HOT_SPOT_SHARE).map(HotSpot::Popular)
}

impl HotSpot {
    fn text(self) -> String {
        match self {
            Self::Storage(skew) => {
                format!("a hot spot of storage: the largest logical partition is {skew:.0} times the mean")
            }
            Self::Key(skew) => format!(
                "a hot spot of request charge: one logical partition serves {skew:.0} times the mean, though all \
                 entities are as popular"
            ),
            Self::Popular(share) => format!(
                "a hot spot of request charge at this traffic: what is most popular takes {:.0} % of what one logical \
                 partition can serve",
                share * 100.0
            ),
        }
    }
}

/// The skews that a key answers for.
fn skews(found: &KeyFigures<'_>) -> String {
    let storage = format!("skew {:.1} of storage", found.storage_skew);
    match found.load(Popularity::Even).and_then(|load| load.skew) {
        Some(skew) => format!("{storage}, {skew:.1} of request charge"),
        None => storage,
    }
}

/// When the most loaded logical partition is at its limit.
fn load(found: &KeyFigures<'_>) -> String {
    let of = |popularity| {
        let load = found.load(popularity)?;
        Some((load.skew?, load.traffic_multiple_max?))
    };
    match (of(Popularity::Even), of(Popularity::Zipf)) {
        (Some((_, even)), Some((skew, zipf))) => format!(
            "The most loaded one reaches 10,000 RU/s at {} times this traffic; with Zipf's law, by which it serves \
             {skew:.1} times the mean, at {} times",
            figure(even),
            figure(zipf)
        ),
        _ if found.loads.iter().any(|load| load.throughput > 0.0) => {
            "Each request makes a logical partition of its own, and none comes to one that was there"
                .to_owned()
        }
        _ => "Nothing of this traffic comes here".to_owned(),
    }
}

/// The load of the only logical partition, and its limit.
fn single_load(found: &KeyFigures<'_>, single: &SinglePartition) -> String {
    let load = found.loads.iter().max_by(|one, other| one.largest.total_cmp(&other.largest));
    let mut text = match load {
        Some(Load { largest, share_of_throughput_limit, traffic_multiple_max: Some(multiple), .. }) => {
            format!(
                "At this traffic that is at most {} RU/s, {} % of 10,000, all of which it takes at {} times this traffic",
                figure(*largest),
                figure(share_of_throughput_limit * 100.0),
                figure(*multiple)
            )
        }
        _ => "Nothing of this traffic comes here".to_owned(),
    };
    let borne = |(request, what): &(String, String)| {
        let bearable = found.bears.iter().find(|bearable| bearable.request == *request)?;
        Some(format!("{} {what}", bearable.per_second_max))
    };
    let alternatives: Vec<String> = single.rates.iter().filter_map(borne).collect();
    if !alternatives.is_empty() {
        let _ = write!(
            text,
            ". In a second it bears {}; beyond that {}",
            alternatives.join(", or "),
            single.relief
        );
    }
    text
}
