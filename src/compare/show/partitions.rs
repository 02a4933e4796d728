//! The report on partition keys for people, as blocks that every format shows.

use crate::compare::blocks::{Block, Grid, figure};
use crate::compare::partitions::{
    ASSUMED_READS_PER_WRITE, ContainerPartitions, FanOut, Load, PartitionReport, Popularity,
    PopularityShares, Spread,
};

/// Of a request's share of what a logical partition serves, the least that is shown.
const SHARE_SHOWN_MIN: f64 = 0.01;

/// Everything there is to tell.
pub(in crate::compare) fn blocks(report: &PartitionReport) -> Vec<Block> {
    let mut blocks = vec![
        Block::Heading("Storage of V3's database by logical partition"),
        Block::Grid(storage(report)),
        Block::Heading("Request charge of V3 by logical partition"),
        Block::Text(traffic(report)),
        Block::List(report.popularities.iter().map(popularity).collect()),
        Block::Grid(loads(report)),
        Block::Text(first_at_limit(report)),
        Block::Heading("Requests a second that one logical partition bears, each request alone"),
        Block::List(report.containers.iter().filter_map(bears).collect()),
        Block::Heading("Queries across logical partitions"),
        Block::Text(FAN_OUT.to_owned()),
        Block::List(report.fan_outs.iter().map(fan_out).collect()),
        Block::Heading("Verdicts"),
    ];
    let verdict = |found: &ContainerPartitions| {
        format!("{} by {}: {}.", found.container, found.partition_key, found.verdict.text)
    };
    blocks.push(Block::List(report.containers.iter().map(verdict).collect()));
    blocks
}

/// A popularity's name for people.
pub(in crate::compare) fn popularity_name(popularity: Popularity) -> &'static str {
    match popularity {
        Popularity::Even => "even",
        Popularity::Zipf => "Zipf",
    }
}

fn storage(report: &PartitionReport) -> Grid {
    let spread = |spread: Spread| format!("{} / {} / {}", spread.median, spread.p99, spread.largest);
    let line = |found: &ContainerPartitions| {
        vec![
            found.container.to_string(),
            found.partition_key.to_owned(),
            found.logical_partitions.to_string(),
            spread(found.items),
            spread(found.bytes),
            format!("{:.1}", found.storage_skew),
            percent(found.share_of_storage_limit),
        ]
    };
    Grid {
        headings: vec![
            "container",
            "key",
            "partitions",
            "items p50 / p99 / largest",
            "bytes p50 / p99 / largest",
            "skew",
            "of 20 GB",
        ],
        text_columns: 2,
        lines: report.containers.iter().map(line).collect(),
    }
}

fn traffic(report: &PartitionReport) -> String {
    let rates = report.rates.iter().map(|rate| format!("{:?} {}/s", rate.request, figure(rate.per_second)));
    let traffic = if report.is_assumed {
        format!(
            "Assumed traffic, as neither --rates nor --reads-per-write gives one: one write a second, evenly C1 to C4, \
             and {ASSUMED_READS_PER_WRITE} reads, evenly Q1 to Q6."
        )
    } else {
        format!("Your traffic: {}.", rates.collect::<Vec<_>>().join(", "))
    };
    format!(
        "{traffic} Each request is charged in the logical partitions in which it was charged when it was run, and so \
         is what the projections do because of it. Figures are RU/s. In new: on logical partitions that the requests \
         make, which are not in the mean. Skew: the largest divided by the mean. Whom the requests are about is assumed, in two ways:"
    )
}

fn popularity(shares: &PopularityShares) -> String {
    let PopularityShares { most_popular_post, most_popular_user, posts_in_feed, .. } = shares;
    let assumption = match shares.popularity {
        Popularity::Even => "every post and every user as often as any other",
        Popularity::Zipf => {
            "the newest post most often, the k-th newest a k-th as often; so the users, ranked by their newest posts"
        }
    };
    format!(
        "{}: {assumption}. One post gets up to {} of what is about posts, those in the feed together {}; one user up to \
         {} of what is about or by users",
        popularity_name(shares.popularity),
        percent(*most_popular_post),
        percent(*posts_in_feed),
        percent(*most_popular_user)
    )
}

fn loads(report: &PartitionReport) -> Grid {
    let lines = report.containers.iter().flat_map(|found| {
        found.loads.iter().map(|load| {
            vec![
                found.container.to_string(),
                popularity_name(load.popularity).to_owned(),
                served(load),
                figure(load.throughput),
                figure(load.throughput_of_new),
                figure(load.mean),
                figure(load.largest),
                load.skew.map(|skew| format!("{skew:.1}")).unwrap_or_default(),
                percent(load.share_of_throughput_limit),
                load.traffic_multiple_max
                    .map_or_else(|| "never".to_owned(), |multiple| format!("{} x traffic", figure(multiple))),
            ]
        })
    });
    Grid {
        headings: vec![
            "container",
            "popularity",
            "largest serves",
            "all",
            "in new",
            "mean",
            "largest",
            "skew",
            "of 10,000 RU/s",
            "limit at",
        ],
        text_columns: 3,
        lines: lines.collect(),
    }
}

/// `Q5 61 %, Q4 34 %`
fn served(load: &Load) -> String {
    let shares =
        load.requests_of_largest.iter().map(|served| (served.request, served.throughput / load.largest));
    let shown = shares.filter(|(_, share)| *share >= SHARE_SHOWN_MIN);
    shown.map(|(request, share)| format!("{request:?} {:.0} %", share * 100.0)).collect::<Vec<_>>().join(", ")
}

fn first_at_limit(report: &PartitionReport) -> String {
    let first = |shares: &PopularityShares| {
        let container = shares.first_at_limit?;
        let found = report.containers.iter().find(|found| found.container == container)?;
        let multiple = found.load(shares.popularity)?.traffic_multiple_max?;
        let loads = report.containers.iter().filter_map(|found| found.load(shares.popularity));
        let throughput: f64 = loads.map(|load| load.throughput).sum();
        let where_and_when = format!(
            "in {container} at {} times this traffic, when all containers together serve {} RU/s",
            figure(multiple),
            figure(multiple * throughput)
        );
        Some((where_and_when, popularity_name(shares.popularity)))
    };
    let found: Vec<(String, &str)> = report.popularities.iter().filter_map(first).collect();
    let Some((first, _)) = found.first() else {
        return "However much this traffic grows, no logical partition reaches 10,000 RU/s.".to_owned();
    };
    let told = if found.iter().all(|(other, _)| other == first) {
        first.clone()
    } else {
        found.iter().map(|(first, name)| format!("{first} ({name})")).collect::<Vec<_>>().join("; ")
    };
    format!("The first logical partition to reach 10,000 RU/s is {told}.")
}

fn bears(found: &ContainerPartitions) -> Option<String> {
    let rates: Vec<String> = found
        .bears
        .iter()
        .map(|bearable| {
            format!("{:?} {} ({:.2} RU)", bearable.request, bearable.per_second_max, bearable.request_charge)
        })
        .collect();
    (!rates.is_empty()).then(|| format!("{}: {}", found.container, rates.join(", ")))
}

const FAN_OUT: &str = "Each of them visits every physical partition of posts, so none is relieved by adding more. What \
                       one physical partition serves of these queries, without the look-ups that follow them:";

fn fan_out(found: &FanOut) -> String {
    let FanOut { model, requests, physical_partitions, throughput_of_each, traffic_multiple_max } = found;
    if requests.is_empty() {
        return format!("{model}: no request visits more than one physical partition");
    }
    let requests: Vec<String> = requests.iter().map(|request| format!("{request:?}")).collect();
    let limit = traffic_multiple_max
        .map(|multiple| format!(", 10,000 RU/s at {} times this traffic", figure(multiple)))
        .unwrap_or_default();
    format!(
        "{model}: {} visit all {physical_partitions}; {} RU/s in each{limit}",
        requests.join(" and "),
        figure(*throughput_of_each)
    )
}

fn percent(share: f64) -> String {
    format!("{} %", figure(share * 100.0))
}
