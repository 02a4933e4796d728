//! The measurements, as a Markdown table or as JSON.

use std::fmt;
use std::num::NonZeroUsize;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::commit_phases::PhaseFigures;
use crate::measure::Figures;
use crate::operations::Operation;

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
    /// Of the program before a change.
    pub before: Option<Figures>,
    /// Of a server of another make; it has writes alone.
    pub peer: Option<Figures>,
    /// The same from the bare schema; it has no writes.
    pub bare: Option<Figures>,
    /// Of a write: Q1 of the bare schema.
    pub bare_q1: Option<Figures>,
    /// The same from a server of the blog's model; it has no writes.
    pub served: Option<Figures>,
}

impl Row {
    /// The CPU time in multiples of the bare schema's.
    fn ratio(&self, figures: &Figures) -> Option<f64> {
        self.bare.as_ref().or(self.bare_q1.as_ref()).map(|bare| figures.cpu_ms / bare.cpu_ms)
    }

    /// The ratio that is aimed at.
    fn ratio_max(&self) -> f64 {
        match self.operation {
            Operation::Q1 | Operation::Q2 => 1.0,
            Operation::Q3 | Operation::Q4 | Operation::Q5 | Operation::Q6 => 0.5,
            Operation::C2 | Operation::C3 | Operation::C4 => 5.0,
        }
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Row", 8)?;
        row.serialize_field("operation", &self.operation)?;
        row.serialize_field("server", &self.server)?;
        row.serialize_field("before", &self.before)?;
        row.serialize_field("peer", &self.peer)?;
        row.serialize_field("bare", &self.bare)?;
        row.serialize_field("served", &self.served)?;
        row.serialize_field("cpuRatio", &self.ratio(&self.server))?;
        row.serialize_field("cpuRatioBefore", &self.before.as_ref().and_then(|before| self.ratio(before)))?;
        row.end()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "| request | requests/s | p50 ms | p99 ms | CPU ms | bare: requests/s | p50 ms | p99 ms | CPU ms | before: CPU ms | ratio before | served model: CPU ms | to the blog | CPU ratio | target |"
        )?;
        writeln!(formatter, "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")?;
        for row in &self.rows {
            write!(formatter, "| {:?} {} |", row.operation, row.operation.title())?;
            write_figures(formatter, &row.server)?;
            match &row.bare {
                Some(bare) => write_figures(formatter, bare)?,
                None => write!(formatter, " | | | |")?,
            }
            let before = row.before.as_ref();
            write_number(formatter, before.map(|before| before.cpu_ms), 3)?;
            write_number(formatter, before.and_then(|before| row.ratio(before)), 2)?;
            let served = row.served.as_ref().map(|served| served.cpu_ms);
            write_number(formatter, served, 3)?;
            write_number(formatter, served.map(|served| served / row.server.cpu_ms), 2)?;
            let (ratio, max) = (row.ratio(&row.server), row.ratio_max());
            write_number(formatter, ratio, 2)?;
            let mark = if ratio.is_some_and(|ratio| ratio > max) { " (above)" } else { "" };
            writeln!(formatter, " {max}{mark} |")?;
        }
        write_disk_figures(formatter, &self.rows)?;
        writeln!(formatter)?;
        writeln!(
            formatter,
            "{} connections. CPU ms: CPU time of the server a request, for writes with their projections. CPU ratio: to the \
             bare schema, for writes to its Q1. Peak memory of the server: {} MiB.",
            self.connections,
            self.peak_rss_kib / 1024
        )
    }
}

/// The tables of group commit, if anything was written.
fn write_disk_figures(formatter: &mut fmt::Formatter<'_>, rows: &[Row]) -> fmt::Result {
    let programs = |row: &'_ Row| {
        [("", Some(row.server.clone())), (" before", row.before.clone()), (" peer", row.peer.clone())]
    };
    let written: Vec<_> =
        (rows.iter().flat_map(|row| programs(row).map(|(name, figures)| (row, name, figures))))
            .filter_map(|(row, name, figures)| {
                let figures = figures?;
                let title = format!("{:?} {}{name}", row.operation, row.operation.title());
                Some((title, figures.disk.clone()?, figures))
            })
            .collect();
    if written.is_empty() {
        return Ok(());
    }
    writeln!(formatter)?;
    writeln!(
        formatter,
        "| request | CPU ms | p50 ms | p99 ms | p99.9 ms | commits (fsyncs)/s | requests a commit | bytes to the disk a request |"
    )?;
    writeln!(formatter, "|---|---:|---:|---:|---:|---:|---:|---:|")?;
    for (title, disk, figures) in &written {
        write!(formatter, "| {title} |")?;
        write_number(formatter, Some(figures.cpu_ms), 3)?;
        for value in [figures.p50_ms, figures.p99_ms, figures.p999_ms] {
            write_number(formatter, Some(value), 1)?;
        }
        write_number(formatter, disk.commits_per_second, 0)?;
        write_number(formatter, disk.requests_per_commit, 1)?;
        write_number(formatter, Some(disk.bytes_per_request), 0)?;
        writeln!(formatter)?;
    }
    writeln!(formatter)?;
    writeln!(
        formatter,
        "| phase of a commit | request | mean ms | p99 at most, ms | longer than 10 ms, % | longest at most, ms |"
    )?;
    writeln!(formatter, "|---|---|---:|---:|---:|---:|")?;
    for (title, disk, _) in &written {
        for PhaseFigures { phase, mean_ms, p99_at_most_ms, slow_percent, longest_at_most_ms } in &disk.phases
        {
            write!(formatter, "| {phase} | {title} |")?;
            write_number(formatter, Some(*mean_ms), 3)?;
            write_number(formatter, Some(*p99_at_most_ms), 2)?;
            write_number(formatter, Some(*slow_percent), 2)?;
            write_number(formatter, *longest_at_most_ms, 1)?;
            writeln!(formatter)?;
        }
    }
    Ok(())
}

/// A cell with a number, or an empty one.
fn write_number(formatter: &mut fmt::Formatter<'_>, number: Option<f64>, decimals: usize) -> fmt::Result {
    match number {
        Some(number) => write!(formatter, " {number:.decimals$} |"),
        None => write!(formatter, " |"),
    }
}

fn write_figures(formatter: &mut fmt::Formatter<'_>, figures: &Figures) -> fmt::Result {
    write!(
        formatter,
        " {:.0} | {:.2} | {:.2} | {:.3} |",
        figures.requests_per_second, figures.p50_ms, figures.p99_ms, figures.cpu_ms
    )
}
