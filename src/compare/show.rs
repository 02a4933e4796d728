//! A report as text: a table for a terminal, and the same in Markdown.

pub(super) mod partitions;

use std::fmt::Write as _;

use super::blocks::{self, Block};
use super::report::{Report, Row};
use super::traffic::Traffic;
use crate::store::{ChargeSource, FoldedOperation};

pub(super) const HEADINGS: [&str; 9] =
    ["request", "model", "RU", "p99", "projections", "article", "deviation", "ms p50 / p99", "operations"];
/// Columns with text; the others hold figures and stand to the right.
const TEXT_COLUMNS: [usize; 3] = [0, 1, 8];

/// For a terminal.
#[must_use]
pub fn table(report: &Report) -> String {
    let lines: Vec<[String; 9]> =
        std::iter::once(HEADINGS.map(str::to_owned)).chain(report.rows.iter().map(cells)).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 9] = std::array::from_fn(width);
    let mut text = String::new();
    for line in &lines {
        let mut row = String::new();
        for (column, (cell, width)) in line.iter().zip(widths).enumerate() {
            let _ = if TEXT_COLUMNS.contains(&column) {
                write!(row, "{cell:<width$}  ")
            } else {
                write!(row, "{cell:>width$}  ")
            };
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text + "\n" + &foot(report, blocks::terminal)
}

/// For a document.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let mut text = format!("| {} |\n|", HEADINGS.join(" | "));
    for column in 0..HEADINGS.len() {
        text.push_str(if TEXT_COLUMNS.contains(&column) { "---|" } else { "---:|" });
    }
    text.push('\n');
    for row in &report.rows {
        let _ = writeln!(text, "| {} |", cells(row).join(" | "));
    }
    text + "\n" + &foot(report, blocks::markdown)
}

pub(super) fn cells(row: &Row) -> [String; 9] {
    let optional = |value: Option<String>| value.unwrap_or_default();
    [
        format!("{:?}", row.request),
        row.plan().to_owned(),
        format!("{:.2}", row.request_charge),
        format!("{:.2}", row.request_charge_p99),
        if row.projection_charge > 0.0 { format!("{:.2}", row.projection_charge) } else { String::new() },
        optional(row.article_request_charge.map(|charge| format!("{charge:.2}"))),
        optional(row.deviation.map(|deviation| format!("{:+.1} %", deviation * 100.0))),
        format!("{:.2} / {:.2}", row.latency_ms.median, row.latency_ms.p99),
        row.operations.iter().map(operation).collect::<Vec<_>>().join(", "),
    ]
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

/// How charges of this report came about, for people.
#[must_use]
pub fn source(report: &Report) -> &'static str {
    match report.charge_source {
        ChargeSource::Estimated => "Request charges are estimates.",
        ChargeSource::Measured => "Request charges are those that the service measured.",
    }
}

/// What was measured, in a sentence or two.
#[must_use]
pub fn measured(report: &Report) -> String {
    let Report { users, rng_seed, samples, physical_partitions, .. } = report;
    format!(
        "{users} users, seed {rng_seed}, {physical_partitions} physical partitions; medians of {samples} samples on \
         the users and posts nearest to the article's (27 posts; 20 comments, 50 likes). Pages: Q3 all posts, Q4 20, \
         Q5 50, Q6 100. Projections: reading the change and writing what follows, without idle polling and checkpoints."
    )
}

fn foot(report: &Report, show: fn(&[Block]) -> String) -> String {
    let mut text = format!("{} {}\n", source(report), measured(report));
    text.push('\n');
    text.push_str(&show(&partitions::blocks(&report.partitions)));
    if let Some(traffic) = &report.traffic {
        text.push('\n');
        text.push_str(&traffic_text(traffic));
    }
    text
}

pub(super) fn traffic_text(traffic: &Traffic) -> String {
    let mut text = String::from("Your traffic:");
    for rate in &traffic.rates {
        let _ = write!(text, " {:?} {:.2}/s", rate.request, rate.per_second);
    }
    text.push_str("\n\n");
    for model in &traffic.models {
        let total = model.reads + model.writes;
        let _ = write!(
            text,
            "- {}: {total:.1} RU/s ({:.1} reads, {:.1} writes), to be provisioned: {:.0} RU/s",
            model.model, model.reads, model.writes, model.provisioned
        );
        if let Some(bill) = model.monthly_bill {
            let _ = write!(text, ", {bill:.2} a month");
        }
        text.push('\n');
    }
    let _ = match traffic.break_even_reads_per_write {
        Some(ratio) => writeln!(text, "\nV3 takes less than V1 from {ratio:.3} reads for each write on."),
        None => writeln!(text, "\nThere is no ratio of reads to writes from which V3 takes less than V1."),
    };
    text
}
