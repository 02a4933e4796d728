//! Summary of a report: one line for each request, in Markdown.

use super::blocks::{self, Block, Table, TableColumn};
use super::sections;
use crate::measurement::{MeasurementRow, ModelVariant, StudyRequest};
use crate::report::StudyReport;

/// The charge of each request under each plan, with its distance from the reference, and the charges of the
/// projections of the last plan.
#[must_use]
pub fn summary(report: &StudyReport) -> String {
    let measurements = &report.measurements;
    let mut columns = vec![TableColumn::text("request")];
    columns.extend(measurements.plans.iter().map(|plan| TableColumn::figure(&plan.to_string())));
    let last = measurements.plans.last();
    columns.extend(last.map(|plan| TableColumn::figure(&format!("projections of {plan}"))));
    let lines = measurements.requests.iter().map(|request| line(report, request, last)).collect();
    let unit = match report.captions.reference.as_str() {
        "" => "RU.".to_owned(),
        reference => format!("RU, and beside it how far from the {reference}'s."),
    };
    let about = format!("{unit} {}", sections::about(report));
    let mut blocks = vec![Block::Table(Table { columns, lines }), Block::Text(about)];
    blocks.extend(sections::traffic_blocks(report));
    blocks.extend(sections::assumption_blocks(report));
    blocks::markdown(&blocks)
}

fn line(report: &StudyReport, request: &StudyRequest, last: Option<&ModelVariant>) -> Vec<String> {
    let row_of = |plan| report.measurements.row(&request.name, plan);
    let mut line = vec![format!("{} {}", request.name, request.title)];
    line.extend(report.measurements.plans.iter().map(|plan| row_of(plan).map(charge).unwrap_or_default()));
    line.extend(last.map(|plan| {
        row_of(plan).map(|row| sections::charge(Some(row.projection_charge))).unwrap_or_default()
    }));
    line
}

fn charge(row: &MeasurementRow) -> String {
    let charge = format!("{:.2}", row.request_charge);
    match row.deviation {
        Some(_) => format!("{charge} ({})", sections::deviation(row.deviation)),
        None => charge,
    }
}
