//! Background work as blocks: a line for each kind.

use super::blocks::{Block, Table, TableColumn};
use crate::background::{BackgroundKind, BackgroundLine, BackgroundWork};
use crate::figure::figure;

/// Of the last data model with a processor; for the others, their use at rest.
pub(super) fn blocks(works: &[BackgroundWork]) -> Vec<Block> {
    let Some((last, others)) = works.split_last() else { return Vec::new() };
    let text = format!(
        "No request is charged for background work. It is in the throughput to provision, with the most \
         processes. {} follows {} feed \
         ranges. RU/s, by processes that share them:",
        last.model, last.feed_ranges
    );
    let mut blocks =
        vec![Block::Heading("Background work".to_owned()), Block::Text(text), Block::Table(table(last))];
    blocks.extend(others.iter().map(|work| Block::Text(at_rest(work))));
    blocks
}

fn table(work: &BackgroundWork) -> Table {
    let mut columns = vec![TableColumn::text("work"), TableColumn::text("how often")];
    columns.extend(work.processes.map(|processes| match processes {
        1 => TableColumn::figure("1 process"),
        more => TableColumn::figure(&format!("{more} processes")),
    }));
    let line = |line: &BackgroundLine| {
        let (name, often) = description(line.kind);
        let mut cells = vec![name.to_owned(), often.to_owned()];
        cells.extend(line.throughput.map(|throughput| match line.kind {
            BackgroundKind::MetricsScrapes if throughput == 0.0 => "0 (no request)".to_owned(),
            _ => figure(throughput),
        }));
        cells
    };
    Table { columns, lines: work.lines.iter().map(line).collect() }
}

fn description(kind: BackgroundKind) -> (&'static str, &'static str) {
    match kind {
        BackgroundKind::Polls => ("polls", "each feed range every 5 s, by one process"),
        BackgroundKind::Heartbeats => ("heartbeats", "each process every 13 s"),
        BackgroundKind::Observations => ("reads of heartbeats", "each process reads the others' every 17 s"),
        BackgroundKind::AtRest => ("at rest, together", "the three above"),
        BackgroundKind::Checkpoints => {
            ("checkpoints of this traffic", "at most one for each write, and one for each feed range in 5 s")
        }
        BackgroundKind::CheckpointsMax => {
            ("checkpoints, at most", "one for each feed range in 5 s, while all of them have changes")
        }
        BackgroundKind::Listings => (
            "listings of bounded lists",
            "where processes share the change feed: a point read for each write or page of changes at most, and a listing once a minute and after entries that another process added or removed",
        ),
        BackgroundKind::MetricsScrapes => (
            "scrapes of /metrics",
            "at most: each process reads the leases of the others again after 17 s; its own positions are in memory",
        ),
    }
}

fn at_rest(work: &BackgroundWork) -> String {
    let figures = work.throughput(BackgroundKind::AtRest).map(figure);
    let processes = work.processes.map(|processes| processes.to_string());
    format!(
        "{} follows {} feed ranges: {} RU/s at rest with {} processes.",
        work.model,
        work.feed_ranges,
        figures.join(", "),
        processes.join(", ")
    )
}
