//! Provisioning as blocks: the containers of each plan, what is recommended and why it is more than the sum, and the bills.

use super::blocks::{Block, Table, TableColumn};
use crate::figure::figure;
use crate::provisioning::{DecidingFactor, ProvisionedContainer, Provisioning, RecommendedScope};

/// Why the recommendation exceeds the throughput of the traffic.
pub(super) const MORE_THAN_THE_SUM: &str = "What is to be provisioned is more than the traffic's throughput, for three reasons: throughput is divided evenly \
     among physical partitions, so each of them gets what the most loaded one needs; no container or database has less than 400 RU/s; \
     and background work and peaks come on top. The section on throughput to provision has each container.";

/// All plans.
pub(super) fn blocks(provisioning: &[Provisioning]) -> Vec<Block> {
    let Some(first) = provisioning.first() else { return Vec::new() };
    let text = format!(
        "By container, with throughput of its own. Hottest physical: the most loaded logical partition, and an even part of the rest and \
         of the background work (with 10 processes, below). To provision: that, times the physical partitions, in steps of 100. The peak \
         is {} times the mean, and the more loaded of both popularities counts. Floors: 400 RU/s, 1 RU/s for each GB, a hundredth of the \
         highest throughput ever. RU/s in {}:",
        figure(first.peak_to_mean),
        match first.regions {
            1 => "the account's one region".to_owned(),
            more => format!("each of {more} regions"),
        }
    );
    let recommended = "Containers of their own or a database that they share, whichever is less. In a shared database the most loaded logical \
                       partition of all containers has to fit into one of its physical partitions; the leases keep throughput of their own \
                       there, so that the data cannot throttle them. RU/s, and the storage of the data set as it was made here, with indexes:";
    let mut blocks = vec![
        Block::Heading("Throughput to provision".to_owned()),
        Block::Text(text),
        Block::Table(containers(provisioning)),
        Block::Text(recommended.to_owned()),
        Block::Table(recommendations(provisioning)),
    ];
    blocks.extend(bills(provisioning));
    blocks
}

fn containers(provisioning: &[Provisioning]) -> Table {
    let figures =
        ["physical partitions", "peak", "background", "hottest logical", "hottest physical", "to provision"];
    let mut columns = vec![TableColumn::text("model"), TableColumn::text("container")];
    columns.extend(figures.map(TableColumn::figure));
    columns.push(TableColumn::text("decided by"));
    let line = |model: &str, found: &ProvisionedContainer| {
        vec![
            model.to_owned(),
            found.container.to_string(),
            found.physical_partitions.to_string(),
            figure(found.peak),
            figure(found.background),
            figure(found.hottest_logical),
            figure(found.hottest_physical),
            format!("{:.0}", found.provisioned),
            deciding(found.decided_by).to_owned(),
        ]
    };
    let of_each = provisioning.iter().flat_map(|of_model| {
        of_model.containers.iter().map(|found| line(&of_model.model, found)).collect::<Vec<_>>()
    });
    Table { columns, lines: of_each.collect() }
}

fn deciding(factor: DecidingFactor) -> &'static str {
    match factor {
        DecidingFactor::HottestPartition => "hottest partition",
        DecidingFactor::Minimum => "400 RU/s",
        DecidingFactor::Storage => "storage",
        DecidingFactor::HighestEver => "highest ever",
    }
}

fn recommendations(provisioning: &[Provisioning]) -> Table {
    let mut columns = vec![TableColumn::text("model")];
    let figures = ["mean with background", "containers of their own", "shared database", "to provision"];
    columns.extend(figures.map(TableColumn::figure));
    columns.push(TableColumn::text("as"));
    columns.push(TableColumn::figure("storage, GB"));
    let line = |found: &Provisioning| {
        let scope = match found.recommended_scope {
            RecommendedScope::Separate => "containers of their own",
            RecommendedScope::Shared => "shared database",
        };
        vec![
            found.model.clone(),
            figure(found.mean),
            format!("{:.0}", found.separate),
            format!("{:.0}", found.shared),
            format!("{:.0}", found.recommended),
            scope.to_owned(),
            figure(found.storage_gb),
        ]
    };
    Table { columns, lines: provisioning.iter().map(line).collect() }
}

/// One line for each way of paying; nothing without prices. The plans have the same prices.
fn bills(provisioning: &[Provisioning]) -> Vec<Block> {
    let Some(first) = provisioning.first().filter(|first| !first.bills.is_empty()) else { return Vec::new() };
    let mut columns = vec![TableColumn::text("a month")];
    columns.extend(provisioning.iter().map(|found| TableColumn::figure(&found.model)));
    let line = |(number, name): (usize, &str)| {
        let amount = |found: &Provisioning| {
            found.bills.get(number).map(|bill| format!("{:.2}", bill.amount)).unwrap_or_default()
        };
        let mut line = vec![name.to_owned()];
        line.extend(provisioning.iter().map(amount));
        line
    };
    let lines = first.bills.iter().map(|bill| bill.name).enumerate().map(line).collect();
    let text = "Bills at your prices. Manual and reserved throughput as recommended; autoscale for containers of their own, as if each hour \
                had a peak, where all physical partitions scale like the most loaded one, or each by itself (dynamic scaling, which newer \
                accounts have); serverless for the mean, without a look at its limits of throughput:";
    vec![Block::Text(text.to_owned()), Block::Table(Table { columns, lines })]
}
