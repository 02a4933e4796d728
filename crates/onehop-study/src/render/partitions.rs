//! The logical partitions of a report as blocks: their sizes, and the load of the busiest.

use super::blocks::{Block, Table, TableColumn};
use crate::figure::{figure, percent};
use crate::partitions::{BusiestLoad, PartitionSummary, Spread};
use crate::report::StudyReport;

/// The least shown share of a request in the load of a logical partition.
const SHARE_SHOWN_MIN: f64 = 0.01;

/// The tables of all containers with data.
pub(super) fn blocks(report: &StudyReport) -> Vec<Block> {
    let mut blocks = vec![
        Block::Heading("Logical partitions".to_owned()),
        Block::Text(
            "Items and bytes of one logical partition: median / 99th percentile / largest, without indexes."
                .to_owned(),
        ),
        Block::Table(sizes(report)),
    ];
    let has_loads = report.partitions.iter().any(|found| !found.loads.is_empty());
    if has_loads {
        blocks.push(Block::Text(
            "The busiest logical partition, RU/s, at most: the subjects of requests are as popular as one \
             another (even), or the k-th is a k-th as popular as the first (Zipf), unless a request states \
             it. A logical partition serves 10,000 RU/s."
                .to_owned(),
        ));
        blocks.push(Block::Table(loads(report)));
    }
    if report.partitions.is_empty() { Vec::new() } else { blocks }
}

fn columns(texts: &[&str], figures: &[&str]) -> Vec<TableColumn> {
    let texts = texts.iter().map(|heading| TableColumn::text(heading));
    texts.chain(figures.iter().map(|heading| TableColumn::figure(heading))).collect()
}

fn sizes(report: &StudyReport) -> Table {
    let spread = |spread: Spread| {
        let Spread { median, p99, largest } = spread;
        format!("{median:.0} / {p99:.0} / {largest:.0}")
    };
    let line = |found: &PartitionSummary| {
        vec![
            found.design.clone(),
            found.container.to_string(),
            found.partition_key.clone(),
            format!("{:.0}", found.logical_partitions),
            spread(found.items),
            spread(found.bytes),
            percent(found.share_of_storage_limit),
        ]
    };
    Table {
        columns: columns(&["design", "container", "key"], &["partitions", "items", "bytes", "of 20 GB"]),
        lines: report.partitions.iter().map(line).collect(),
    }
}

fn loads(report: &StudyReport) -> Table {
    let lines = report.partitions.iter().flat_map(|found| {
        found.loads.iter().map(|load| {
            vec![
                found.design.clone(),
                found.container.to_string(),
                load.popularity.name().to_owned(),
                served(load),
                figure(load.throughput),
                figure(load.largest),
                percent(load.share_of_throughput_limit),
                load.traffic_multiple_max
                    .map_or_else(|| "never".to_owned(), |multiple| format!("{} x traffic", figure(multiple))),
            ]
        })
    });
    Table {
        columns: columns(
            &["design", "container", "popularity", "busiest serves"],
            &["all RU/s", "busiest", "of 10,000 RU/s", "limit at"],
        ),
        lines: lines.collect(),
    }
}

/// `Q5 61 %, Q4 34 %`
fn served(load: &BusiestLoad) -> String {
    let shown = load.requests.iter().filter(|found| found.share >= SHARE_SHOWN_MIN);
    let text = shown.map(|found| format!("{} {:.0} %", found.request, found.share * 100.0));
    text.collect::<Vec<_>>().join(", ")
}
