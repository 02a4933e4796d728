//! Provisioning and background work as blocks.

use super::blocks::{Block, Table, TableColumn};
use crate::background::BackgroundThroughput;
use crate::figure::figure;
use crate::provisioning::{ProvisionedContainer, Provisioning};

pub(super) fn blocks(provisioning: &Provisioning) -> Vec<Block> {
    let Provisioning { model, peak_to_mean, regions, shared, storage_gb, .. } = provisioning;
    let sum: f64 = provisioning.containers.iter().map(|found| found.provisioned).sum();
    let text = format!(
        "Throughput is divided evenly among physical partitions, so the most loaded one decides and not the sum. The peak is {} times the mean; \
         the more loaded of both popularities counts. Floors: 400 RU/s, 1 RU/s for each GB, the highest throughput ever divided by 100. \
         RU/s in each of {regions} regions:",
        figure(*peak_to_mean)
    );
    let shared = format!(
        "Containers of their own: {sum:.0} RU/s together. A database that they share: {shared:.0} RU/s, as the most loaded logical \
         partition has to fit into one physical partition of it. Storage with indexes, taken as a fifth more: {} GB.",
        figure(*storage_gb)
    );
    let bills = provisioning.bills.iter().map(|bill| format!("{}: {:.2} a month", bill.name, bill.amount));
    vec![
        Block::Heading(format!("Throughput to provision for {model}")),
        Block::Text(text),
        Block::Table(table(&provisioning.containers)),
        Block::Text(shared),
        Block::List(bills.collect()),
    ]
}

fn table(containers: &[ProvisionedContainer]) -> Table {
    let figures = ["physical partitions", "peak", "hottest logical", "hottest physical", "provision"];
    let mut columns = vec![TableColumn::text("container")];
    columns.extend(figures.map(TableColumn::figure));
    let line = |found: &ProvisionedContainer| {
        vec![
            found.container.to_string(),
            found.physical_partitions.to_string(),
            figure(found.peak),
            figure(found.hottest_logical),
            figure(found.hottest_physical),
            format!("{:.0}", found.provisioned),
        ]
    };
    Table { columns, lines: containers.iter().map(line).collect() }
}

/// Background work, which comes on top of a traffic.
pub(super) fn background(lines: &[BackgroundThroughput]) -> Vec<Block> {
    let Some(first) = lines.first() else { return Vec::new() };
    let text = format!(
        "Background work of V3 comes on top: following {} feed ranges at rest (polls, heartbeats, observations of other processes), \
         and {} RU/s for one checkpoint of each feed range in 5 s while all of them have changes.",
        first.feed_ranges,
        figure(first.checkpoints)
    );
    let line = |line: &BackgroundThroughput| {
        format!("processes: {}, {} RU/s at rest", line.processes, figure(line.idle))
    };
    vec![
        Block::Heading("Background work".to_owned()),
        Block::Text(text),
        Block::List(lines.iter().map(line).collect()),
    ]
}
