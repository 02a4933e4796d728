//! The sections of a report as blocks: the table of all figures, the measurements, partition keys, traffic.

use std::fmt::Write as _;

use super::blocks::{Block, Table, TableColumn};
use super::{background, partitions, passes, provisioning, verdict};
use crate::assumptions::assumptions;
use crate::measurement::{EstimateErrors, MeasurementRow};
use crate::report::{AccountSummary, StudyReport};
use crate::traffic::{BreakEven, LeastRange, Traffic};
use onehop_store::FoldedOperation;

/// The whole report.
pub(super) fn all(report: &StudyReport) -> Vec<Block> {
    let mut blocks = vec![Block::Table(figures(report)), Block::Text(about(report))];
    blocks.extend(traffic_blocks(report));
    blocks.extend(partitions::blocks(report));
    blocks.extend(passes::blocks(report));
    blocks.extend(assumption_blocks(report));
    blocks
}

/// The assumptions, and the omissions.
pub(super) fn assumption_blocks(report: &StudyReport) -> Vec<Block> {
    let list = assumptions(report);
    if list.is_empty() {
        return Vec::new();
    }
    vec![Block::Heading("Assumptions and omissions".to_owned()), Block::List(list)]
}

/// A column of the table of all figures.
struct FigureColumn {
    column: TableColumn,
    cell: fn(&MeasurementRow) -> String,
}

/// One line for each row.
pub(super) fn figures(report: &StudyReport) -> Table {
    let columns = columns(report);
    let line = |row: &MeasurementRow| columns.iter().map(|column| (column.cell)(row)).collect();
    let lines = report.measurements.rows.iter().map(line).collect();
    Table { lines, columns: columns.into_iter().map(|column| column.column).collect() }
}

/// The columns in order; columns of estimates and of a reference only where there are any.
fn columns(report: &StudyReport) -> Vec<FigureColumn> {
    let text = |heading: &str, cell| FigureColumn { column: TableColumn::text(heading), cell };
    let figure = |heading: &str, cell| FigureColumn { column: TableColumn::figure(heading), cell };
    let mut columns = vec![
        text("request", |row: &MeasurementRow| row.request.clone()),
        text("model", |row| row.plan.to_string()),
        figure("RU", |row| format!("{:.2}", row.request_charge)),
        figure("p99", |row| format!("{:.2}", row.request_charge_p99)),
    ];
    if report.estimate_errors.is_some() {
        columns.push(figure("estimate", |row| charge(row.estimated_request_charge)));
        columns.push(figure("error", |row| deviation(row.estimate_error)));
    }
    columns.push(figure("projections", |row| charge(Some(row.projection_charge))));
    if !report.captions.reference.is_empty() {
        columns.push(figure(&report.captions.reference, |row| charge(row.reference_request_charge)));
        columns.push(figure("deviation", |row| deviation(row.deviation)));
    }
    columns.push(figure("bytes", |row| format!("{:.0}", row.bytes)));
    columns.push(text("operations", operations));
    columns
}

/// Empty where there is no charge.
pub(super) fn charge(charge: Option<f64>) -> String {
    charge.filter(|charge| *charge > 0.0).map(|charge| format!("{charge:.2}")).unwrap_or_default()
}

/// A relative deviation with its sign: `+10.0 %`.
pub(super) fn deviation(share: Option<f64>) -> String {
    share.map(|share| format!("{:+.1} %", share * 100.0)).unwrap_or_default()
}

fn operations(row: &MeasurementRow) -> String {
    row.operations.iter().map(operation).collect::<Vec<_>>().join(", ")
}

/// `70 COUNT posts`, with the physical partitions if there is more than one.
fn operation(operation: &FoldedOperation) -> String {
    let FoldedOperation { container, kind, times, physical_partitions, .. } = operation;
    let kind = serde_json::to_value(kind).ok().and_then(|kind| kind.as_str().map(str::to_owned));
    let kind = kind.unwrap_or_default();
    match physical_partitions {
        0 | 1 => format!("{times} {kind} {container}"),
        more => format!("{times} {kind} {container} ({more} partitions)"),
    }
}

/// The source of the charges, and the measurements.
pub(super) fn about(report: &StudyReport) -> String {
    format!("{} {}", charge_source(report), measured(report))
}

fn charge_source(report: &StudyReport) -> String {
    let Some(AccountSummary { endpoint, databases }) = &report.account else {
        return "Request charges are estimates.".to_owned();
    };
    let databases = databases.join(", ");
    let mut text = format!(
        "Each operation of the plans ran on {endpoint} (databases {databases}), and has the charge of its answer."
    );
    if let Some(EstimateErrors { largest, mean }) = report.estimate_errors {
        let _ = write!(
            text,
            " The charge model's estimates of the same requests are off by {:.1} % at most, {:.1} % in the mean.",
            largest * 100.0,
            mean * 100.0
        );
    }
    text
}

fn measured(report: &StudyReport) -> String {
    let StudyReport { captions, samples, physical_partitions, .. } = report;
    format!(
        "{}, {physical_partitions} physical partition{}, every property indexed that its design does not exclude; medians of up to {samples} samples {} \
         Projections: \
         reading the change and writing its effects, without idle polling and checkpoints.",
        captions.data_set,
        if *physical_partitions == 1 { "" } else { "s" },
        captions.subjects
    )
}

/// The use of a traffic, whether Azure serves it, and the data model with the smallest bill; empty without a
/// traffic.
pub(super) fn traffic_blocks(report: &StudyReport) -> Vec<Block> {
    let mut blocks: Vec<Block> = report.traffic.iter().flat_map(traffic).collect();
    blocks.extend(report.verdict.iter().flat_map(|found| verdict::blocks(found, &report.provisioning)));
    blocks.extend(report.outlook.iter().flat_map(verdict::outlook));
    blocks.extend(provisioning::blocks(&report.provisioning));
    blocks.extend(background::blocks(&report.background));
    blocks
}

/// The use of a traffic.
fn traffic(traffic: &Traffic) -> Vec<Block> {
    let mut rates = String::from("Your traffic:");
    for rate in &traffic.rates {
        let _ = write!(rates, " {} {:.2}/s", rate.request, rate.per_second);
    }
    let throughputs = traffic.models.iter().map(|plan| {
        let total = plan.reads + plan.writes;
        let mut line =
            format!("{}: {total:.1} RU/s ({:.1} reads, {:.1} writes)", plan.model, plan.reads, plan.writes);
        if plan.feasible == Some(false) {
            line.push_str(", infeasible");
        }
        if let Some(provisioned) = plan.provisioned {
            let _ = write!(line, ", to be provisioned: {provisioned:.0} RU/s");
        }
        if let Some(bill) = plan.monthly_bill {
            let _ = write!(line, ", {bill:.2} a month");
        }
        line
    });
    let throughputs = Block::List(throughputs.collect());
    let mut blocks = vec![Block::Text(rates), throughputs];
    if traffic.models.iter().any(|plan| plan.provisioned.is_some()) {
        blocks.push(Block::Text(provisioning::MORE_THAN_THE_SUM.to_owned()));
    }
    blocks.push(Block::List(
        traffic.break_evens.iter().map(break_even).chain(traffic.least.iter().map(least)).collect(),
    ));
    blocks
}

fn break_even(pair: &BreakEven) -> String {
    let BreakEven { first, last, reads_per_write } = pair;
    match reads_per_write {
        Some(ratio) => format!("{last} takes less than {first} from {ratio:.3} reads for each write on."),
        None => {
            format!("{last} never takes less than {first} in this mix, by whatever ratio of reads to writes.")
        }
    }
}

/// Where a data model takes the least of all.
fn least(range: &LeastRange) -> String {
    let LeastRange { model, from, to } = range;
    match (from, to) {
        (None, _) => format!("{model} takes the least of all at no ratio of reads to writes."),
        (Some(from), Some(to)) => {
            format!("{model} takes the least of all between {from:.3} and {to:.3} reads for each write.")
        }
        (Some(from), None) => {
            format!("{model} takes the least of all from {from:.3} reads for each write on.")
        }
    }
}
