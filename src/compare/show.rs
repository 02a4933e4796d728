//! A report as text: a table for a terminal, the same in Markdown, and a summary.

pub(super) mod partitions;
mod summary;

use std::fmt::Write as _;

pub use summary::summary;

use super::blocks::{self, Block};
use super::report::{Account, EstimateErrors, Report, Row};
use super::traffic::Traffic;
use onehop_store::{FoldedOperation, Indexing};

/// One column of the figures.
pub(super) struct Column {
    pub heading: &'static str,
    /// Figures stand to the right.
    is_text: bool,
    pub cell: fn(&Row) -> String,
}

const COLUMNS: [Column; 9] = [
    Column { heading: "request", is_text: true, cell: |row| format!("{:?}", row.request) },
    Column { heading: "model", is_text: true, cell: |row| row.plan().to_owned() },
    Column { heading: "RU", is_text: false, cell: |row| format!("{:.2}", row.request_charge) },
    Column { heading: "p99", is_text: false, cell: |row| format!("{:.2}", row.request_charge_p99) },
    Column { heading: "projections", is_text: false, cell: |row| charge(Some(row.projection_charge)) },
    Column { heading: "article", is_text: false, cell: |row| charge(row.article_request_charge) },
    Column { heading: "deviation", is_text: false, cell: |row| percent(row.deviation) },
    Column { heading: "ms p50 / p99", is_text: false, cell: latency },
    Column { heading: "operations", is_text: true, cell: operations },
];
/// Beside the charges, where there are estimates of them.
const ESTIMATES: [Column; 2] = [
    Column { heading: "estimate", is_text: false, cell: |row| charge(row.estimated_request_charge) },
    Column { heading: "error", is_text: false, cell: |row| percent(row.estimate_error) },
];
/// Columns before the estimates.
const CHARGES_END: usize = 4;

/// The columns of a report's figures, in order.
pub(super) fn columns(report: &Report) -> Vec<&'static Column> {
    let estimates = if report.estimate_errors.is_some() { &ESTIMATES[..] } else { &[] };
    COLUMNS[..CHARGES_END].iter().chain(estimates).chain(&COLUMNS[CHARGES_END..]).collect()
}

/// For a terminal.
#[must_use]
pub fn table(report: &Report) -> String {
    let columns = columns(report);
    let headings: Vec<String> = columns.iter().map(|column| column.heading.to_owned()).collect();
    let cells = |row| columns.iter().map(|column| (column.cell)(row)).collect();
    let lines: Vec<Vec<String>> = std::iter::once(headings).chain(report.rows.iter().map(cells)).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let mut row = String::new();
        for ((cell, column), width) in line.iter().zip(&columns).zip(&widths) {
            let _ = if column.is_text {
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
    let columns = columns(report);
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(columns.iter().map(|column| column.heading.to_owned()).collect()) + "|";
    for column in &columns {
        text.push_str(if column.is_text { "---|" } else { "---:|" });
    }
    text.push('\n');
    for row in &report.rows {
        text += &line(columns.iter().map(|column| (column.cell)(row)).collect());
    }
    text + "\n" + &foot(report, blocks::markdown)
}

/// Empty where there is no charge.
fn charge(charge: Option<f64>) -> String {
    charge.filter(|charge| *charge > 0.0).map(|charge| format!("{charge:.2}")).unwrap_or_default()
}

fn percent(share: Option<f64>) -> String {
    share.map(|share| format!("{:+.1} %", share * 100.0)).unwrap_or_default()
}

fn latency(row: &Row) -> String {
    format!("{:.2} / {:.2}", row.latency_ms.median, row.latency_ms.p99)
}

fn operations(row: &Row) -> String {
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

/// How charges of this report came about, for people.
#[must_use]
pub fn source(report: &Report) -> String {
    let Some(Account { endpoint, databases }) = &report.account else {
        return "Request charges are estimates.".to_owned();
    };
    let mut text = format!(
        "Request charges are those that {endpoint} answered with (databases {}).",
        databases.join(", ")
    );
    if let Some(EstimateErrors { largest, mean }) = report.estimate_errors {
        let _ = write!(
            text,
            " The embedded store's estimates of the same requests are off by {:.1} % at most, {:.1} % in the mean.",
            largest * 100.0,
            mean * 100.0
        );
    }
    text
}

/// What was measured, in a sentence or two.
#[must_use]
pub fn measured(report: &Report) -> String {
    let Report { users, rng_seed, samples, physical_partitions, .. } = report;
    let indexed = match report.indexing {
        Indexing::All => "every property",
        Indexing::Needed => "what queries need",
    };
    format!(
        "{users} users, seed {rng_seed}, {physical_partitions} physical partitions, {indexed} indexed; medians of {samples} samples on \
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::compare::article::ArticleRequest;
    use crate::compare::html;
    use crate::compare::partitions::{PartitionReport, Survey};
    use crate::compare::plan::ReadPlan;
    use crate::compare::report::Sample;
    use onehop_store::{ChargeSource, ContainerName, Ledger, OperationKind, OperationRecord, RequestCharge};

    fn row(charge: f64) -> Row {
        let ledger = Arc::new(Ledger::new());
        ledger.record(OperationRecord {
            container: ContainerName("feed"),
            kind: OperationKind::Query,
            items: 100,
            physical_partitions: 1,
            charge: RequestCharge(charge),
            source: ChargeSource::Measured,
        });
        let sample = Sample { ledger, duration: Duration::from_millis(2), projection_charge: 0.0 };
        Row::of(ArticleRequest::Q6, ReadPlan::ALL[3], &[sample])
    }

    fn report(estimate: Option<f64>) -> Report {
        let mut rows = vec![row(20.0)];
        if let Some(estimate) = estimate {
            rows[0].put_beside(&[row(estimate)]);
        }
        Report {
            estimate_errors: EstimateErrors::of(&rows),
            rows,
            users: 3,
            rng_seed: 1,
            samples: 1,
            physical_partitions: 5,
            indexing: Indexing::Needed,
            charge_source: ChargeSource::Measured,
            account: Some(Account {
                endpoint: "https://blog.documents.azure.com".to_owned(),
                databases: vec!["onehop-v3".to_owned()],
            }),
            partitions: PartitionReport::of(&Survey::default(), &[], None, &[]),
            traffic: None,
        }
    }

    /// In every format for people, spaces folded.
    fn shown(report: &Report) -> [String; 3] {
        [table(report), markdown(report), html::page(report)]
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn what_was_measured_is_named() {
        for text in shown(&report(None)) {
            for part in [
                "those that https://blog.documents.azure.com answered with (databases onehop-v3).",
                "5 physical partitions, what queries need indexed;",
            ] {
                assert!(text.contains(part), "no {part}: {text}");
            }
            assert!(!text.contains("estimate"), "{text}");
        }
    }

    #[test]
    fn estimates_stand_beside_the_charges_with_their_errors() {
        let [table, markdown, html] = shown(&report(Some(15.0)));
        assert!(table.contains("Q6 V3 20.00 20.00 15.00 -25.0 % 16.97"), "{table}");
        assert!(markdown.contains("| Q6 | V3 | 20.00 | 20.00 | 15.00 | -25.0 % |"), "{markdown}");
        assert!(html.contains("<td>20.00</td><td>15.00</td><td>-25.0 %</td>"), "{html}");
        for text in [table, markdown, html] {
            assert!(text.contains("off by 25.0 % at most, 25.0 % in the mean"), "{text}");
        }
    }

    #[test]
    fn a_summary_has_one_line_for_each_request_with_the_charge_under_each_model() {
        let summary = summary(&report(None));
        let lines: Vec<&str> = summary.lines().filter(|line| line.starts_with("| ")).collect();
        assert_eq!(lines.len(), 1 + 10, "{summary}");
        assert_eq!(
            *lines.last().unwrap(),
            "| Q6 List the most recent posts in short form (feed) |  |  |  | 20.00 (+17.9 %) |  |"
        );
        assert!(summary.contains("3 users, seed 1"), "{summary}");
    }
}
