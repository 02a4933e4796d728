//! The HTML file: its templates are in `templates/`. It needs no other file. Its script only sorts tables.

use askama::Template;

use super::blocks::Block;
use super::charts::{self, Chart, Histogram, PlanPicture};
use super::{partitions, passes, sections};
use crate::report::StudyReport;

/// The content of the template.
#[derive(Template)]
#[template(path = "report.html")]
struct ReportPage<'a> {
    title: &'a str,
    reference: &'a str,
    about: String,
    charges: Vec<Chart>,
    plans: Vec<PlanPicture>,
    figures: [Block; 1],
    traffic: Vec<Block>,
    histograms: Vec<Histogram>,
    partitions: Vec<Block>,
    assumptions: Vec<Block>,
}

/// The whole file.
#[must_use]
pub fn page(report: &StudyReport) -> String {
    let page = ReportPage {
        title: &report.captions.title,
        reference: &report.captions.reference,
        about: sections::about(report),
        charges: charts::request_charges(report),
        plans: charts::plan_pictures(report),
        figures: [Block::Table(sections::figures(report))],
        traffic: [sections::traffic_blocks(report), passes::blocks(report)].concat(),
        histograms: charts::partition_sizes(report),
        partitions: partitions::blocks(report),
        assumptions: sections::assumption_blocks(report),
    };
    // A template fails only where a value's `Display` does, and none of these does.
    page.render().unwrap_or_default()
}
