//! A report in one line for each request, in Markdown.

use crate::blog::reads::DataModel;
use crate::compare::article::ArticleRequest;
use crate::compare::blocks::{self, Block, Grid};
use crate::compare::plan::ReadPlan;
use crate::compare::report::{Report, Row};

/// The charge of each request under each data model, with how far it is from the article's.
#[must_use]
pub fn summary(report: &Report) -> String {
    let grid = Grid {
        headings: vec!["request", "V1", "V1, data loader", "V2", "V3", "projections of V3"],
        text_columns: 1,
        lines: ArticleRequest::ALL.into_iter().map(|request| line(report, request)).collect(),
    };
    let about = format!(
        "RU, and beside it how far from the article's. {} {}",
        super::source(report),
        super::measured(report)
    );
    blocks::markdown(&[Block::Grid(grid), Block::Text(about)])
}

fn line(report: &Report, request: ArticleRequest) -> Vec<String> {
    let row_of = |plan: ReadPlan| {
        report
            .rows
            .iter()
            .find(|row| row.request == request && row.model == plan.model && row.batched == plan.batched)
    };
    let charges = ReadPlan::ALL.map(|plan| row_of(plan).map(charge).unwrap_or_default());
    let v3 = ReadPlan { model: DataModel::V3, batched: false };
    let projections = row_of(v3).map(|row| super::charge(Some(row.projection_charge))).unwrap_or_default();
    let mut line = vec![format!("{request:?} {}", request.title())];
    line.extend(charges);
    line.push(projections);
    line
}

fn charge(row: &Row) -> String {
    let charge = format!("{:.2}", row.request_charge);
    match row.deviation {
        Some(_) => format!("{charge} ({})", super::percent(row.deviation)),
        None => charge,
    }
}
