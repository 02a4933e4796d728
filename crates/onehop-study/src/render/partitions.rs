//! The report on partition keys as blocks.

use super::blocks::{Block, Table, TableColumn};
use crate::figure::{figure, percent};
use crate::partitions::{
    ContainerPartitions, FanOutThroughput, Load, PartitionReport, Popularity, PopularityShares, Spread,
};

/// The least shown share of a request in the load of a logical partition.
const SHARE_SHOWN_MIN: f64 = 0.01;

/// The whole report on partition keys.
pub(super) fn blocks(report: &PartitionReport) -> Vec<Block> {
    let heading = |text: &str| Block::Heading(text.to_owned());
    let verdict = |found: &ContainerPartitions| {
        format!("{} by {}: {}.", found.container, found.partition_key, found.verdict.text)
    };
    vec![
        Block::Heading(format!("Storage of {}'s database by logical partition", report.model)),
        Block::Table(storage(report)),
        Block::Heading(format!("Request charge of {} by logical partition", report.model)),
        Block::Text(traffic(report)),
        Block::List(report.popularities.iter().map(popularity).collect()),
        Block::Table(loads(report)),
        Block::Text(first_at_limit(report)),
        heading("Requests a second that one logical partition bears, each request alone"),
        Block::List(report.containers.iter().filter_map(bears).collect()),
        heading("Queries across logical partitions"),
        Block::Text(FAN_OUT.to_owned()),
        Block::List(report.fan_outs.iter().map(fan_out).collect()),
        heading("Verdicts"),
        Block::List(report.containers.iter().map(verdict).collect()),
    ]
}

/// A popularity's name for people.
pub(super) fn popularity_name(popularity: Popularity) -> &'static str {
    match popularity {
        Popularity::Even => "even",
        Popularity::Zipf => "Zipf",
    }
}

fn storage(report: &PartitionReport) -> Table {
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
    let figures =
        ["partitions", "items p50 / p99 / largest", "bytes p50 / p99 / largest", "skew", "of 20 GB"];
    Table {
        columns: columns(&["container", "key"], &figures),
        lines: report.containers.iter().map(line).collect(),
    }
}

fn traffic(report: &PartitionReport) -> String {
    let rates = report.rates.iter().map(|rate| format!("{} {}/s", rate.request, figure(rate.per_second)));
    let traffic = format!("Your traffic: {}.", rates.collect::<Vec<_>>().join(", "));
    let scale = if report.data_scale == 1.0 {
        String::new()
    } else {
        format!(
            " There are {} times the measured logical partitions, each with as much as a measured one.",
            figure(report.data_scale)
        )
    };
    format!(
        "{traffic}{scale} Each request is charged in the logical partitions in which it was charged when it \
         was run, and so \
         is what the projections do because of it. Figures are RU/s. In new: on logical partitions that the \
         requests \
         make, which are not in the mean. Skew: the largest divided by the mean. What the requests are \
         about is assumed, \
         in two ways. {}",
        report.ranking
    )
}

fn popularity(shares: &PopularityShares) -> String {
    let assumption = match shares.popularity {
        Popularity::Even => "each as often as any other",
        Popularity::Zipf => "the first most often, the k-th a k-th as often",
    };
    let highlights = shares.highlights.iter();
    let highlights: Vec<String> =
        highlights.map(|highlight| format!("{} {}", highlight.text, percent(highlight.share))).collect();
    format!("{}: {assumption}; {}", popularity_name(shares.popularity), highlights.join("; "))
}

fn loads(report: &PartitionReport) -> Table {
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
    let figures = ["all", "in new", "mean", "largest", "skew", "of 10,000 RU/s", "limit at"];
    Table {
        columns: columns(&["container", "popularity", "largest serves"], &figures),
        lines: lines.collect(),
    }
}

fn columns(texts: &[&str], figures: &[&str]) -> Vec<TableColumn> {
    let texts = texts.iter().map(|heading| TableColumn::text(heading));
    texts.chain(figures.iter().map(|heading| TableColumn::figure(heading))).collect()
}

/// `Q5 61 %, Q4 34 %`
fn served(load: &Load) -> String {
    let shares =
        load.requests_of_largest.iter().map(|served| (&served.request, served.throughput / load.largest));
    let shown = shares.filter(|(_, share)| *share >= SHARE_SHOWN_MIN);
    shown.map(|(request, share)| format!("{request} {:.0} %", share * 100.0)).collect::<Vec<_>>().join(", ")
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
    let containers = if found.iter().all(|(other, _)| other == first) {
        first.clone()
    } else {
        found.iter().map(|(first, name)| format!("{first} ({name})")).collect::<Vec<_>>().join("; ")
    };
    format!("The first logical partition to reach 10,000 RU/s is {containers}.")
}

fn bears(found: &ContainerPartitions) -> Option<String> {
    let rates: Vec<String> = found
        .bears
        .iter()
        .map(|bearable| {
            format!("{} {} ({:.2} RU)", bearable.request, bearable.per_second_max, bearable.request_charge)
        })
        .collect();
    (!rates.is_empty()).then(|| format!("{}: {}", found.container, rates.join(", ")))
}

const FAN_OUT: &str = "Each of them visits every physical partition of the container that it queries, so \
                       none is relieved \
                       by adding more. What one physical partition serves of these queries, without the \
                       look-ups that \
                       follow them:";

fn fan_out(found: &FanOutThroughput) -> String {
    let FanOutThroughput { model, requests, physical_partitions, throughput_of_each, traffic_multiple_max } =
        found;
    if requests.is_empty() {
        return format!("{model}: no request visits more than one physical partition");
    }
    let limit = traffic_multiple_max
        .map(|multiple| format!(", 10,000 RU/s at {} times this traffic", figure(multiple)))
        .unwrap_or_default();
    let all = match physical_partitions {
        1 => "the only one".to_owned(),
        more => format!("all {more}"),
    };
    format!(
        "{model}: {} visit {all}; {} RU/s in each{limit}",
        requests.join(" and "),
        figure(*throughput_of_each)
    )
}
