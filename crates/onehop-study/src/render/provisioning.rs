//! Provisioning as blocks: the containers of each feasible plan, the recommendation and why it is more than
//! the sum, and the bills.

use super::blocks::{Block, Table, TableColumn};
use crate::figure::figure;
use crate::provisioning::{
    DecidingFactor, PlannedThroughput, ProvisionedContainer, Provisioning, RecommendedScope, ServerlessFit,
};

/// Why the recommendation exceeds the throughput of the traffic.
pub(super) const MORE_THAN_THE_SUM: &str = "The throughput to provision is more than the traffic's throughput, \
     for three reasons: throughput is divided evenly among physical partitions, so each of them gets the need \
     of the most loaded one; no container or database has less than 400 RU/s; and background work and peaks \
     come on top. The section on throughput to provision has each container.";
const RECOMMENDED: &str = "Containers of their own or a database that they share: the cheaper of both. In a \
                           shared database the most loaded logical \
                           partition of all containers has to fit into one of its physical partitions; the \
                           leases keep throughput of their own \
                           there, so that the data cannot throttle them. RU/s, and the storage with indexes:";
const BILLS: &str = "Bills at your prices. Manual and reserved throughput as recommended; autoscale for \
                     containers of their own, as if each hour \
                     had a peak, where all physical partitions scale like the most loaded one, or each by \
                     itself (dynamic scaling, which newer \
                     accounts have), each not below a tenth of its part of the maximum; serverless for the \
                     mean, where each container is within \
                     1 TB and the RU/s that its physical partitions serve:";

/// A plan that is feasible.
struct FeasiblePlan<'a> {
    model: &'a str,
    planned: &'a PlannedThroughput,
}

impl<'a> FeasiblePlan<'a> {
    fn of(found: &'a Provisioning) -> Option<Self> {
        Some(Self { model: &found.model, planned: found.planned.as_ref()? })
    }
}

/// All plans that are feasible.
pub(super) fn blocks(provisioning: &[Provisioning]) -> Vec<Block> {
    let plans: Vec<FeasiblePlan<'_>> = provisioning.iter().filter_map(FeasiblePlan::of).collect();
    let Some(first) = provisioning.first().filter(|_| !plans.is_empty()) else { return Vec::new() };
    let mut blocks = vec![
        Block::Heading("Throughput to provision".to_owned()),
        Block::Text(introduction(first)),
        Block::Table(containers(&plans)),
        Block::Text(RECOMMENDED.to_owned()),
        Block::Table(recommendations(&plans)),
    ];
    blocks.extend(bills(&plans));
    blocks
}

fn introduction(first: &Provisioning) -> String {
    let regions = match first.regions {
        1 => "the account's one region".to_owned(),
        more => format!("each of {more} regions"),
    };
    let data = match first.data_scale {
        1.0 => String::new(),
        scale => format!(", for {} times the measured data", figure(scale)),
    };
    format!(
        "By container, with throughput of its own{data}. Physical partitions: 50 GB and 10,000 RU/s each, \
         with the charge of \
         the queries across them. Hottest physical: the most loaded logical partition, and an even part of \
         the rest and of the background work (with \
         10 processes, below). To provision: that, times the physical partitions, in steps of 100. The peak \
         is {} times the mean, readers follow \
         Zipf's law, and charges are as estimated. Floors: 400 RU/s, 1 RU/s for each GB, a hundredth of the \
         highest throughput ever; for the maximum of autoscale \
         1,000 RU/s, 10 RU/s for each GB, a tenth. RU/s in {regions}:",
        figure(first.peak_to_mean.high),
    )
}

fn containers(plans: &[FeasiblePlan<'_>]) -> Table {
    let figures = [
        "physical partitions",
        "peak",
        "background",
        "hottest logical",
        "hottest physical",
        "to provision",
        "autoscale maximum",
    ];
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
            format!("{:.0}", found.autoscale_max),
            deciding(found.decided_by).to_owned(),
        ]
    };
    let of_each = plans.iter().flat_map(|plan| {
        plan.planned.containers.iter().map(|found| line(plan.model, found)).collect::<Vec<_>>()
    });
    Table { columns, lines: of_each.collect() }
}

fn deciding(factor: DecidingFactor) -> &'static str {
    match factor {
        DecidingFactor::HottestPartition => "hottest partition",
        DecidingFactor::Minimum => "400 RU/s",
        DecidingFactor::Storage => "storage",
        DecidingFactor::HighestEver => "highest ever",
        DecidingFactor::PhysicalPartitions => "number of physical partitions",
    }
}

fn recommendations(plans: &[FeasiblePlan<'_>]) -> Table {
    let mut columns = vec![TableColumn::text("model")];
    let figures = ["mean with background", "containers of their own", "shared database", "to provision"];
    columns.extend(figures.map(TableColumn::figure));
    columns.push(TableColumn::text("as"));
    columns.push(TableColumn::figure("storage, GB"));
    columns.push(TableColumn::text("serverless"));
    let line = |FeasiblePlan { model, planned }: &FeasiblePlan<'_>| {
        let scope = match planned.recommended_scope {
            RecommendedScope::Separate => "containers of their own",
            RecommendedScope::Shared => "shared database",
        };
        vec![
            (*model).to_owned(),
            figure(planned.mean),
            format!("{:.0}", planned.separate),
            planned.shared.map_or_else(|| "infeasible".to_owned(), |shared| format!("{shared:.0}")),
            format!("{:.0}", planned.recommended),
            scope.to_owned(),
            figure(planned.storage_gb),
            serverless(planned.serverless).to_owned(),
        ]
    };
    Table { columns, lines: plans.iter().map(line).collect() }
}

fn serverless(fit: ServerlessFit) -> &'static str {
    match fit {
        ServerlessFit::Fits => "within its limits",
        ServerlessFit::ExceedsContainerLimits => "beyond its limits",
        ServerlessFit::SeveralRegions => "has one region",
    }
}

/// One line for each way of paying; nothing without prices. A plan without a bill under one of them has an
/// empty cell.
fn bills(plans: &[FeasiblePlan<'_>]) -> Vec<Block> {
    // All have the same names but for serverless, which a plan may exceed.
    let longest = plans.iter().map(|plan| &plan.planned.bills).max_by_key(|bills| bills.len());
    let names: Vec<&'static str> = longest.into_iter().flatten().map(|bill| bill.name).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![TableColumn::text("a month")];
    columns.extend(plans.iter().map(|plan| TableColumn::figure(plan.model)));
    let line = |name: &&'static str| {
        let amount = |plan: &FeasiblePlan<'_>| {
            let bill = plan.planned.bills.iter().find(|bill| bill.name == *name);
            bill.map(|bill| format!("{:.2}", bill.amount)).unwrap_or_default()
        };
        let mut line = vec![(*name).to_owned()];
        line.extend(plans.iter().map(amount));
        line
    };
    let lines = names.iter().map(line).collect();
    vec![Block::Text(BILLS.to_owned()), Block::Table(Table { columns, lines })]
}
