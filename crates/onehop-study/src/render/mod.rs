//! Rendering: a report for a terminal, in Markdown, as a summary, and as one HTML file. All formats show the
//! same blocks; the HTML file has charts beside them.

mod background;
mod blocks;
mod charts;
mod html;
mod partitions;
mod passes;
mod provisioning;
mod sections;
mod summary;
#[cfg(test)]
mod tests;
mod verdict;

pub(crate) use blocks::{Table, TableColumn};
pub use html::page;
pub use summary::summary;

use super::report::StudyReport;

/// For a terminal: aligned columns.
#[must_use]
pub fn table(report: &StudyReport) -> String {
    blocks::terminal(&sections::all(report))
}

/// For a document: Markdown.
#[must_use]
pub fn markdown(report: &StudyReport) -> String {
    blocks::markdown(&sections::all(report))
}
