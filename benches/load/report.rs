//! What was measured, as a Markdown table or as JSON.

use std::fmt;
use std::num::NonZeroUsize;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::measure::Figures;
use crate::operations::Operation;

/// The CPU time of a read, in those of the bare schema, that is aimed at.
const RATIO_MAX: f64 = 1.5;

/// A whole run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub connections: NonZeroUsize,
    pub rows: Vec<Row>,
    pub peak_rss_kib: u64,
}

/// One operation.
pub struct Row {
    pub operation: Operation,
    pub server: Figures,
    /// The same from the bare schema; it has no writes.
    pub bare: Option<Figures>,
}

impl Row {
    fn ratio(&self) -> Option<f64> {
        self.bare.map(|bare| self.server.cpu_ms / bare.cpu_ms)
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Row", 4)?;
        row.serialize_field("operation", &self.operation)?;
        row.serialize_field("server", &self.server)?;
        row.serialize_field("bare", &self.bare)?;
        row.serialize_field("cpuRatio", &self.ratio())?;
        row.end()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "| request | requests/s | p50 ms | p99 ms | CPU ms | bare: requests/s | p50 ms | p99 ms | CPU ms | CPU ratio |"
        )?;
        writeln!(formatter, "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")?;
        for row in &self.rows {
            write!(formatter, "| {:?} {} |", row.operation, row.operation.title())?;
            write_figures(formatter, &row.server)?;
            match (&row.bare, row.ratio()) {
                (Some(bare), Some(ratio)) => {
                    write_figures(formatter, bare)?;
                    let mark = if ratio <= RATIO_MAX { "" } else { " (above)" };
                    writeln!(formatter, " {ratio:.2}{mark} |")?;
                }
                _ => writeln!(formatter, " | | | | |")?,
            }
        }
        writeln!(formatter)?;
        writeln!(
            formatter,
            "{} connections. CPU ms: CPU time of the server a request, for writes with their projections. Target: \
             a ratio of at most {RATIO_MAX}. Peak memory of the server: {} MiB.",
            self.connections,
            self.peak_rss_kib / 1024
        )
    }
}

fn write_figures(formatter: &mut fmt::Formatter<'_>, figures: &Figures) -> fmt::Result {
    write!(
        formatter,
        " {:.0} | {:.2} | {:.2} | {:.3} |",
        figures.requests_per_second, figures.p50_ms, figures.p99_ms, figures.cpu_ms
    )
}
